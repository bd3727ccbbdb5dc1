"""What the shell's tools answer, in upstream's words, and what can be read from it: pure.

`bash_action` answers both streams in one, cut at 800 characters, and no exit code. `command_status`
is ours and answers in JSON, from the shell host's done-markers.
"""

import json
from collections.abc import Mapping
from typing import Any

from hfr_bench.model.terms import Landed
from hfr_bench.shell.client import Executed, Recalled

BASH, STATUS, FINISH, ANSWER = "bash_action", "command_status", "finish_action", "answer_action"
RAN_SINCE = "ran_since"
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
    """Whether the script has run since `before`. Raises ValueError for another predicate.

    Without a read made before, only a script that was never started is known not to have run.
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
