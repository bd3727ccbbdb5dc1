"""What the analysis says: estimates, tables, the audit; every one carries its origin."""

from typing import Any, Literal

from pydantic import Field

from hfr_bench.model.anytime import AnytimeRow
from hfr_bench.model.findings import BeliefRow, DisagreementRow, FrontRow
from hfr_bench.model.looks import LookRow
from hfr_bench.model.mixed import KindEffect, MixAnswer
from hfr_bench.model.record import Record, is_unset
from hfr_bench.model.review import Review
from hfr_bench.model.terms import Origin
from hfr_bench.model.worth import CoverageRow, UtilityRow


def _is_none(value: object) -> bool:
    return value is None


POOLED = "rates>0"
"""`pool` of numbers made of all trials at a rate above 0; their `rate` is None."""
EXPLICIT, SILENT, MIXED = "rates>0, explicit", "rates>0, silent", "rates>0, mixed"
"""The same, of trials whose schedules hold only explicit kinds, only silent ones, or both."""


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
    `relative`: difference over the other's value; `relative_low`, `relative_high` bound it for
    amounts (money, time, calls). `rate` and `pool`: as in Estimate.
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
    relative_low: float | None = Field(default=None, exclude_if=_is_none)
    relative_high: float | None = Field(default=None, exclude_if=_is_none)


class AuditRow(Record):
    """Delivery of one kind (in one arm): of the events reached, how many were really seen.

    `masked`: reached, and hidden from the outer recorder by a layer that the arm declares.
    """

    kind: str
    layer: str
    arm: str
    scheduled: int
    reached: int
    delivered: int
    masked: int = 0
    mismatched: tuple[str, ...] = ()

    @property
    def not_reached(self) -> int:
        return self.scheduled - self.reached

    @property
    def right(self) -> bool:
        """Whether every event that was reached was delivered, or masked as declared."""
        return self.delivered + self.masked == self.reached


class OrganicRow(Record):
    """Errors of the model service that nobody injected (their hits name no injection), by arm.

    `absorbed`: tried again above the injector, unseen and untimed. `exhausted`: attempts that got
    no answer in the end; each makes its trial void.
    """

    arm: str
    absorbed: int
    exhausted: int


class ObservationRow(Record):
    """An observation point of a kind (paper table 16) in one arm: passed `held` of `n` times.

    `n`: delivered events of which it could be told. `point`: a predicate of `faults.observe`.
    """

    kind: str
    layer: str
    point: str
    arm: str
    held: int
    n: int


class VoidRow(Record):
    """Trials that measured nothing, per arm; their whole pair groups are rerun or dropped.

    `dropped`: trials of dropped groups. `sr_worst`/`sr_best`: success rate over all rates if each
    of them had failed, or succeeded; `harm_worst`/`harm_best`: harmful effects per 1000 trials if
    each had done as much harm as the worst trial of any arm, or none. None where none was dropped.
    """

    arm: str
    voids: int
    causes: dict[str, int] = {}
    graded: int = 0
    dropped: int = 0
    sr_worst: float | None = None
    sr_best: float | None = None
    harm_worst: float | None = None
    harm_best: float | None = None


class ControlRow(Record):
    """A check on the harness itself. `decides`: where it fails, the experiment is not valid."""

    name: str
    passed: bool | None
    detail: str
    decides: bool = False


class DivergenceRow(Record):
    """Where trials of an arm leave those of `against` in the same pair group, at one rate.

    Compared are the agent's logical steps by what they ask for: point and request. `groups`: pairs
    compared; `faulted`: those in which either trial had an attempt without an answer; `diverged`:
    those whose steps differ anywhere (one that ended earlier differs from there on). `step`:
    median number of the first step that differs; `after`: median of how many steps it comes after
    the first failed attempt of the pair. Medians are lower ones; None where nothing diverged.
    """

    arm: str
    against: str
    rate: float
    groups: int
    faulted: int
    diverged: int
    step: int | None = None
    after: int | None = None


class StateRow(Record):
    """The official verdict of an arm's trials at a rate, beside the world that they left.

    `same`: trials whose state at the end is that of the arm's own trial at rate 0, of the same task
    and seed (the fault-free twin). `resolved_other`: officially right with another state, which the
    checker did not see; `same_failed`: officially wrong with the twin's state.
    """

    suite: str
    arm: str
    rate: float
    trials: int
    official: int
    same: int
    resolved_other: int
    same_failed: int


class ForkRow(Record):
    """What an arm made of one first fault, over all continuations (design `fork`).

    `fork`: the first fault (`fork/<point>#<occurrence>/<kind>`). `came`: trials that met it;
    `same_state`: all arms came to it in one state, or none came. `parted`: trials that left a live
    fork's recorded prefix before it; `came` and the sums are of the others.
    """

    suite: str
    task_id: str
    seed: int
    fork: str
    arm: str
    trials: int
    came: int
    same_state: bool
    succeeded: int
    escalated: int
    duplicates: int
    harm: int
    cost_microusd: int | None = None
    parted: int = Field(default=0, exclude_if=is_unset)


class PrefixRow(Record):
    """What an arm's trials of a live fork were played of their calm trials' recordings.

    `parted`: trials that asked for what is not recorded, and went on live from there. Of `asked`
    model requests `played` were answered from the recording; `cost_microusd` was charged for them
    as recorded, and not paid again.
    """

    arm: str
    trials: int
    parted: int
    asked: int
    played: int
    cost_microusd: int | None


class HypothesisRow(Record):
    """A registered claim, its difference (arm minus against), and whether the interval bears it.

    `verdict` is supported only if the whole interval lies beyond the margin in the registered
    direction (equal: within the margin) and `p_adjusted` is at most 1 - level, not supported if
    not, and cannot be told without interval and test, or while the experiment is incomplete or
    invalid; `why` says which. `p`: of the claim alone, by `test` (stats.confirm.Tested);
    `p_adjusted`: by Holm in its `family`, behind the families before it. `better`, `worse`: units
    (tasks, cohorts) whose difference is above, below 0. `joint_low`, `joint_high`: bounds that hold
    for all claims together.
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
    family: int = Field(default=1, exclude_if=lambda n: n == 1)
    p: float | None = Field(default=None, exclude_if=_is_none)
    p_adjusted: float | None = Field(default=None, exclude_if=_is_none)
    test: str = Field(default="", exclude_if=is_unset)
    better: int | None = Field(default=None, exclude_if=_is_none)
    worse: int | None = Field(default=None, exclude_if=_is_none)
    joint_low: float | None = Field(default=None, exclude_if=_is_none)
    joint_high: float | None = Field(default=None, exclude_if=_is_none)


class LeftOutRow(Record):
    """A claim's difference without a part: a suite, a seed, or a point where faults were planned.

    `id`: of the claim. Points of one tool are one part, `tool:NAME`. `holds`: whether the interval
    of what is left bears the claim by itself, uncorrected; None without an interval.
    """

    id: str
    kind: Literal["suite", "seed", "point"]
    part: str
    pairs: int
    tasks: int
    difference: float | None
    low: float | None = None
    high: float | None = None
    method: str = "none"
    note: str = ""
    holds: bool | None = None


class DeviationRow(Record):
    """Something that is not as registered: `what`, how often, `of` how many where that is known.

    Found in plan and traces (`lab.deviations`), never taken from what anybody says.
    """

    what: str
    count: int
    of: int = 0
    detail: str = ""


class CohortRow(Record):
    """What the state that one cohort shares did, from its traces.

    `cohort`: the number of its block of tasks. `openings` of breakers; `began_open`: trials that
    began while a breaker was open that an earlier one had opened; `kept_back`: calls that an open
    breaker kept back; `refused`: retries that the tenant had none left for. `lasted_us`: its clock
    at the end.
    """

    arm: str
    suite: str
    cohort: int
    seed: int
    profile: str
    rate: float
    trials: int
    openings: int = 0
    began_open: int = 0
    kept_back: int = 0
    refused: int = 0
    lasted_us: int = 0


class Report(Record):
    """Everything a reader is shown, as data.

    `ran_in`: sandboxes, with the images, of the tools. `silent_kinds`: the planned kinds that give
    a wrong answer instead of an error; their numbers stand apart (`EXPLICIT`, `SILENT`, `MIXED`).
    `design`: how faults were planned; in exhaustive-1 and fork, rate 1 is a planted fault.
    `units`: how many cohorts are drawn in place of tasks; 0 = tasks are. `cohorts`: each of them.
    `states`: of suites in which verdict and state come apart in some trial. `review`: what people
    said of a blinded sample, where they did. `left_out`: the registered claims without each suite,
    seed and point; `anytime`: their bounds that hold whenever a run stops. `further`,
    `further_contrasts`: metrics of `stats.further`, at rate 0 and over all rates above it.
    `utility`, `coverage`: at registered prices, and risk against coverage.
    `look`: the registered look that this is; `level` is then that look's own. `deviations`: what is
    not as registered. `fronts`, `beliefs`, `disagreements`: see `model.findings`. `prefixes`: of
    live forks. `read_at`: level of the percentiles that bound what all units make, or 0.
    """

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
    observations: tuple[ObservationRow, ...] = ()
    organic: tuple[OrganicRow, ...] = ()
    effects: tuple[KindEffect, ...] = ()
    mixes: tuple[MixAnswer, ...] = ()
    voids: tuple[VoidRow, ...] = ()
    controls: tuple[ControlRow, ...] = ()
    exposure: tuple[dict[str, Any], ...] = ()
    divergence: tuple[DivergenceRow, ...] = ()
    forks: tuple[ForkRow, ...] = ()
    silent_kinds: tuple[str, ...] = ()
    design: str = "sampled"
    traces_digest: str = ""
    level: float = 0.95
    resamples: int = 10_000
    protocol_tasks: int = 200
    control_trials: int = 0
    human_cost_microusd: int = 0
    units: int = Field(default=0, exclude_if=is_unset)
    cohorts: tuple[CohortRow, ...] = Field(default=(), exclude_if=is_unset)
    states: tuple[StateRow, ...] = Field(default=(), exclude_if=is_unset)
    review: Review | None = Field(default=None, exclude_if=is_unset)
    left_out: tuple[LeftOutRow, ...] = Field(default=(), exclude_if=is_unset)
    anytime: tuple[AnytimeRow, ...] = Field(default=(), exclude_if=is_unset)
    further: tuple[Estimate, ...] = Field(default=(), exclude_if=is_unset)
    further_contrasts: tuple[PairedEstimate, ...] = Field(default=(), exclude_if=is_unset)
    utility: tuple[UtilityRow, ...] = Field(default=(), exclude_if=is_unset)
    coverage: tuple[CoverageRow, ...] = Field(default=(), exclude_if=is_unset)
    look: LookRow | None = Field(default=None, exclude_if=is_unset)
    deviations: tuple[DeviationRow, ...] = Field(default=(), exclude_if=is_unset)
    fronts: tuple[FrontRow, ...] = Field(default=(), exclude_if=is_unset)
    beliefs: tuple[BeliefRow, ...] = Field(default=(), exclude_if=is_unset)
    disagreements: tuple[DisagreementRow, ...] = Field(default=(), exclude_if=is_unset)
    prefixes: tuple[PrefixRow, ...] = Field(default=(), exclude_if=is_unset)
    read_at: float = Field(default=0.0, exclude_if=is_unset)

    @property
    def unit(self) -> str:
        """What is drawn, in a word."""
        return "cohort" if self.units else "task"
