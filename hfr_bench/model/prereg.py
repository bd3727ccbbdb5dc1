"""The preregistration (what a researcher writes), and the lock (what freezing makes of it).

Users write seconds and dollars (`_s`, `_usd`); everything recorded later is an integer.
"""

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, field_validator, model_validator

from hfr_bench.model.looks import OBrienFleming
from hfr_bench.model.record import Record, is_unset
from hfr_bench.model.registered import (
    Amendment,
    ClaimPower,
    Method,
    Powering,
    Sample,
    SampleDrawn,
)
from hfr_bench.model.shared import Part
from hfr_bench.model.terms import ClockKind, Origin
from hfr_bench.model.worth import PriceRatios

# Seeds are written into JSON, where larger integers are not exact everywhere.
Seed = Annotated[int, Field(ge=0, lt=2**53)]
Rate = Annotated[float, Field(ge=0, le=1)]
Item = TypeVar("Item")

EXHAUSTIVE, FORK = "exhaustive-1", "fork"
ONE_FAULT = (0.0, 1.0)
"""The rates of designs that plant a fault: without one, and with one in every trial."""

SEED, SEED_DIGEST = "seed", "seed_digest"
"""Settings of suites that make tasks of a seed: its text; the sha256 (hex) that commits to it."""

TAKES_BACKUP = 0.5
"""Chance that a provider's outage takes its other models along, unless another is registered."""


def distinct(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """The items, if none is listed twice; else a ValueError that names it."""
    for n, item in enumerate(items):
        if item in items[:n]:
            raise ValueError(f"{item!r} is listed twice")
    return items


class SuiteSelection(Record):
    """Tasks of one suite: a pool that the suite's manifest names, or the ids themselves.

    `sample`: so many of them are drawn. `success`: what decides whether a trial's goal was met, the
    suite's official verdict or the state of the world; null registers nothing.
    """

    suite: str
    pool: str | None = None
    tasks: tuple[str, ...] = ()
    config: dict[str, Any] = {}
    sample: Sample | None = Field(default=None, exclude_if=is_unset)
    success: Literal["official", "state"] | None = Field(default=None, exclude_if=is_unset)

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
    """A registered name for strategy + config + equipment.

    `masks`: layers of the arm's own between injector and outer recorder that may hide faults (an
    SDK's retries, a black box). What they hide counts as masked, and only in such an arm.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_+.-]{0,63}$")  # also names its trace files
    strategy: str
    config: dict[str, Any] = {}
    equipment: Equipment = Equipment()
    masks: tuple[str, ...] = Field(default=(), exclude_if=lambda masks: not masks)


class ModelPins(Record):
    """Which models are called. `backup` is the equal rung (L2), `cheap` the smaller one (L3)."""

    llm: str = "rehearsal"
    agent: str = "rehearsal-primary"
    backup: str | None = "rehearsal-backup"
    cheap: str | None = None
    config: dict[str, Any] = {}


class Burst(Record):
    """A window of the frozen task order in which the same things fail again and again (§6.6.2).

    `start`, `end`: shares of the order; task n of N (from 0) is inside if start <= n / N < end.
    There, at points that match `points` (shell patterns), a fault comes with chance `rate` at each
    attempt, whatever the experiment's rate is unless that is 0, and from `kinds` with weights
    (none given: those that the matrix has there).
    """

    start: float = Field(ge=0, lt=1)
    end: float = Field(gt=0, le=1)
    points: tuple[str, ...] = Field(min_length=1)
    kinds: dict[str, Annotated[float, Field(gt=0)]] = {}
    rate: float = Field(gt=0, le=1)

    @model_validator(mode="after")
    def _ends_after_its_start(self) -> Self:
        if self.end <= self.start:
            raise ValueError(f"end: {self.end:g} is not after start, {self.start:g}")
        return self

    def covers(self, index: int, tasks: int) -> bool:
        """Whether a task is inside, by its place in the order of all."""
        return self.start <= index / tasks < self.end


class ForkPlan(Record):
    """What the design `fork` plans for a task and seed.

    `points`: so many first faults, drawn from all that fit the steps of the task's solution; null
    takes them all. `continuations`: how often what comes after a first fault is drawn. `rate`: the
    chance of a fault at an attempt there.
    """

    points: int | None = Field(default=2, ge=1)
    continuations: int = Field(default=3, ge=1, le=1000)
    rate: float = Field(default=0.10, ge=0, le=1)


class FaultPlan(Record):
    """What is injected: a matrix (mix of kinds) under one design.

    `sampled`: drawn at each of `rates`, the chance of a fault at an attempt, with `bursts`.
    `exhaustive-1`: every step of the oracle x kind of the matrix x lands or lost, one fault a
    trial; no weights or coupling. `fork`: all arms meet one first fault in the same state, and what
    comes after it is drawn several times (`fork`). The `rates` of these two are 0 (no fault) and 1
    (the trial has its first fault), and not chosen. `none`: no faults.
    `takes_backup`: chance that an outage of the model's provider takes its other models along.
    """

    matrix: str = "stress"
    rates: tuple[Rate, ...] = Field(default=(0.0, 0.05, 0.10, 0.20), min_length=1)
    design: Literal["sampled", "exhaustive-1", "fork", "none"] = "sampled"
    coupling: Literal["nested", "independent"] = "nested"
    takes_backup: Rate = Field(default=TAKES_BACKUP, exclude_if=lambda p: p == TAKES_BACKUP)
    bursts: tuple[Burst, ...] = Field(default=(), exclude_if=lambda bursts: not bursts)
    fork: ForkPlan | None = Field(default=None, exclude_if=lambda fork: fork is None)

    _distinct = field_validator("rates")(distinct)

    @model_validator(mode="before")
    @classmethod
    def _rates_of_the_design(cls, given: Any) -> Any:
        design = given.get("design") if isinstance(given, dict) else None
        if design == FORK:
            return {"rates": ONE_FAULT, "fork": {}} | given
        return {"rates": ONE_FAULT} | given if design == EXHAUSTIVE else given

    @model_validator(mode="after")
    def _only_what_the_design_has(self) -> Self:
        if self.design in (EXHAUSTIVE, FORK) and self.rates != ONE_FAULT:
            raise ValueError(f"rates: {self.design} has none to choose; leave them out")
        if self.bursts and self.design != "sampled":
            raise ValueError(f"bursts: only `design: sampled` has them, not {self.design}")
        if (self.fork is not None) is not (self.design == FORK):
            raise ValueError("fork: belongs to `design: fork`, and to no other")
        return self


class Cohorts(Record):
    """Trials of one arm that share state on one clock, one after the other (DESIGN §2).

    `size`: tasks in a cohort, taken in the registered order; a suite's last one may have fewer.
    `tenants`: dealt to the places of a cohort in turn. `every_s`: the trial at place k begins
    k - 1 times so late on the cohort's clock, or when the one before has ended, if that is later.
    `shares`: what is handed from trial to trial, by strategies that have it.
    """

    size: int = Field(default=1, ge=1, le=1000)
    tenants: tuple[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,63}$")], ...] = Field(
        default=("default",), min_length=1
    )
    order: Literal["registered"] = "registered"
    shares: tuple[Part, ...] = Field(default=("breaker", "tenant_budget"), min_length=1)
    every_s: float = Field(default=0.0, ge=0, allow_inf_nan=False)

    _distinct = field_validator("tenants", "shares")(distinct)


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
    `family`: Holm's correction is made inside it; a family is tested only if every claim of those
    with lower numbers was supported.
    """

    id: str
    metric: str
    arm: str
    against: str
    direction: Literal["greater", "less", "equal"]
    margin: float = 0.0
    rate: float | None = None
    family: int = Field(default=1, ge=1, le=100, exclude_if=lambda n: n == 1)


class Analysis(Record):
    """How the numbers are made. `baseline`: the arm that all others are paired with.

    `prices`: what a person and harm cost, in successes; null: `PriceRatios` as they come.
    """

    baseline: str
    resamples: int = Field(default=10_000, ge=200, le=200_000)
    level: float = Field(default=0.95, gt=0.5, lt=1)
    prices: PriceRatios | None = Field(default=None, exclude_if=is_unset)


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
    stopping_rule: Literal["fixed_n"] | OBrienFleming = "fixed_n"
    void_rounds: int = Field(default=2, ge=0, le=5)
    protocol_tasks: int = 200
    amends: str | None = None
    cohorts: Cohorts | None = Field(default=None, exclude_if=is_unset)
    amendment: Amendment | None = Field(default=None, exclude_if=is_unset)
    power: Powering | None = Field(default=None, exclude_if=is_unset)
    method: Method | None = Field(default=None, exclude_if=is_unset)

    _distinct = field_validator("seeds")(distinct)

    @model_validator(mode="after")
    def _no_live_forks_in_cohorts(self) -> Self:
        """Their trials are played what one calm trial of their task and seed was answered."""
        if self.faults.design != FORK or self.origin is not Origin.LIVE:
            return self
        if self.cohorts is not None:
            raise ValueError(
                f"cohorts: not with a live {FORK}: each trial is played what one trial without "
                "faults was answered, and in a cohort it begins where others have left off. Leave "
                "cohorts out, or rehearse it (origin: rehearsal)"
            )
        return self


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
    """prereg.lock.json: the digests that the run is held to, and what freezing found.

    `samples`: of the suites whose tasks were drawn. `claims`: what can be shown of each hypothesis.
    `after_data`: hypotheses of an amendment that were changed after trials had been seen; they are
    exploratory. `git`: the commit and tag it was frozen under, if that was asked for.
    """

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
    samples: tuple[SampleDrawn, ...] = Field(default=(), exclude_if=is_unset)
    claims: tuple[ClaimPower, ...] = Field(default=(), exclude_if=is_unset)
    after_data: tuple[str, ...] = Field(default=(), exclude_if=is_unset)
    git: str = Field(default="", exclude_if=is_unset)
