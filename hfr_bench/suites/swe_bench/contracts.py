"""What `bash` answers, and what can be read from it: pure. `command_status`: see `shell.ran`.

It answers as mini-swe-agent shows it. Some parts of what a command says differ from run to run and
are masked, so that trials can be compared: where the repository lies on this machine, how long a
test run took, and, where a command fails, the number of a process that was killed and the name of
sed's temporary file.
"""

import re

from hfr_bench.shell.client import Executed

BASH = "bash"
SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""The first line of what a command says that hands the work in (mini-swe-agent's convention)."""
TESTBED = "/testbed"

_TOOK = re.compile(r"\bin \d+\.\d+s\b")
_KILLED = re.compile(r"^(/bin/\w+: line \d+: +)\d+ (?=[A-Z])", re.MULTILINE)
_SED = re.compile(r"^(sed: .*?\bsed)\w{6}(?=:)", re.MULTILINE)
_CALL = re.compile(r"hfr-call=[^;]*;")
_FRAME = re.compile(r"<returncode>(-?\d+)</returncode>\n<output>\n(.*)</output>", re.DOTALL)


def masked(text: str, where: str) -> str:
    """Without what differs from run to run. `where`: the folder of the repository here."""
    text = _SED.sub(r"\g<1>XXXXXX", _TOOK.sub("in 0.00s", text.replace(where, TESTBED)))
    return _CALL.sub("hfr-call;", _KILLED.sub(r"\g<1>0 ", text))


def answer(done: Executed, where: str) -> str:
    """What `bash` answers. A command that was ended at its timeout has no code of its own."""
    said = masked(done.stdout, where)
    if said and not said.endswith("\n"):
        said += "\n"
    if done.timed_out:
        said += "The command was ended at its timeout.\n"
    code = -1 if done.exit_code is None else done.exit_code
    return f"<returncode>{code}</returncode>\n<output>\n{said}</output>"


def read_answer(body: str) -> tuple[int, str] | None:
    """(exit code, what it said) of an answer of `bash`; None if it is not whole."""
    found = _FRAME.fullmatch(body)
    return (int(found[1]), found[2]) if found else None
