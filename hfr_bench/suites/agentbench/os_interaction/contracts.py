"""What `bash_action` answers, in upstream's words: pure.

Both streams in one, cut at 800 characters, and no exit code. `command_status`: see `shell.ran`.
"""

from hfr_bench.shell.client import Executed

BASH, FINISH, ANSWER = "bash_action", "finish_action", "answer_action"
MOST_SHOWN = 800
_KEPT = 780
CUT = "\n[truncated because the output is too long]"
SAID, EMPTY = "The output of the OS:\n\n", "The output of the OS is empty."
HOME = "/sandbox"


def masked(text: str, where: str) -> str:
    """Without the place of the scratch folder on this machine."""
    return text.replace(where, HOME)


def answer(done: Executed, where: str) -> str:
    """What `bash_action` answers."""
    said = masked(done.stdout, where)
    if done.timed_out:
        said += "\nThe command was ended at its timeout."
    if len(said) > MOST_SHOWN:
        said = said[:_KEPT] + CUT
    return f"{SAID}{said}" if said else EMPTY
