"""One trial: agent under guard over recorders over injectors over the world -> a graded trace.

Steady state -> run -> heal everything -> drain -> grade. A failure of our own side makes a void;
whatever the strategy does makes an outcome.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hfr_bench.errors import InfrastructureError
from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.ledgers import PREFIX
from hfr_bench.lab.carry import gear_of
from hfr_bench.lab.cassettes import on_tape
from hfr_bench.lab.checkpoints import Checkpoints
from hfr_bench.lab.clock import VirtualClock, WallClock, make_clock
from hfr_bench.lab.guard import Guard
from hfr_bench.lab.images import image_of
from hfr_bench.lab.injecting import around, exposed
from hfr_bench.lab.journal import Durability, JournalError, TrialJournal
from hfr_bench.lab.judge import (
    atomic_groups,
    expected_counts,
    judge_effects,
    packet_is_true,
)
from hfr_bench.lab.ledger import FaultyLedger, open_ledger
from hfr_bench.lab.recorder import CRASH, TOOL_LAYERS, Seen, Sums, TruthQueue, WorldTools
from hfr_bench.lab.restart import lead
from hfr_bench.lab.runtime import GuardedRuntime
from hfr_bench.lab.step import TrialStopped
from hfr_bench.lab.taping import Tape
from hfr_bench.lab.together import Seat
from hfr_bench.lab.voiding import CheckerError, cause_of
from hfr_bench.lab.wire import Bench, WorkerScope
from hfr_bench.model.attempt import Observation
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.prereg import Arm
from hfr_bench.model.record import json_digest, text_digest
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import Channel, End, Layer, SideEffect, VoidCause
from hfr_bench.model.trace import EffectExecuted, TrialEnded, TrialStarted
from hfr_bench.model.trial import Grade, Outcome, PlanRow, TrialResult
from hfr_bench.ports.agent import Oracle
from hfr_bench.ports.injector import Scene
from hfr_bench.ports.ledger import Ledger
from hfr_bench.ports.llm import ModelScope
from hfr_bench.ports.sandbox import HostDiedError, HostRefusedError, SandboxUnavailableError
from hfr_bench.ports.strategy import Strategy
from hfr_bench.ports.suite import World
from hfr_bench.ports.user import User, UserTurn


@dataclass(frozen=True, slots=True)
class _Ended:
    """How the runtime under test left the trial."""

    end: End
    reason: str
    at_us: int


class InterruptedTrialError(InfrastructureError):
    """The run is being ended: the trial is neither graded nor void, and will be run again."""


def run_trial(
    scope: WorkerScope,
    row: PlanRow,
    round_no: int,
    path: Path,
    durability: Durability = "process",
    seat: Seat | None = None,
) -> TrialResult:
    """Run one planned trial and write its trace to `path`; returns the last line's result.

    `seat`: its place in a cohort, whose clock goes on; what the trial leaves is in it afterwards.
    Our side's failures come back as voids. Raises only what stops the whole run, leaving a trace
    that the next run archives: JournalError, SandboxUnavailableError, InterruptedTrialError.
    """
    bench, trial = scope.bench, row.trial
    task = bench.task(trial.suite, trial.task_id)
    clock = seat.clock if seat else make_clock(bench.prereg.clock)
    journalled = TrialJournal(path, trial.trial_id, clock, durability)
    with journalled as journal, on_tape(bench, trial, round_no) as tape:
        journal.write(tape.told(_started(bench, row, task, round_no, seat)))
        run = _Run(scope, row, task, clock, journal, seat, tape)
        try:
            result = run.graded(round_no)
        except (JournalError, SandboxUnavailableError):
            raise
        except InfrastructureError as error:
            if isinstance(error, HostDiedError):
                scope.drop_world(trial.suite)
            result = run.void(round_no, cause_of(error), str(error))
        except Exception as error:  # noqa: BLE001 - our own defect must not look like the arm's
            result = run.void(round_no, VoidCause.HARNESS, f"{type(error).__name__}: {error}")
        if result.void is not None and bench.interrupted.is_set():
            raise InterruptedTrialError(f"trial {trial.trial_id} was interrupted")
        journal.write(TrialEnded(result=result, cassette=tape.end()))
    return result


@dataclass(frozen=True, slots=True)
class _Untimed:
    """A user whose thinking takes no trial time: it is not the arm's."""

    inner: User
    clock: VirtualClock | WallClock

    def open(self) -> UserTurn:
        with self.clock.paused():
            return self.inner.open()

    def reply(self, text: str) -> UserTurn:
        with self.clock.paused():
            return self.inner.reply(text)


class _Run:
    """The moving parts of one trial."""

    def __init__(
        self,
        scope: WorkerScope,
        row: PlanRow,
        task: TaskSpec,
        clock: VirtualClock | WallClock,
        journal: TrialJournal,
        seat: Seat | None,
        tape: Tape,
    ) -> None:
        self._seat = seat
        self._tape = tape
        self._start_us = seat.place.start_us if seat else 0
        self._scope = scope
        self._bench = scope.bench
        self._row = row
        self._task = task
        self._clock = clock
        self._journal = journal
        self._schedule = self._bench.schedule(row.trial.schedule_id)
        self._truth = TruthQueue({e.injection_id: e for e in self._schedule.events})
        self._sums = Sums()
        self._met: set[str] = set()
        self._guard: Guard | None = None

    def graded(self, round_no: int) -> TrialResult:
        """Run, heal, drain, then let the checker read the world."""
        trial = self._row.trial
        world = self._scope.world(trial.suite)
        state = world.reset(trial.task_id)
        self._bench.check_steady(trial.suite, trial.task_id, state)
        with ExitStack() as healing:
            guard = self._wire(healing)
            self._guard = guard
            user = _Untimed(world.user(trial.task_id, self._user_act), self._clock)
            prereg = self._bench.prereg
            runtime = GuardedRuntime(
                *(guard, self._task, user, self._journal, prereg.model, prereg.limits),
                *(trial.tenant, self._bench.suite(trial.suite)),
            )
            ended = self._live(guard, runtime)
        self._truth.drain(self._journal)
        if self._seat is not None:
            self._journal.write(self._seat.hand_over())
        grade = self._graded(world, runtime.said)
        return self._result(round_no, outcome=self._outcome(ended, grade), grade=grade)

    @staticmethod
    def _graded(world: World, said: list[str]) -> Grade:
        try:
            return world.grade(said)
        except HostRefusedError as error:
            raise CheckerError(f"the checker refused: {error}") from error

    def void(self, round_no: int, cause: VoidCause, reason: str) -> TrialResult:
        self._truth.drain(self._journal)
        return self._result(round_no, cause=cause, reason=reason[:500])

    # -- running ----------------------------------------------------------------------------

    def _live(self, guard: Guard, runtime: GuardedRuntime) -> _Ended:
        agent = self._bench.agent()
        sealed = self._bench.sealed(self._row.trial.suite, self._row.trial.task_id)
        knows = getattr(agent, "needs_oracle", False)
        oracle = Oracle(sealed.oracle, sealed.say) if knows else Oracle()
        try:
            lead(agent, self._bench.agent, self._task, runtime, oracle, guard)
            ended = _Ended(End.ACCEPTED, "", self._clock.now_us())
        except TrialStopped as stopped:
            ended = _Ended(stopped.end, stopped.reason, self._clock.now_us())
        return ended

    def _wire(self, healing: ExitStack) -> Guard:
        """Fold the onion. With the injectors removed, the same parts minus the injectors."""
        bench, trial, prereg = self._bench, self._row.trial, self._bench.prereg
        arm = bench.arm(trial.arm)
        price = prereg.tool_price
        world = self._scope.world(trial.suite)
        tools: Any = WorldTools(
            *(world, self._task, self._truth, self._clock),
            *(round(price.latency_s * 1_000_000), bench.suite(trial.suite)),
        )
        if trial.injected:
            scene = replace(self._scene(*TOOL_LAYERS), **around(world))
            tools = bench.tool_injector.wrap(tools, scene)
            healing.callback(bench.tool_injector.heal)
            base_url = self._tape.enter(bench.gateway, self._scene(Layer.MODEL))
            healing.callback(self._tape.leave, bench.gateway, trial.trial_id)
        else:
            base_url = bench.upstream
        client = self._tape.around(bench.backend.client(base_url, self._model_scope()))
        tool_cost = round(price.cost_usd * 1_000_000)
        common = (self._journal, self._truth, self._clock, self._sums, tool_cost)
        sizes = any(event.lasts.unit == "request" for event in self._schedule.events)
        onion = {
            Channel.MODEL: Seen(client, *common, sizes=sizes),
            Channel.TOOL: Seen(tools, *common),
        }
        return Guard(
            trial_id=trial.trial_id,
            tenant=trial.tenant,
            task=self._task,
            strategy=self._strategy(arm),
            onion=onion,
            landed=bench.suite(trial.suite).landed,
            sink=self._journal,
            truth=self._truth,
            shows_truth=arm.equipment.truth,
            keeps_ledger=arm.equipment.ledger,
            ledger=self._ledger(),
            human=bench.human(),
            clock=self._clock,
            sums=self._sums,
            deadline_us=self._deadline_us,
            limits=prereg.limits,
            start_us=self._start_us,
            gear=gear_of(arm, bench.suite(trial.suite), self._task, prereg.model),
            checkpoints=self._checkpoints(arm.digest()),
        )

    @property
    def _deadline_us(self) -> int:
        """On the trial's clock, which a cohort's trial finds at work already."""
        return self._start_us + round(self._task.deadline_s * 1_000_000)

    def _strategy(self, arm: Arm) -> Strategy:
        trial = self._row.trial
        made = self._bench.strategy(arm, self._task, trial.seed, trial.tenant)
        return made if self._seat is None else self._seat.join(made, self._journal)

    def _ledger(self) -> Ledger:
        """The trial's own; behind its faults where the schedule has some."""
        trial = self._row.trial
        ledger = open_ledger(trial.tenant, trial.trial_id)
        if trial.injected and any(e.point.startswith(PREFIX) for e in self._schedule.events):
            return FaultyLedger(ledger, self._scene(Layer.TOOL))
        return ledger

    def _checkpoints(self, config_digest: str) -> Checkpoints | None:
        """Kept where the schedule holds a crash; elsewhere nobody would ever read them."""
        trial = self._row.trial
        crashes = trial.injected and any(e.kind == CRASH for e in self._schedule.events)
        if not crashes:
            return None
        return Checkpoints(
            trial.trial_id, self._journal, self._clock, config_digest, self._task.goal_version
        )

    def _scene(self, *layers: Layer) -> Scene:
        trial = self._row.trial
        return Scene(
            trial_id=trial.trial_id,
            cursor=Cursor(self._schedule.events, layers, self._met),
            kinds=self._bench.kinds,
            clock=self._clock,
            tell=self._truth.tell,
            labels={"suite": trial.suite, "task": trial.task_id, "seed": str(trial.seed)},
        )

    def _model_scope(self) -> ModelScope:
        trial = self._row.trial
        return ModelScope(
            suite=trial.suite,
            task_id=trial.task_id,
            seed=trial.seed,
            clock=self._clock,
            announced_us=self._truth.take_announced_us,
            tape=self._tape.name,
        )

    def _user_act(self, tool: str, arguments: Mapping[str, Any]) -> Observation:
        """The user's own call: recorded as truth, never guarded, faulted or counted."""
        operation_id = f"{self._row.trial.trial_id}.user"
        world = self._scope.world(self._row.trial.suite)
        if (broken := exposed(world)) is not None:
            broken.host.heal()  # a fault is for the agent's calls; without one nothing happens
        done = world.execute(tool, arguments, actor="user", operation_id=operation_id)
        self._journal.write(
            EffectExecuted(
                operation_id=operation_id,
                point=f"user:{tool}",
                tool=tool,
                actor="user",
                level=SideEffect.READ,
                natural_key="",
                args_digest=json_digest(dict(arguments)),
                domain_error=done.observation.domain_error,
                changed=done.changed,
                response_digest=text_digest(done.observation.body),
            )
        )
        return done.observation

    # -- judging ----------------------------------------------------------------------------

    def _outcome(self, ended: _Ended, grade: Grade) -> Outcome:
        trial = self._row.trial
        events = self._journal.events
        sealed = self._bench.sealed(trial.suite, trial.task_id)
        effects = judge_effects(events, expected_counts(sealed), atomic_groups(sealed))
        packet = self._packet()
        return Outcome(
            official=grade.official,
            goal_met=grade.goal_met,
            accepted=ended.end is End.ACCEPTED,
            in_time=ended.at_us <= self._deadline_us,
            end=ended.end,
            reason=ended.reason,
            packet_true=None if packet is None else packet_is_true(events, packet),
            degraded_steps=self._guard.tally.degraded_steps if self._guard else 0,
            ambiguous_writes=len(self._sums.ambiguous),
            **effects._asdict(),
        )

    def _packet(self) -> EscalationPacket | None:
        return self._guard.tally.packet if self._guard else None

    def _result(
        self,
        round_no: int,
        *,
        outcome: Outcome | None = None,
        grade: Grade | None = None,
        cause: VoidCause | None = None,
        reason: str = "",
    ) -> TrialResult:
        trial, sums = self._row.trial, self._sums
        tally = self._guard.tally if self._guard else None
        return TrialResult(
            **trial.identity(),
            trial_id=trial.trial_id,
            origin=self._bench.prereg.origin,
            round=round_no,
            outcome=outcome,
            void=cause,
            void_reason=reason,
            steps=tally.steps if tally else 0,
            attempts=sums.attempts,
            reads=sums.reads,
            cost_microusd=sums.cost_microusd,
            latency_us=self._clock.now_us() - self._start_us,
            injected_wait_us=sums.injected_wait_us,
            human_us=tally.human_us if tally else 0,
            backoff_us=tally.backoff_us if tally else 0,
            recovery_us=tally.recovery_us if tally else 0,
            recoveries=tally.recoveries if tally else 0,
            tokens_in=sums.tokens_in,
            tokens_out=sums.tokens_out,
            state_digest=grade.state_digest if grade else "",
        )


def _started(
    bench: Bench, row: PlanRow, task: TaskSpec, round_no: int, seat: Seat | None
) -> TrialStarted:
    trial, prereg = row.trial, bench.prereg
    sandbox = bench.sandbox_of(trial.suite)
    return TrialStarted(
        **trial.identity(),
        prereg_digest=trial.prereg_digest,
        schedule_digest=trial.schedule_digest,
        arm_digest=bench.arm(trial.arm).digest(),
        round=round_no,
        origin=prereg.origin,
        sandbox=sandbox.name,
        image_id=image_of(bench.suite(trial.suite), sandbox, trial.task_id),
        goal_version=task.goal_version,
        clock=prereg.clock,
        injected=trial.injected,
        source=bench.source(trial.suite),
        expected=expected_counts(bench.sealed(trial.suite, trial.task_id)),
        cohort=seat.place if seat else None,
        replayed=bench.place.replay is not None,
    )
