"""What the analysis says: estimates, tables, the audit; every one carries its origin."""

from typing import Any

from hfr_bench.model.record import Record
from hfr_bench.model.terms import Origin


class Estimate(Record):
    """A metric of one arm at one rate. `method`: bootstrap, exact, or none (undefined).

    `events` and `n` stand behind proportions and rates; `low`/`high` bound the value.
    """

    metric: str
    arm: str
    rate: float
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
    """

    metric: str
    arm: str
    against: str
    rate: float
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
    """A check on the harness itself."""

    name: str
    passed: bool | None
    detail: str


class Report(Record):
    """Everything a reader is shown, as data."""

    name: str
    title: str
    origin: Origin
    prereg_digest: str
    harness_version: str
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
