"""Whether a command has run: what `command_status` answers, and what may be read from it. Pure.

The tool is ours, in every suite whose tools are commands: it tells, in JSON, how often a command
was started and has ended in this sandbox, and what the last run came to.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from hfr_bench.model.terms import Landed
from hfr_bench.shell.client import Executed, Recalled

STATUS = "command_status"
RAN_SINCE = "ran_since"


def status(found: Recalled, answer: Callable[[Executed], str]) -> str:
    """What `command_status` answers. `answer`: what the suite's own tool says of a run."""
    told: dict[str, Any] = {"started": found.runs, "ended": found.runs}
    if found.state == "started":
        told["ended"] = found.runs - 1
    if found.executed is not None:
        told["last"] = answer(found.executed)
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
