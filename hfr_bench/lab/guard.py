"""The guard: carries out, for one logical step at a time, what the strategy decides.

It asks `decide` before every attempt and after every observation, makes ledger moves durable
before acting, waits, reads the world for the strategy, and never decides anything itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NoReturn

from hfr_bench.lab import carry
from hfr_bench.lab.calling import Caller
from hfr_bench.lab.carry import Desk, Gear
from hfr_bench.lab.checkpoints import Checkpoints
from hfr_bench.lab.ledger import LedgerDownError
from hfr_bench.lab.recorder import decided_body, ledger_body
from hfr_bench.lab.step import Progress, RuntimeCrashed, Step, StepResult, Tally, TrialStopped
from hfr_bench.lab.verifying import Checks
from hfr_bench.model.attempt import (
    Attempted,
    Compressed,
    Decision,
    Finishing,
    Observation,
    Prepared,
    Proposed,
    Reconciled,
    Restored,
    StepView,
    StrategyEvent,
    Verdict,
    Verified,
)
from hfr_bench.model.ledger import CheckpointPoint, Reservation
from hfr_bench.model.record import text_digest
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import Action, Channel, CheckLevel, End, Landed, LedgerState
from hfr_bench.model.trace import Escalated, ReconcileAnswered, StepEnded, VerifyAnswered
from hfr_bench.ports.agent import Agent
from hfr_bench.ports.human import Human, Question
from hfr_bench.ports.ledger import Ledger
from hfr_bench.ports.sink import Sink
from hfr_bench.ports.strategy import Strategy
from hfr_bench.recovery.checkpoint import due
from hfr_bench.recovery.ledger import LedgerConflictError, replay

JudgeLanded = Callable[[str, str | None, str | None, Mapping[str, Any]], Landed]


@dataclass(slots=True, kw_only=True)
class Guard(Caller):
    """One trial's guard: `gear` as equipped, `checkpoints` only where the runtime may crash."""

    tenant: str
    task: TaskSpec
    strategy: Strategy
    landed: JudgeLanded
    sink: Sink
    shows_truth: bool
    keeps_ledger: bool
    ledger: Ledger
    human: Human
    deadline_us: int
    gear: Gear = Gear()
    checkpoints: Checkpoints | None = None
    tally: Tally = field(default_factory=Tally)
    _state: dict[str, Any] = field(init=False)
    _over: BaseException | None = None
    _checks: Checks = field(init=False)
    _desk: Desk = field(init=False)

    def __post_init__(self) -> None:
        Caller.__post_init__(self)
        self._state = self.strategy.begin()
        self._checks = Checks(self.gear.verifier, self.task)
        self._desk = Desk(self.tenant, self.task, self.ledger)

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
        if self.gear.ladder:
            at.equivalents = carry.equivalents(step, self.task, self.gear.how)
            at.tokens = carry.tokens_of(step)
        if self.checkpoints is not None:
            self.checkpoints.asked(self._state, step.number)
            at.before = self.checkpoints.before.get(step.intent.stepless_key)
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

    def begin(self, agent: Agent) -> None:
        """The trial starts: what it starts from is saved, where a crash may come."""
        if self.checkpoints is not None:
            self.checkpoints.agent = agent
            self.checkpoints.save(CheckpointPoint.BEGUN, self._state, 0)

    def restart(self, agent: Agent) -> dict[str, Any]:
        """Back from a crash, with a new agent: returns the state that it goes on from.

        The strategy has the last checkpoint's, and is asked before anything else; to go on it says
        ACCEPT or DISPATCH. Raises TrialStopped for anything else.
        """
        assert self.checkpoints is not None
        saved, drifted = self.checkpoints.last()
        self.checkpoints.agent, self._over = agent, None
        self._state = saved.strategy_state if saved else self.strategy.begin()
        ledger = replay(self.ledger.entries()) if self.keeps_ledger else ()
        back = Restored(self.clock.now_us(), self.deadline_us, ledger, drifted, self.tally.landed)
        decision = self._decide(None, back)
        if decision.action is Action.ESCALATE:
            self._escalate(None, decision, "restarting")
        if decision.action not in (Action.ACCEPT, Action.DISPATCH):
            undoable = f"the strategy chose {decision.action} after a restart: {decision.reason}"
            raise TrialStopped(End.FAILED, undoable)
        return saved.agent_state["agent"] if saved else {}

    # -- asking ---------------------------------------------------------------------------

    def _decide(self, at: Progress | None, event: StrategyEvent) -> Decision:
        if at is not None:
            at.decisions += 1
            # An attempt and a check of its answer cost three; whatever asks for more is looping.
            if at.decisions > 3 * self.limits.max_attempts:
                self._too_many()
        decision = self._asked(event)
        step, attempt = (at.step.number, at.attempts) if at else (0, 0)
        self.sink.write(decided_body(event, decision), step=step, attempt=attempt)
        if at is not None:
            at.key = decision.key or at.key
        if decision.moves or (decision.debit and at is not None):
            self._move(at, decision)
        if self.checkpoints is not None:
            self.checkpoints.mark(due(decision), self._state, step)
        if wait_us := self._bounds.within(decision.delay_us):
            self.tally.backoff_us += wait_us
            self.clock.wait(wait_us)
        return decision

    def _asked(self, event: StrategyEvent) -> Decision:
        """The strategy's answer. Its own defects end the trial as its failure, never as a void."""
        try:
            self._state, decision = self.strategy.decide(self._state, event)
            carry.check_sound(decision)
        except Exception as error:
            broke = f"the strategy raised {type(error).__name__}: {error}"
            raise TrialStopped(End.FAILED, broke) from error
        return decision

    def _view(self, at: Progress) -> StepView:
        contract, most = at.step.contract, self.gear.context_tokens
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
            goal_version=self.task.goal_version,
            tokens=at.tokens,
            context_left=max(0, most - at.tokens) if most is not None and at.tokens else None,
            equivalents=at.equivalents,
            can_verify=self._checks.offered(at),
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
            case Action.VERIFY if (level := decision.check) in self._checks.offered(at):
                return self._verify(at, CheckLevel(level))
            case Action.COMPRESS if channel is Channel.MODEL and self.gear.summarizer:
                return self._compress(at)
            case Action.DEGRADE_MODEL | Action.DEGRADE_TOOL if self._turned(at, decision):
                return Proposed(self._view(at))
            case Action.DEGRADE_SCOPE if decision.substitute and not at.step.intent.level.writes:
                self._degraded(at)
                at.last, at.read = carry.fallback(channel, decision.answer), None
                return StepResult(Action.DEGRADE_SCOPE, at.last)
            case Action.ACCEPT:
                return StepResult(Action.ACCEPT, at.last, at.read)
            case Action.REPLAN if channel is Channel.TOOL:
                reasons = at.verdict.reasons if at.verdict and not at.verdict.passed else ()
                return StepResult(Action.REPLAN, at.last, at.read, reasons)
            case Action.ESCALATE:
                self._escalate(at, decision)
            case Action.FAIL:
                raise TrialStopped(End.FAILED, decision.reason)
        undoable = f"the strategy chose {decision.action}, which cannot be done at {at.step.point}"
        raise TrialStopped(End.FAILED, undoable)

    def _dispatch(self, at: Progress) -> StrategyEvent:
        at.attempts += 1
        step, own = at.step, at.attempts - at.earlier
        to = (step.intent.channel, at.target, self._keyed(at))
        seen = self._attempt(at, (step.point, at.occurrence, own), "agent", to, step.timeout_us)
        truth = self.truth.truth() if self.shows_truth else None
        if truth is not None and truth.landed:
            self.tally.landed += (step.intent.stepless_key,)
        if self.truth.crashed and self.checkpoints is not None:
            raise RuntimeCrashed(step.point)  # the strategy never hears of it
        at.last, at.read, at.verdict = seen, None, None
        if not seen.answered and at.failed_at_us is None:
            at.failed_at_us = self.clock.now_us() - seen.latency_us
        return Attempted(self._view(at), seen, truth)

    def _prepare(self, at: Progress) -> StrategyEvent:
        seen = self._query(at, "prepare")
        at.before = seen.body if seen.answered else None
        if self.checkpoints is not None and at.before is not None:
            self.checkpoints.before[at.step.intent.stepless_key] = at.before
        return Prepared(self._view(at), seen)

    def _reconcile(self, at: Progress) -> StrategyEvent:
        """Read the world and let the suite's predicate judge it."""
        contract = at.step.contract
        assert contract is not None
        seen = self._query(at, "reconcile")
        at.read = seen
        landed = Landed.UNKNOWN
        if seen.answered:
            landed = self.landed(contract.landed, at.before, seen.body, at.step.payload)
        body = ReconcileAnswered(tool=at.target, landed=landed)
        self.sink.write(body, step=at.step.number, attempt=at.attempts)
        return Reconciled(self._view(at), seen, landed)

    def _verify(self, at: Progress, level: CheckLevel) -> StrategyEvent:
        """Have the answer (or the call that is not made yet) checked; a person does it at V3."""

        def look(tool: str, arguments: Mapping[str, Any]) -> Observation:
            return self._read(at, "verify", (Channel.TOOL, tool, arguments))

        if level is CheckLevel.AUTHORITY:
            verdict = self._reviewed(at)
        else:
            verdict = self._checks.verdict(level, at, look)
        at.verdict = verdict
        body = VerifyAnswered(**asdict(verdict) | {"level": level})
        self.sink.write(body, step=at.step.number, attempt=at.attempts)
        return Verified(self._view(at), verdict)

    def _reviewed(self, at: Progress) -> Verdict:
        intent, seen = at.step.intent, at.last
        question = Question(at.step.number, at.target, intent.level, at.step.payload, seen)
        said = self.human.review(question)
        self._wait_for_human(said.cost_microusd, said.delay_us)
        return Verdict(CheckLevel.AUTHORITY, said.passed, float(said.passed), said.reasons)

    def _compress(self, at: Progress) -> StrategyEvent:
        """A shorter conversation for this step, from its next attempt on (rung L1)."""
        summarizer = self.gear.summarizer
        assert summarizer is not None

        def ask(payload: Mapping[str, Any]) -> Observation:
            return self._read(at, "compress", (Channel.MODEL, at.target, payload))

        shorter = carry.shortened(at.step, summarizer.compress(at.step.payload["messages"], ask))
        tokens = carry.tokens_of(shorter)
        done = tokens < carry.tokens_of(at.step)
        if done:
            self._degraded(at)
            at.step, at.tokens = shorter, tokens
        return Compressed(self._view(at), done)

    def _turned(self, at: Progress, decision: Decision) -> bool:
        """The step goes to another model, or to an equivalent tool at a point of its own."""
        to, channel = decision.substitute, at.step.intent.channel
        model = decision.action is Action.DEGRADE_MODEL
        if to is None or model is not (channel is Channel.MODEL):
            return False
        if not model:
            tool = self.task.tool(to) if to in at.equivalents else None
            step = carry.substituted(at.step, tool, self.gear.how) if tool else None
            if step is None:
                return False
            self._moved(at, step)
            at.equivalents = carry.equivalents(at.step, self.task, self.gear.how)
        self._degraded(at)
        at.target = to
        return True

    def _degraded(self, at: Progress) -> None:
        """A step counts once, however far down the ladder it goes."""
        self.tally.degraded_steps += not at.degraded
        at.degraded = True

    # -- ledger, people, ends ---------------------------------------------------------------

    def _move(self, at: Progress | None, decision: Decision) -> None:
        """Debit and moves in one transaction, durable before anything is done about them."""
        number, attempts = (at.step.number, at.attempts) if at else (0, 0)
        now_us = self.clock.now_us()
        if at is not None:
            at.key = next((m.key for m in decision.moves if m.to is LedgerState.PREPARED), at.key)
        try:
            made = [
                self._desk.entry(at, move, now_us, self._operation(move.to))
                for move in decision.moves
            ]
            debit = Reservation(step=number, retries=decision.debit)
            self.ledger.apply(debit, [entry for entry, _ in made])
        except LedgerDownError as down:
            self.sink.write(down.body, step=number, attempt=attempts)
            self._escalate(at, down.decision)
        except LedgerConflictError as error:
            illegal = f"the strategy moved the ledger illegally: {error}"
            raise TrialStopped(End.FAILED, illegal) from error
        for entry, before in made:
            self.sink.write(ledger_body(entry, before), step=number, attempt=attempts)

    def _escalate(
        self, at: Progress | None, decision: Decision, outside: str = "finishing"
    ) -> NoReturn:
        ledger = self.ledger if self.keeps_ledger else None
        where = (at.step.number, at.step.point) if at else (0, outside)
        packet = carry.packet(self.trial_id, where, decision, self.tally, ledger)
        self.tally.packet = packet
        self.sink.write(Escalated(packet=packet), step=packet.step)
        if at is not None:
            self.tally.recovered(at.failed_at_us, self.clock.now_us())
        self._wait_for_human(*self.human.take(packet))
        raise TrialStopped(End.ESCALATED, decision.reason)

    def _wait_for_human(self, cost_microusd: int, delay_us: int) -> None:
        self.sums.charge(cost_microusd)
        self.tally.human_us += delay_us
        self.clock.wait(delay_us)

    def _end_step(self, at: Progress, result: StepResult) -> None:
        intent, last = at.step.intent, at.last
        accepted = result.action is Action.ACCEPT
        if accepted:
            self._checks.keep(at)
            if self.checkpoints is not None:
                self.checkpoints.before.pop(intent.stepless_key, None)
        if result.action is not Action.REPLAN:
            self.tally.recovered(at.failed_at_us, self.clock.now_us())
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
