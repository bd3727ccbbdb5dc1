"""A trial as planned, and its result: an outcome or a void, never both."""

from operator import attrgetter
from typing import Any, Self

from pydantic import Field, model_validator

from hfr_bench.model.record import Record, is_unset
from hfr_bench.model.terms import End, Origin, VoidCause


class Trial(Record):
    """task x seed x fault profile x arm. Trials that differ only in arm form a pair group.

    `injected`: False for the control in which the injectors are taken out of the onion.
    `position`: the place in its cohort, from 1; 0 where no cohorts are registered.
    """

    trial_id: str
    prereg_digest: str
    suite: str
    task_id: str
    seed: int
    profile: str
    rate: float
    arm: str
    pair_group: str
    cohort_id: str
    schedule_id: str
    schedule_digest: str
    tenant: str = "default"
    injected: bool = True
    position: int = Field(default=0, exclude_if=is_unset)

    def identity(self) -> dict[str, Any]:
        """The fields by which trace and result name the trial."""
        return {name: getattr(self, name) for name in _IDENTITY}


_IDENTITY = (
    "suite",
    "task_id",
    "seed",
    "profile",
    "rate",
    "arm",
    "pair_group",
    "cohort_id",
    "tenant",
)

named = attrgetter(*_IDENTITY)
"""The same fields of a trial, or of a result, in this order."""


class PlanRow(Record):
    """One line of plan.jsonl: a trial and its place in the frozen order."""

    order: int
    trial: Trial
    control: str | None = None


class Grade(Record):
    """The checker's answer, read from the world. `official`: the suite's own verdict."""

    official: float
    goal_met: bool
    components: dict[str, float] = {}
    state_digest: str = ""


class Outcome(Record):
    """What a graded trial came to (DESIGN §7). Counts are effects, not attempts.

    `ambiguous_writes`: the agent's write steps of which an attempt got no answer at all.
    `lost_effects`: effects that landed while their answer was lost; what a resend can double.
    """

    official: float
    goal_met: bool
    accepted: bool
    in_time: bool
    end: End
    reason: str = ""
    effects: int = 0
    duplicates: int = 0
    duplicate_dispatches: int = 0
    unwanted: int = 0
    partial: int = 0
    packet_true: bool | None = None
    degraded_steps: int = 0
    ambiguous_writes: int = 0
    lost_effects: int = 0

    @property
    def succeeded(self) -> bool:
        return self.goal_met and self.accepted and self.in_time

    @property
    def escalated(self) -> bool:
        return self.end is End.ESCALATED

    @property
    def harm(self) -> int:
        return self.duplicates + self.unwanted + self.partial


class TrialResult(Record):
    """What the last trace line carries: identity, outcome or void, and the sums.

    `attempts` are of the agent's steps, `reads` were made for the strategy (charged all the same).
    `latency_us` is trial time and contains `injected_wait_us` (waiting that faults caused) and
    `human_us`. `cost_microusd` contains verification, reconcile and people; None = unknown price.
    """

    trial_id: str
    suite: str
    task_id: str
    seed: int
    profile: str
    rate: float
    arm: str
    pair_group: str
    cohort_id: str = ""
    tenant: str = "default"
    origin: Origin
    round: int = 1
    outcome: Outcome | None = None
    void: VoidCause | None = None
    void_reason: str = ""
    steps: int = 0
    attempts: int = 0
    reads: int = 0
    cost_microusd: int | None = 0
    latency_us: int = 0
    injected_wait_us: int = 0
    human_us: int = 0
    backoff_us: int = 0
    recovery_us: int = 0
    recoveries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    state_digest: str = ""

    @model_validator(mode="after")
    def _one_of_outcome_and_void(self) -> Self:
        if (self.outcome is None) == (self.void is None):
            raise ValueError("a trial has an outcome or a void, exactly one of them")
        return self
