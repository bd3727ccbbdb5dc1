"""Looking before the end, as registered: the rule, and each look that was taken."""

from typing import Literal

from pydantic import Field

from hfr_bench.model.record import Record


class OBrienFleming(Record):
    """A stopping rule: `looks` even looks, the last of which is the end (O'Brien and Fleming 1979).

    A look is taken when all trials of its share of each suite's tasks are in, in the registered
    order; the experiment ends at it if every claim of the first family is supported there.
    """

    kind: Literal["obrien_fleming"]
    looks: int = Field(default=3, ge=2, le=5)


class Look(Record):
    """A line of looks.jsonl: an interim look, `look` of `of`.

    `at`: UTC. `tasks`, `trials` (controls included): what was looked at; `share` of all tasks.
    `bound`: |z| that a claim had to reach. `traces_digest`: of the report's trials. `crossed`: ids
    of the claims that were supported. `stop`: whether the experiment ends here.
    """

    look: int
    of: int
    at: str
    share: float
    tasks: int
    trials: int
    bound: float
    traces_digest: str
    crossed: tuple[str, ...] = ()
    stop: bool


class LookRow(Record):
    """The look that a report is made at. `bound`: |z| of it; `stopped`: before the last look."""

    look: int
    of: int
    share: float
    tasks: int
    trials: int
    bound: float
    stopped: bool
