"""What single faults do to each arm, and what a mix of them comes to (`report --mix`)."""

from typing import Literal

from hfr_bench.model.mix import Calls, Source
from hfr_bench.model.record import Record
from hfr_bench.model.terms import Origin


class KindEffect(Record):
    """What one fault of a kind changes in one arm: faulted trials minus their fault-free twins.

    Of trials for which exactly one fault was planned where the twin goes. `lands`: of lost
    outcomes only those that landed, or were lost; None: all. `base`: the twins' own value.
    `faults`: trials with such a fault. `better`/`worse`: pairs of a binary metric in which only the
    faulted trial, only the twin has it.
    """

    kind: str
    layer: str
    lands: bool | None = None
    arm: str
    metric: str
    faults: int
    tasks: int
    base: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    better: int | None = None
    worse: int | None = None
    method: str = "bootstrap"
    note: str = ""


class MixRow(Record):
    """A metric of one arm (or minus `against`) under a mix, from `least` to `most`.

    The two differ only where the mix says that something is not known. `low`/`high`: interval
    around both. `worst`/`best`: of shares, if every fault that no trial covers failed, or
    succeeded; None where all is covered.
    """

    metric: str
    arm: str
    against: str = ""
    least: float | None = None
    most: float | None = None
    low: float | None = None
    high: float | None = None
    worst: float | None = None
    best: float | None = None
    method: str = "none"
    note: str = ""


class LeftOut(Record):
    """A part of a mix that no trial covers; it counts as no fault at all.

    `kind` empty: nothing of ours is like it. `least`/`most`: of 1,000 calls, or a share of the
    faults (`unit`).
    """

    what: str
    kind: str = ""
    of: Calls
    unit: Literal["per 1000 calls", "share"]
    least: float
    most: float


class MixAnswer(Record):
    """What an experiment's single faults come to under a mix.

    `unit`: a `trial`, or a trial with exactly one `fault` where the mix does not say how often
    something fails. `calls`: of a trial; `faults_least`/`faults_most`: faults of a trial, those
    that nobody measured included.
    """

    name: str
    title: str = ""
    source: Source | None = None
    origin: Origin
    unit: Literal["trial", "fault"]
    calls: dict[Calls, float] = {}
    faults_least: float
    faults_most: float
    rows: tuple[MixRow, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    not_known: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
