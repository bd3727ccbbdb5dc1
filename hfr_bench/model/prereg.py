"""The preregistration (what a researcher writes), and the lock (what freezing makes of it).

Users write seconds and dollars (`_s`, `_usd`); everything recorded later is an integer.
"""

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, field_validator, model_validator

from hfr_bench.model.record import Record
from hfr_bench.model.terms import ClockKind, Origin

# Seeds are written into JSON, where larger integers are not exact everywhere.
Seed = Annotated[int, Field(ge=0, lt=2**53)]
Rate = Annotated[float, Field(ge=0, le=1)]
Item = TypeVar("Item")

EXHAUSTIVE = "exhaustive-1"
ONE_FAULT = (0.0, 1.0)
"""The rates of the exhaustive design: without a fault, and with exactly one a trial."""


def distinct(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """The items, if none is listed twice; else a ValueError that names it."""
    for n, item in enumerate(items):
        if item in items[:n]:
            raise ValueError(f"{item!r} is listed twice")
    return items


class SuiteSelection(Record):
    """Tasks of one suite: a pool that the suite's manifest names, or the ids themselves."""

    suite: str
    pool: str | None = None
    tasks: tuple[str, ...] = ()
    config: dict[str, Any] = {}

    _distinct = field_validator("tasks")(distinct)


class Equipment(Record):
    """What an arm may use; policy is not to be confused with equipment.

    `ledger`: a record of side effects. `query`: the recovery contracts' reads. `ladder`: the
    substitutes registered below. `verifier`: strategy-side checks. `truth`: yardsticks only.
    """

    ledger: bool = False
    query: bool = False
    ladder: bool = False
    verifier: bool = False
    truth: bool = False


class Arm(Record):
    """A registered name for strategy + config + equipment."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_+.-]{0,63}$")  # also names its trace files
    strategy: str
    config: dict[str, Any] = {}
    equipment: Equipment = Equipment()


class ModelPins(Record):
    """Which models are called. `backup` is the equal rung (L2), `cheap` the smaller one (L3)."""

    llm: str = "rehearsal"
    agent: str = "rehearsal-primary"
    backup: str | None = "rehearsal-backup"
    cheap: str | None = None
    config: dict[str, Any] = {}


class FaultPlan(Record):
    """What is injected: a matrix (mix of kinds) under one design.

    `sampled`: drawn at each of `rates`, the chance of a fault at an attempt. `exhaustive-1`: every
    step of the oracle x kind of the matrix x lands or lost, one fault a trial; no weights, rates
    or coupling. Its `rates` are 0 (no fault) and 1 (the trial has its fault), and not chosen.
    `none`: no faults.
    """

    matrix: str = "stress"
    rates: tuple[Rate, ...] = Field(default=(0.0, 0.05, 0.10, 0.20), min_length=1)
    design: Literal["sampled", "exhaustive-1", "none"] = "sampled"
    coupling: Literal["nested", "independent"] = "nested"

    _distinct = field_validator("rates")(distinct)

    @model_validator(mode="before")
    @classmethod
    def _rates_of_the_design(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("design") == EXHAUSTIVE:
            return {"rates": ONE_FAULT} | given
        return given

    @model_validator(mode="after")
    def _no_other_rates(self) -> Self:
        if self.design == EXHAUSTIVE and self.rates != ONE_FAULT:
            raise ValueError(f"rates: {EXHAUSTIVE} has none to choose; leave them out")
        return self


class Limits(Record):
    """Bounds of one trial; None = unbounded. Timeouts are of one attempt, in trial seconds.

    `max_attempts`: of one step, reads for the strategy included; no strategy may loop for ever.
    `max_turns`: model steps. `max_tokens`, `max_cost_usd`, `max_time_s` (trial clock, injected
    waits included): what has been used is held against them before every attempt, so that the last
    attempt may pass tokens and money; waits and timeouts are cut short at `max_time_s`.
    """

    max_steps: int = Field(default=60, ge=1, le=1000)
    max_attempts: int = Field(default=32, ge=1, le=1000)
    max_turns: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_cost_usd: float | None = Field(default=None, gt=0)
    max_time_s: float | None = Field(default=None, gt=0)
    model_timeout_s: float = Field(default=60.0, gt=0)
    tool_timeout_s: float = Field(default=10.0, gt=0)


class HumanPrice(Record):
    """What an escalation is charged (paper table B1: cost 2.00, 10.0 s)."""

    cost_usd: float = Field(default=0.02, ge=0)
    delay_s: float = Field(default=10.0, ge=0)


class ToolPrice(Record):
    """What one tool attempt is charged (paper table B1: cost 0.10, 0.40 s).

    `latency_s` is trial time under a virtual clock; under a wall clock it is measured.
    """

    cost_usd: float = Field(default=0.001, ge=0)
    latency_s: float = Field(default=0.4, ge=0)


class Hypothesis(Record):
    """A confirmatory claim, fixed before the run: arm's metric is `direction` than against's.

    `metric`: a name of stats.metrics.METRICS. `rate`: None takes all rates above 0 together.
    `margin`: how far beyond zero the difference must lie, in the unit of the record (share,
    per 1000, microusd, us); negative = non-inferiority. `equal`: nearer to zero than `margin`.
    """

    id: str
    metric: str
    arm: str
    against: str
    direction: Literal["greater", "less", "equal"]
    margin: float = 0.0
    rate: float | None = None


class Analysis(Record):
    """How the numbers are made. `baseline`: the arm that all others are paired with."""

    baseline: str
    resamples: int = Field(default=10_000, ge=200, le=200_000)
    level: float = Field(default=0.95, gt=0.5, lt=1)


class Controls(Record):
    """Checks on the harness itself, run in every experiment (DESIGN §5).

    `arm`: the arm they are run with; null = the baseline.
    """

    arm: str | None = None
    injector_removed: bool = True
    a_a: bool = True


class Preregistration(Record):
    """An experiment, fixed before its first trial."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")
    title: str
    description: str = ""
    origin: Origin
    suites: tuple[SuiteSelection, ...] = Field(min_length=1)
    agent: str = "tool_calling"
    model: ModelPins = ModelPins()
    sandbox: str = "process"
    sandbox_config: dict[str, Any] = {}
    clock: ClockKind = ClockKind.VIRTUAL
    seeds: tuple[Seed, ...] = Field(default=(1,), min_length=1)
    faults: FaultPlan = FaultPlan()
    arms: tuple[Arm, ...] = Field(min_length=1)
    limits: Limits = Limits()
    human: HumanPrice = HumanPrice()
    tool_price: ToolPrice = ToolPrice()
    controls: Controls = Controls()
    hypotheses: tuple[Hypothesis, ...] = ()
    analysis: Analysis
    stopping_rule: Literal["fixed_n"] = "fixed_n"
    void_rounds: int = Field(default=2, ge=0, le=5)
    protocol_tasks: int = 200
    amends: str | None = None

    _distinct = field_validator("seeds")(distinct)


class SourcePin(Record):
    """What a suite was when it was frozen."""

    suite: str
    distribution: str
    version: str
    content_digest: str
    tasks: tuple[str, ...]
    task_digests: dict[str, str]
    domains: dict[str, str] = {}


class Lock(Record):
    """prereg.lock.json: the digests that the run is held to, and what freezing found."""

    prereg_digest: str
    name: str
    origin: Origin
    frozen_at: str
    harness_version: str
    generator: str
    sources: tuple[SourcePin, ...]
    matrix_digest: str
    kinds_digest: str
    prices_digest: str
    schedules_digest: str
    plan_digest: str
    schedules: int
    trials: int
    timestamp_evidence: str = "self-asserted"
    notes: tuple[str, ...] = ()
