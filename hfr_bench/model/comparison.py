"""Two arms side by side: what `compare` says, pair by pair."""

from hfr_bench.model.record import Record
from hfr_bench.model.report import PairedEstimate
from hfr_bench.model.terms import Origin


class Side(Record):
    """One trial of a pair, in short: how it ended and what it did to the world."""

    trial_id: str
    end: str
    succeeded: bool
    duplicates: int = 0
    unwanted: int = 0
    partial: int = 0

    @property
    def harm(self) -> int:
        return self.duplicates + self.unwanted + self.partial


class Discordant(Record):
    """A pair of trials that differ in success or in harm."""

    suite: str
    task_id: str
    seed: int
    rate: float
    ours: Side
    theirs: Side


class Met(Record):
    """The faults that both arms' trials met, summed over trials."""

    arm: str
    trials: int
    reached: int
    delivered: int


class Comparison(Record):
    """Two arms over the same tasks, seeds and faults: `arm` minus `against`.

    `rate` None: all rates above 0 together (`pool`). `won`, `lost`: pairs in which only `arm`, only
    `against` succeeded; `harm`: pairs whose harm differs, whoever succeeded.
    """

    name: str
    title: str
    origin: Origin
    valid: bool
    complete: bool
    level: float
    arm: str
    against: str
    rate: float | None
    pool: str = ""
    pairs: int
    tasks: int
    both: int
    neither: int
    differences: tuple[PairedEstimate, ...]
    won: tuple[Discordant, ...]
    lost: tuple[Discordant, ...]
    harm: tuple[Discordant, ...]
    exposure: tuple[Met, ...] = ()
    notes: tuple[str, ...] = ()
