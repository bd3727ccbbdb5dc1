"""What the analysis says: estimates, tables, the audit; every one carries its origin."""

from typing import Any, Literal

from hfr_bench.model.record import Record
from hfr_bench.model.terms import Origin

POOLED = "rates>0"
"""`pool` of numbers made of all trials at a rate above 0; their `rate` is None."""


class Estimate(Record):
    """A metric of one arm at one rate. `method`: bootstrap, exact, or none (undefined).

    `events` and `n` stand behind proportions and rates; `low`/`high` bound the value.
    `rate` is None where `pool` names the rates that were taken together.
    """

    metric: str
    arm: str
    rate: float | None
    pool: str = ""
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    events: int | None = None
    method: str = "bootstrap"
    note: str = ""


class PairedEstimate(Record):
    """arm minus against, over the same tasks, seeds and faults.

    `better`/`worse`: discordant pairs of binary metrics (arm 1, other 0; and the reverse).
    `rate` and `pool`: as in Estimate.
    """

    metric: str
    arm: str
    against: str
    rate: float | None
    pool: str = ""
    pairs: int
    tasks: int
    difference: float | None
    low: float | None = None
    high: float | None = None
    relative: float | None = None
    better: int | None = None
    worse: int | None = None
    method: str = "bootstrap"
    note: str = ""


class AuditRow(Record):
    """Delivery of one kind (in one arm): of the events reached, how many were really seen."""

    kind: str
    layer: str
    arm: str
    scheduled: int
    reached: int
    delivered: int
    mismatched: tuple[str, ...] = ()


class VoidRow(Record):
    """Trials that measured nothing, per arm; their whole pair groups are rerun or dropped.

    `dropped`: trials of dropped groups. `sr_worst`/`sr_best`: success rate over all rates if each
    of them had failed, or succeeded; None where none was dropped.
    """

    arm: str
    voids: int
    causes: dict[str, int] = {}
    dropped: int = 0
    sr_worst: float | None = None
    sr_best: float | None = None


class ControlRow(Record):
    """A check on the harness itself. `decides`: where it fails, the experiment is not valid."""

    name: str
    passed: bool | None
    detail: str
    decides: bool = False


class HypothesisRow(Record):
    """A registered claim, its difference (arm minus against), and whether the interval bears it.

    `verdict` is supported only if the whole interval lies beyond the margin in the registered
    direction (equal: within the margin), not supported if it does not, and cannot be told
    without an interval or while the experiment is incomplete or invalid; `why` says which.
    """

    id: str
    metric: str
    arm: str
    against: str
    direction: Literal["greater", "less", "equal"]
    margin: float = 0.0
    rate: float | None
    pool: str = ""
    difference: float | None
    low: float | None = None
    high: float | None = None
    method: str = "none"
    verdict: Literal["supported", "not supported", "cannot be told"]
    why: str


class Report(Record):
    """Everything a reader is shown, as data. `ran_in`: sandboxes, with the images, of the tools."""

    name: str
    title: str
    origin: Origin
    prereg_digest: str
    harness_version: str
    ran_in: tuple[str, ...] = ()
    complete: bool
    valid: bool
    trials_planned: int
    trials_analysed: int
    groups_dropped: int
    tasks: int
    seeds: int
    rates: tuple[float, ...]
    arms: tuple[str, ...]
    baseline: str
    below_protocol: bool
    notes: tuple[str, ...] = ()
    capability: tuple[dict[str, Any], ...] = ()
    estimates: tuple[Estimate, ...] = ()
    contrasts: tuple[PairedEstimate, ...] = ()
    hypotheses: tuple[HypothesisRow, ...] = ()
    audit: tuple[AuditRow, ...] = ()
    voids: tuple[VoidRow, ...] = ()
    controls: tuple[ControlRow, ...] = ()
    exposure: tuple[dict[str, Any], ...] = ()
    traces_digest: str = ""
    level: float = 0.95
    resamples: int = 10_000
    protocol_tasks: int = 200
    control_trials: int = 0
    human_cost_microusd: int = 0
