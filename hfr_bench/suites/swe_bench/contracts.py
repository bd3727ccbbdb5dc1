"""What the two tools answer, and what can be read from it: pure.

`bash` answers as mini-swe-agent shows it, `command_status` in JSON. Some parts of what a command
says differ from run to run and are masked, so that trials can be compared: where the repository
lies on this machine, how long a test run took, and, where a command fails, the number of a process
that was killed and the name of sed's temporary file.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from hfr_bench.model.terms import Landed
from hfr_bench.shell.client import Executed, Recalled

BASH, STATUS = "bash", "command_status"
RAN_SINCE = "ran_since"
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


def status(found: Recalled, where: str) -> str:
    """What `command_status` answers."""
    told: dict[str, Any] = {"started": found.runs, "ended": found.runs}
    if found.state == "started":
        told["ended"] = found.runs - 1
    if found.executed is not None:
        told["last"] = answer(found.executed, where)
    return json.dumps(told)


def landed(
    predicate: str, before: str | None, after: str | None, _arguments: Mapping[str, Any]
) -> Landed:
    """Whether the command has run since `before`. Raises ValueError for another predicate.

    Without a read made before, only a command that was never started is known not to have run.
    """
    if predicate != RAN_SINCE:
        raise ValueError(f"no predicate {predicate!r}; there is: {RAN_SINCE}")
    now, then = _counts(after), _counts(before)
    if now is None:
        return Landed.UNKNOWN
    if now[0] == 0:
        return Landed.ABSENT
    if then is None or now[0] < then[0]:
        return Landed.UNKNOWN
    if now[0] == then[0]:
        return Landed.ABSENT
    return Landed.COMMITTED if now[1] == now[0] else Landed.UNKNOWN


def _counts(body: str | None) -> tuple[int, int] | None:
    try:
        told = json.loads(body or "")
        started, ended = told["started"], told["ended"]
    except (ValueError, LookupError, TypeError):
        return None
    return (started, ended) if isinstance(started, int) and isinstance(ended, int) else None
