"""What the report tells beside its estimates: the front, what was believed, where arms differ."""

from typing import Literal

from hfr_bench.model.record import Record
from hfr_bench.model.terms import End

Sort = Literal["won", "lost", "harm", "end"]
"""How a pair disagrees: only the first arm succeeded, only the second; else the harm; else the end.

The first that fits.
"""


class FrontRow(Record):
    """Whether an arm is on the Pareto front of success, spending and harm, and how surely.

    `against`: what is spent, a metric (cost_mean or p95). `on_front`: no other arm does as well in
    all three and better in one, yardsticks left out. `share`: of those of the shared resamples in
    which all arms can be told (`resamples`), the share in which that holds; None where too few
    tasks are drawn. `rate` and `pool` as in Estimate.
    """

    against: str
    arm: str
    rate: float | None
    pool: str = ""
    on_front: bool
    share: float | None
    resamples: int


class BeliefRow(Record):
    """What an arm took a fault for: `n` of its attempts that met this kind.

    `believed`: the FaultClass named in the first decision that names one, before the agent's next
    attempt; "" if none does. `kind` "": attempts at which nothing was injected, of which a class
    was believed all the same.
    """

    kind: str
    layer: str
    arm: str
    believed: str
    n: int


class Ended(Record):
    """How one trial of a pair ended, and what it did to the world."""

    trial_id: str
    end: End
    reason: str = ""
    succeeded: bool
    duplicates: int = 0
    unwanted: int = 0
    partial: int = 0

    @property
    def harm(self) -> int:
        return self.duplicates + self.unwanted + self.partial


class Disagreement(Record):
    """A pair group in which two arms end differently. `round`: the one that counts."""

    sort: Sort
    suite: str
    task_id: str
    seed: int
    rate: float
    pair_group: str
    round: int
    ours: Ended
    theirs: Ended


class DisagreementRow(Record):
    """All rates above 0: of `pairs` pair groups, in how many two arms end differently, by sort.

    `shown`: a few of each sort, in the order of keyed numbers: nobody picked them.
    """

    arm: str
    against: str
    pairs: int
    won: int
    lost: int
    harm: int
    end: int
    shown: tuple[Disagreement, ...] = ()
