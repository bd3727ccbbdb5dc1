"""The guard: carries out, for one logical step at a time, what the strategy decides.

It asks `decide` before every attempt and after every observation, makes ledger moves durable
before acting, waits, reads the world for the strategy, and never decides anything itself.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from hfr_bench.lab.limits import TrialLimits
from hfr_bench.lab.recorder import Sums, TruthQueue, decided_body, ledger_body
from hfr_bench.lab.step import Progress, Step, StepResult, Tally, TrialStopped
from hfr_bench.model.attempt import (
    Attempted,
    Call,
    Decision,
    Finishing,
    Observation,
    Prepared,
    Proposed,
    Reconciled,
    StepView,
    StrategyEvent,
)
from hfr_bench.model.ledger import EscalationPacket, LedgerEntry, Reservation
from hfr_bench.model.prereg import Limits
from hfr_bench.model.record import text_digest
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import Action, Channel, End, Landed, LedgerState
from hfr_bench.model.trace import Escalated, ReconcileAnswered, StepEnded
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.clock import Clock
from hfr_bench.ports.human import Human
from hfr_bench.ports.ledger import Ledger
from hfr_bench.ports.sink import Sink
from hfr_bench.ports.strategy import Strategy
from hfr_bench.recovery.ledger import LedgerConflictError

JudgeLanded = Callable[[str, str | None, str | None, Mapping[str, Any]], Landed]


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
    limits: Limits = Limits()
    tally: Tally = field(default_factory=Tally)
    _state: dict[str, Any] = field(init=False)
    _occurrences: Counter[str] = field(default_factory=Counter)
    _operations: int = 0
    _over: BaseException | None = None
    _bounds: TrialLimits = field(init=False)

    def __post_init__(self) -> None:
        self._state = self.strategy.begin()
        self._bounds = TrialLimits(self.limits, self.sums, self.clock)

    def run(self, step: Step) -> StepResult:
        """One logical step, however many attempts it takes. Raises TrialStopped.

        What ended one step ends every later one: an agent that swallows it meets it again.
        """
        if self._over is not None:
            raise self._over
        try:
            return self._run(step)
        except BaseException as error:
            self._over = error
            raise

    def stop(self, end: End, reason: str) -> NoReturn:
        """End the trial, whatever the agent does about it."""
        self._over = TrialStopped(end, reason)
        raise self._over

    def _run(self, step: Step) -> StepResult:
        self._occurrences[step.point] += 1
        self.tally.steps += 1
        at = Progress(step, self._occurrences[step.point], step.intent.target)
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
        if self._over is not None:
            raise self._over
        decision = self._decide(None, Finishing(self.clock.now_us(), self.deadline_us))
        if decision.action is Action.ESCALATE:
            self._escalate(None, decision)
        if decision.action is not Action.ACCEPT:
            raise TrialStopped(End.UNACCEPTED, decision.reason)

    # -- asking ---------------------------------------------------------------------------

    def _decide(self, at: Progress | None, event: StrategyEvent) -> Decision:
        if at is not None:
            at.decisions += 1
            # Every attempt costs two decisions at the most; whatever asks for more is looping.
            if at.decisions > 3 * self.limits.max_attempts:
                self._too_many()
        decision = self._asked(event)
        step, attempt = (at.step.number, at.attempts) if at else (0, 0)
        self.sink.write(decided_body(event, decision), step=step, attempt=attempt)
        if at is not None:
            at.key = decision.key or at.key
            if decision.moves or decision.debit:
                self._move(at, decision)
        if wait_us := self._bounds.within(decision.delay_us):
            self.tally.backoff_us += wait_us
            self.clock.wait(wait_us)
        return decision

    def _too_many(self) -> NoReturn:
        most = f"more than max_attempts = {self.limits.max_attempts} attempts of a step"
        raise TrialStopped(End.LIMIT, most)

    def _asked(self, event: StrategyEvent) -> Decision:
        """The strategy's answer. Its own defects end the trial as its failure, never as a void."""
        try:
            self._state, decision = self.strategy.decide(self._state, event)
            if not isinstance(decision, Decision):
                raise TypeError(f"{type(decision).__name__} is not a decision")
            if decision.delay_us < 0 or decision.debit < 0:
                raise ValueError(f"delay_us {decision.delay_us}, debit {decision.debit}")
        except Exception as error:
            broke = f"the strategy raised {type(error).__name__}: {error}"
            raise TrialStopped(End.FAILED, broke) from error
        return decision

    def _view(self, at: Progress) -> StepView:
        contract = at.step.contract
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

    def _carry_out(self, at: Progress, decision: Decision) -> StrategyEvent | StepResult:
        channel, contracted = at.step.intent.channel, at.step.contract is not None
        match decision.action:
            case Action.DISPATCH if contracted or not decision.prepare:
                return self._prepare(at) if decision.prepare else self._dispatch(at)
            case Action.RETRY:
                return Proposed(self._view(at))
            case Action.RECONCILE if contracted:
                return self._reconcile(at)
            case Action.DEGRADE_MODEL if decision.substitute and channel is Channel.MODEL:
                self.tally.degraded_steps += at.target == at.step.intent.target
                at.target = decision.substitute
                return Proposed(self._view(at))
            case Action.ACCEPT:
                return StepResult(Action.ACCEPT, at.last, at.read)
            case Action.REPLAN if channel is Channel.TOOL:
                return StepResult(Action.REPLAN, at.last, at.read)
            case Action.ESCALATE:
                self._escalate(at, decision)
            case Action.FAIL:
                raise TrialStopped(End.FAILED, decision.reason)
        undoable = f"the strategy chose {decision.action}, which cannot be done at {at.step.point}"
        raise TrialStopped(End.FAILED, undoable)

    def _dispatch(self, at: Progress) -> StrategyEvent:
        at.attempts += 1
        seen = self._attempt(at, at.step.point, at.occurrence, at.attempts, "agent")
        at.last, at.read = seen, None
        if not seen.answered and at.failed_at_us is None:
            at.failed_at_us = self.clock.now_us() - seen.latency_us
        truth = self.truth.truth() if self.shows_truth else None
        return Attempted(self._view(at), seen, truth)

    def _prepare(self, at: Progress) -> StrategyEvent:
        seen = self._read(at, "prepare")
        at.before = seen.body if seen.answered else None
        return Prepared(self._view(at), seen)

    def _reconcile(self, at: Progress) -> StrategyEvent:
        """Read the world and let the suite's predicate judge it."""
        contract = at.step.contract
        assert contract is not None
        seen = self._read(at, "reconcile")
        at.read = seen
        landed = Landed.UNKNOWN
        if seen.answered:
            landed = self.landed(contract.landed, at.before, seen.body, at.step.payload)
        body = ReconcileAnswered(tool=at.step.intent.target, landed=landed)
        self.sink.write(body, step=at.step.number, attempt=at.attempts)
        return Reconciled(self._view(at), seen, landed)

    def _read(self, at: Progress, purpose: str) -> Observation:
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
        self, at: Progress, point: str, occurrence: int, attempt: int, purpose: str
    ) -> Observation:
        if at.made >= self.limits.max_attempts:
            self._too_many()
        self._bounds.check()
        self._operations += 1
        at.made += 1
        step = at.step
        own = purpose == "agent"
        call = Call(
            step=step.number,
            point=point,
            occurrence=occurrence,
            attempt=attempt,
            channel=step.intent.channel,
            target=at.target,
            timeout_us=self._bounds.within(step.timeout_us),
            payload=self._keyed(at),
            purpose=purpose,
            operation_id=f"{self.trial_id}.{self._operations}",
            intent=step.intent if own else None,
        )
        if not own:
            contract = at.step.contract
            assert contract is not None
            timeout_us = self._bounds.within(round(self.limits.tool_timeout_s * 1_000_000))
            payload = contract.fill(step.payload)
            call = replace(call, target=contract.read, payload=payload, timeout_us=timeout_us)
        return self.onion[call.channel].attempt(call)

    def _keyed(self, at: Progress) -> Mapping[str, Any]:
        """The arguments, with the ledger's key where the tool takes one."""
        tool = at.step.tool
        if tool is None or tool.idempotency_key_param is None or not at.key:
            return at.step.payload
        return {**at.step.payload, tool.idempotency_key_param: at.key}

    # -- ledger, people, ends ---------------------------------------------------------------

    def _move(self, at: Progress, decision: Decision) -> None:
        """Debit and moves in one transaction, durable before anything is done about them."""
        at.key = next((m.key for m in decision.moves if m.to is LedgerState.PREPARED), at.key)
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
                operation_id=self._operation(move.to),
                updated_us=self.clock.now_us(),
            )
            for move in decision.moves
        ]
        try:
            self.ledger.apply(Reservation(step=at.step.number, retries=decision.debit), entries)
        except LedgerConflictError as error:
            illegal = f"the strategy moved the ledger illegally: {error}"
            raise TrialStopped(End.FAILED, illegal) from error
        for entry in entries:
            old = before[entry.key]
            self.sink.write(
                ledger_body(entry, old.state if old else None), step=entry.step, attempt=at.attempts
            )

    def _operation(self, to: LedgerState) -> str:
        """The operation a move is about: PREPARED announces the next one."""
        return f"{self.trial_id}.{self._operations + (to is LedgerState.PREPARED)}"

    def _escalate(self, at: Progress | None, decision: Decision) -> NoReturn:
        packet = self._packet(at, decision)
        self.tally.packet = packet
        self.sink.write(Escalated(packet=packet), step=packet.step)
        if at is not None:
            self._recovered(at)
        cost_microusd, delay_us = self.human.take(packet)
        self.sums.charge(cost_microusd)
        self.tally.human_us += delay_us
        self.clock.wait(delay_us)
        raise TrialStopped(End.ESCALATED, decision.reason)

    def _packet(self, at: Progress | None, decision: Decision) -> EscalationPacket:
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
            suggestion="find out whether the unknown writes are in"
            if unknown
            else "try again later",
        )

    def _recovered(self, at: Progress) -> None:
        """Time from the start of the first failed attempt to recovery or escalation (§6.6.4)."""
        if at.failed_at_us is not None:
            self.tally.recoveries += 1
            self.tally.recovery_us += self.clock.now_us() - at.failed_at_us

    def _end_step(self, at: Progress, result: StepResult) -> None:
        intent, last = at.step.intent, at.last
        accepted = result.action is Action.ACCEPT
        if accepted:
            self._recovered(at)
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
