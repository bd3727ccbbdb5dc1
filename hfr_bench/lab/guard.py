"""The guard: carries out, for one logical step at a time, what the strategy decides.

It asks `decide` before every attempt and after every observation, makes ledger moves durable
before acting, waits, reads the world for the strategy, and never decides anything itself.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hfr_bench.lab.recorder import Sums, TruthQueue, decided_body, ledger_body
from hfr_bench.model.attempt import (
    Attempted,
    Call,
    Decision,
    Finishing,
    Intent,
    Observation,
    Prepared,
    Proposed,
    Reconciled,
    StepView,
    StrategyEvent,
)
from hfr_bench.model.ledger import EscalationPacket, LedgerEntry, Reservation
from hfr_bench.model.record import text_digest
from hfr_bench.model.task import TaskSpec, ToolSpec
from hfr_bench.model.terms import Action, Channel, End, Landed, LedgerState
from hfr_bench.model.trace import Escalated, ReconcileAnswered, StepEnded
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.clock import Clock
from hfr_bench.ports.human import Human
from hfr_bench.ports.ledger import Ledger
from hfr_bench.ports.sink import Sink
from hfr_bench.ports.strategy import Strategy

JudgeLanded = Callable[[str, str | None, str | None, Mapping[str, Any]], Landed]


class TrialStopped(BaseException):
    """Ends the trial from within a step. Not an Exception, so that no agent swallows it."""

    def __init__(self, end: End, reason: str) -> None:
        super().__init__(f"{end}: {reason}")
        self.end = end
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Step:
    """A logical step the agent asks for: the intent, where to send it, and what to send."""

    number: int
    intent: Intent
    point: str
    payload: Mapping[str, Any]
    timeout_us: int
    tool: ToolSpec | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step ended for the agent: ACCEPT or REPLAN, and the last observations behind it."""

    action: Action
    observation: Observation | None
    read: Observation | None = None


@dataclass(slots=True)
class _Progress:
    """Where a step stands."""

    step: Step
    occurrence: int
    target: str
    attempts: int = 0
    last: Observation | None = None
    before: str | None = None
    read: Observation | None = None
    failed_at_us: int | None = None
    reads: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Tally:
    """What the runtime knows of itself at the end of a trial."""

    steps: int = 0
    degraded_steps: int = 0
    backoff_us: int = 0
    human_us: int = 0
    recovery_us: int = 0
    recoveries: int = 0
    committed: list[str] = field(default_factory=list)
    packet: EscalationPacket | None = None


@dataclass(slots=True)
class Guard:
    """One trial's guard. `onion`: the guarded port of each channel, outermost recorder first."""

    trial_id: str
    tenant: str
    task: TaskSpec
    strategy: Strategy
    onion: Mapping[Channel, CallPort]
    landed: JudgeLanded
    sink: Sink
    truth: TruthQueue
    shows_truth: bool
    keeps_ledger: bool
    ledger: Ledger
    human: Human
    clock: Clock
    sums: Sums
    deadline_us: int
    tool_timeout_us: int
    tally: Tally = field(default_factory=Tally)
    _state: dict[str, Any] = field(init=False)
    _occurrences: Counter[str] = field(default_factory=Counter)
    _operations: int = 0

    def __post_init__(self) -> None:
        self._state = self.strategy.begin()

    def run(self, step: Step) -> StepResult:
        """One logical step, however many attempts it takes. Raises TrialStopped."""
        self._occurrences[step.point] += 1
        self.tally.steps += 1
        at = _Progress(step, self._occurrences[step.point], step.intent.target)
        event: StrategyEvent = Proposed(self._view(at))
        while True:
            decision = self._decide(at, event)
            following = self._carry_out(at, decision)
            if isinstance(following, StepResult):
                self._end_step(at, following)
                return following
            event = following

    def finish(self) -> None:
        """The agent is done: final acceptance. Raises TrialStopped unless it is accepted."""
        decision = self._decide(None, Finishing(self.clock.now_us(), self.deadline_us))
        if decision.action is Action.ESCALATE:
            self._escalate(None, decision)
        if decision.action is not Action.ACCEPT:
            raise TrialStopped(End.UNACCEPTED, decision.reason)

    # -- asking ---------------------------------------------------------------------------

    def _decide(self, at: _Progress | None, event: StrategyEvent) -> Decision:
        self._state, decision = self.strategy.decide(self._state, event)
        step, attempt = (at.step.number, at.attempts) if at else (0, 0)
        self.sink.write(decided_body(event, decision), step=step, attempt=attempt)
        if at is not None and (decision.moves or decision.debit):
            self._move(at, decision)
        if decision.delay_us:
            self.tally.backoff_us += decision.delay_us
            self.clock.wait(decision.delay_us)
        return decision

    def _view(self, at: _Progress) -> StepView:
        contract = at.step.tool.reconcile if at.step.tool else None
        return StepView(
            step=at.step.number,
            intent=at.step.intent,
            point=at.step.point,
            target=at.target,
            attempts=at.attempts,
            now_us=self.clock.now_us(),
            deadline_us=self.deadline_us,
            needs_before=bool(contract and contract.needs_before),
            can_reconcile=contract is not None,
        )

    # -- doing ----------------------------------------------------------------------------

    def _carry_out(self, at: _Progress, decision: Decision) -> StrategyEvent | StepResult:
        match decision.action:
            case Action.DISPATCH:
                return self._prepare(at) if decision.prepare else self._dispatch(at)
            case Action.RETRY:
                return Proposed(self._view(at))
            case Action.RECONCILE:
                return self._reconcile(at)
            case Action.DEGRADE_MODEL if decision.substitute is not None:
                at.target = decision.substitute
                self.tally.degraded_steps += 1
                return Proposed(self._view(at))
            case Action.ACCEPT | Action.REPLAN:
                return StepResult(decision.action, at.last, at.read)
            case Action.ESCALATE:
                self._escalate(at, decision)
            case Action.FAIL:
                raise TrialStopped(End.FAILED, decision.reason)
        raise NotSupportedError(f"{decision.action} cannot be carried out at {at.step.point}")

    def _dispatch(self, at: _Progress) -> StrategyEvent:
        at.attempts += 1
        seen = self._attempt(at, at.step.point, at.occurrence, at.attempts, "agent")
        at.last, at.read = seen, None
        if not seen.answered and at.failed_at_us is None:
            at.failed_at_us = self.clock.now_us()
        truth = self.truth.truth() if self.shows_truth else None
        return Attempted(self._view(at), seen, truth)

    def _prepare(self, at: _Progress) -> StrategyEvent:
        seen = self._read(at, "prepare")
        at.before = seen.body if seen.answered else None
        return Prepared(self._view(at), seen)

    def _reconcile(self, at: _Progress) -> StrategyEvent:
        """Read the world and let the suite's predicate judge it."""
        tool = _contracted(at)
        assert tool.reconcile is not None
        seen = self._read(at, "reconcile")
        at.read = seen
        landed = Landed.UNKNOWN
        if seen.answered:
            landed = self.landed(tool.reconcile.landed, at.before, seen.body, at.step.payload)
        self.sink.write(
            ReconcileAnswered(tool=tool.name, landed=landed),
            step=at.step.number,
            attempt=at.attempts,
        )
        return Reconciled(self._view(at), seen, landed)

    def _read(self, at: _Progress, purpose: str) -> Observation:
        """One attempt of a read made *for the strategy*, at a point of its own.

        A read that follows a failed one is its next attempt; any other is a new occurrence.
        """
        point = f"{purpose}:{at.step.intent.target}"
        occurrence, attempt = at.reads.get(purpose, (0, 0))
        if not occurrence:
            self._occurrences[point] += 1
            occurrence = self._occurrences[point]
        seen = self._attempt(at, point, occurrence, attempt + 1, purpose)
        at.reads[purpose] = (0, 0) if seen.answered else (occurrence, attempt + 1)
        return seen

    def _attempt(
        self, at: _Progress, point: str, occurrence: int, attempt: int, purpose: str
    ) -> Observation:
        self._operations += 1
        step = at.step
        own = purpose == "agent"
        call = Call(
            step=step.number,
            point=point,
            occurrence=occurrence,
            attempt=attempt,
            channel=step.intent.channel,
            target=at.target,
            timeout_us=step.timeout_us,
            payload=step.payload,
            purpose=purpose,
            operation_id=f"{self.trial_id}.{self._operations}",
            intent=step.intent if own else None,
        )
        if not own:
            read, arguments = _read_call(_contracted(at), step.payload)
            call = replace(call, target=read, payload=arguments, timeout_us=self.tool_timeout_us)
        return self.onion[call.channel].attempt(call)

    # -- ledger, people, ends ---------------------------------------------------------------

    def _move(self, at: _Progress, decision: Decision) -> None:
        """Debit and moves in one transaction, durable before anything is done about them."""
        before = {m.key: self.ledger.get(m.key) for m in decision.moves}
        entries = [
            LedgerEntry(
                key=move.key,
                stepless_key=move.stepless_key,
                tenant=self.tenant,
                task_id=self.task.task_id,
                step=at.step.number,
                tool=move.tool,
                level=at.step.intent.level,
                state=move.to,
                goal_version=self.task.goal_version,
                attempts=at.attempts,
                evidence=move.evidence,
                operation_id=f"{self.trial_id}.{self._operations}",
                updated_us=self.clock.now_us(),
            )
            for move in decision.moves
        ]
        self.ledger.apply(Reservation(step=at.step.number, retries=decision.debit), entries)
        for entry in entries:
            old = before[entry.key]
            self.sink.write(
                ledger_body(entry, old.state if old else None), step=entry.step, attempt=at.attempts
            )

    def _escalate(self, at: _Progress | None, decision: Decision) -> None:
        packet = self._packet(at, decision)
        self.tally.packet = packet
        self.sink.write(Escalated(packet=packet), step=packet.step)
        cost_microusd, delay_us = self.human.take(packet)
        self.sums.charge(cost_microusd)
        self.tally.human_us += delay_us
        self.clock.wait(delay_us)
        raise TrialStopped(End.ESCALATED, decision.reason)

    def _packet(self, at: _Progress | None, decision: Decision) -> EscalationPacket:
        """What is known: from the ledger where there is one, else from the answers seen."""
        committed, unknown = list(self.tally.committed), []
        if self.keeps_ledger:
            entries = self.ledger.entries()
            sure = (LedgerState.COMMITTED, LedgerState.RECONCILED_COMMITTED)
            doubtful = (LedgerState.UNKNOWN, LedgerState.PREPARED)
            committed = [e.stepless_key for e in entries if e.state in sure]
            unknown = [e.stepless_key for e in entries if e.state in doubtful]
        return EscalationPacket(
            trial_id=self.trial_id,
            step=at.step.number if at else 0,
            reason=decision.reason,
            status=at.step.point if at else "finishing",
            committed=tuple(committed),
            unknown=tuple(unknown),
            evidence=decision.fault.evidence if decision.fault else "",
        )

    def _end_step(self, at: _Progress, result: StepResult) -> None:
        intent, last = at.step.intent, at.last
        accepted = result.action is Action.ACCEPT
        if accepted and at.failed_at_us is not None:
            self.tally.recoveries += 1
            self.tally.recovery_us += self.clock.now_us() - at.failed_at_us
        refused = last is not None and last.domain_error
        if accepted and intent.channel is Channel.TOOL and intent.level.writes and not refused:
            self.tally.committed.append(intent.stepless_key)
        self.sink.write(
            StepEnded(
                channel=intent.channel,
                point=at.step.point,
                occurrence=at.occurrence,
                attempts=at.attempts,
                action=result.action,
                result_digest=text_digest(last.body) if last else "",
            ),
            step=at.step.number,
            attempt=at.attempts,
        )


class NotSupportedError(RuntimeError):
    """A strategy chose an action that cannot be carried out here; the trial fails, loudly."""


def _contracted(at: _Progress) -> ToolSpec:
    tool = at.step.tool
    if tool is None or tool.reconcile is None:
        raise NotSupportedError(f"{at.step.intent.target} has no recovery contract to read with")
    return tool


def _read_call(tool: ToolSpec, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The contract's read, with `$name` taken from the write's arguments."""
    contract = tool.reconcile
    assert contract is not None
    return contract.read, {
        name: arguments.get(value[1:]) if isinstance(value, str) and value[:1] == "$" else value
        for name, value in contract.arguments.items()
    }
