"""A task list made of trials that did not go well (trace -> dataset -> evaluation)."""

from typing import Literal, get_args

from pydantic import Field

from hfr_bench.model.record import Record
from hfr_bench.model.terms import Origin

Trouble = Literal["failed", "escalated", "harmed", "false_accept", "degraded"]
TROUBLES: tuple[str, ...] = get_args(Trouble)
"""Ways in which a trial may not have gone well.

`failed`: it did not succeed, and nobody was called. `escalated`: a person was called. `harmed`:
an effect was duplicate, unwanted or partial. `false_accept`: accepted, and the goal was not met.
`degraded`: it succeeded by a rung below the first.
"""


class DatasetTask(Record):
    """A task, pinned as it was frozen. `trials`: how many of it were looked at."""

    suite: str
    task_id: str
    source_digest: str
    trials: int
    troubles: dict[Trouble, int]


class Dataset(Record):
    """dataset.json: which tasks, out of what, by which rule.

    `origin`: of the trials that they were chosen by. `arms`, `seen`: whose trials, and how many.
    `least`: trials with such trouble that a task needs to be in.
    """

    name: str
    parent: str
    prereg_digest: str
    origin: Origin
    arms: tuple[str, ...]
    troubles: tuple[Trouble, ...]
    least: int = Field(ge=1)
    seen: int
    of_tasks: int
    tasks: tuple[DatasetTask, ...]
