"""A logical step on its way through the guard: what was asked, where it stands, how it ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hfr_bench.model.attempt import Intent, Observation, Verdict
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.task import ReconcileContract, ToolSpec
from hfr_bench.model.terms import Action, End


class TrialStopped(BaseException):
    """Ends the trial from within a step. Not an Exception, so that no agent swallows it."""

    def __init__(self, end: End, reason: str) -> None:
        super().__init__(f"{end}: {reason}")
        self.end = end
        self.reason = reason


class RuntimeCrashed(BaseException):
    """The runtime under test is gone: an injected fault, not our own end. No agent swallows it."""

    def __init__(self, point: str) -> None:
        super().__init__(f"the runtime under test crashed at {point}")


@dataclass(frozen=True, slots=True)
class Step:
    """A logical step the agent asks for: the intent, where to send it, and what to send."""

    number: int
    intent: Intent
    point: str
    payload: Mapping[str, Any]
    timeout_us: int
    tool: ToolSpec | None = None

    @property
    def contract(self) -> ReconcileContract | None:
        return self.tool.reconcile if self.tool else None


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step ended for the agent: ACCEPT, REPLAN or DEGRADE_SCOPE, and what is behind it.

    `observation`: the last answer, or the registered one in its place (DEGRADE_SCOPE).
    `reasons`: of the verdict that rejected it, for REPLAN.
    """

    action: Action
    observation: Observation | None
    read: Observation | None = None
    reasons: tuple[str, ...] = ()


@dataclass(slots=True)
class Progress:
    """Where a step stands. `step`: as it is sent by now; a rung may have changed it.

    `made`: physical attempts, reads for the strategy included. `earlier`: attempts that went to
    another tool's point before this one took its place. `tokens`: the request's size, when known.
    """

    step: Step
    occurrence: int
    target: str
    attempts: int = 0
    made: int = 0
    decisions: int = 0
    last: Observation | None = None
    before: str | None = None
    read: Observation | None = None
    failed_at_us: int | None = None
    key: str = ""
    verdict: Verdict | None = None
    degraded: bool = False
    earlier: int = 0
    tokens: int = 0
    equivalents: tuple[str, ...] = ()
    reads: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Tally:
    """What the runtime knows of itself at the end of a trial.

    `landed`: step-less keys of the agent's writes that are in, for arms that see the truth.
    """

    steps: int = 0
    degraded_steps: int = 0
    backoff_us: int = 0
    human_us: int = 0
    recovery_us: int = 0
    recoveries: int = 0
    committed: list[str] = field(default_factory=list)
    packet: EscalationPacket | None = None
    landed: tuple[str, ...] = ()

    def recovered(self, failed_at_us: int | None, now_us: int) -> None:
        """Time from the start of the first failed attempt to recovery or escalation (§6.6.4)."""
        if failed_at_us is not None:
            self.recoveries += 1
            self.recovery_us += now_us - failed_at_us
