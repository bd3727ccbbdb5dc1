"""What may be said of a registered claim at any time, however often anybody looked."""

from hfr_bench.model.record import Record


class AnytimeRow(Record):
    """A claim's difference over the first tasks in the registered order that are whole.

    `tasks`, `of`: how many of the planned ones. `difference`: the mean over them of each task's
    mean paired difference. `low`, `high`: hold at every number of tasks together, and for all
    claims together. `holds`: whether they bear the claim now; `since`: from which number of tasks
    on they first did, None for never.
    """

    id: str
    tasks: int
    of: int
    difference: float | None
    low: float | None = None
    high: float | None = None
    holds: bool = False
    since: int | None = None
