"""One agent under guard in the shop: the whole onion of a trial, without files and servers.

ran = Rig(BlindResend({}, Kit()), faults=[lost_answer("add_order")]).run()
assert ran.duplicates == 1
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hfr_bench import plugins
from hfr_bench.faults.cursor import Cursor
from hfr_bench.lab.carry import Gear
from hfr_bench.lab.checkpoints import Checkpoints, MemoryCheckpoints
from hfr_bench.lab.guard import Guard
from hfr_bench.lab.judge import Effects, expected_counts, judge_effects, packet_is_true
from hfr_bench.lab.ledger import open_ledger
from hfr_bench.lab.recorder import CRASH, TOOL_LAYERS, Seen, Sums, TruthQueue, WorldTools
from hfr_bench.lab.restart import lead
from hfr_bench.lab.runtime import GuardedRuntime
from hfr_bench.lab.step import TrialStopped
from hfr_bench.model.attempt import Call, Observation, Verdict
from hfr_bench.model.prereg import Equipment, Limits, ModelPins
from hfr_bench.model.schedule import FaultEvent, KindSpec, Lasts, Respond, Stall
from hfr_bench.model.task import OracleStep, ToolSpec
from hfr_bench.model.terms import Channel, CheckLevel, End, Layer
from hfr_bench.model.trace import AttemptStarted, TraceEvent
from hfr_bench.model.trial import Grade
from hfr_bench.ports.agent import Agent, Oracle, Runtime, ToolRequest
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.checkpoint import CheckpointStore
from hfr_bench.ports.injector import CallInjector, Scene
from hfr_bench.ports.ledger import Ledger
from hfr_bench.ports.strategy import Strategy
from hfr_bench.ports.verifier import Answered, Check
from hfr_bench.testing.fakes import FakeClock, FakeHuman, FakeModel, ListSink
from hfr_bench.testing.shop import ShopSuite, ShopWorld, agent_step

TASK = "shop/rig"

FULL = Equipment(ledger=True, query=True, ladder=True)
"""What an arm needs to reconcile and to change models."""

KINDS = {
    "lost": KindSpec(
        kind="lost", layer=Layer.TOOL, points=("*",), wire={"tool": Stall(stall_s=86400)}, lands=0.5
    ),
    "busy": KindSpec(
        kind="busy",
        layer=Layer.TOOL,
        points=("*",),
        wire={"tool": Respond(status=503, body="busy")},
    ),
    "limited": KindSpec(
        kind="limited",
        layer=Layer.TOOL,
        points=("*",),
        wire={"tool": Respond(status=429, headers={"retry-after": "7"})},
    ),
    "forbidden": KindSpec(
        kind="forbidden", layer=Layer.TOOL, points=("*",), wire={"tool": Respond(status=403)}
    ),
    CRASH: KindSpec(
        kind=CRASH,
        layer=Layer.ENVIRONMENT,
        points=("tool:*",),
        wire={"tool": Stall(stall_s=2)},
        lands=0.5,
    ),
}
"""Faults that need no content folder: a lost answer, a 503, a 429, a 403, and the runtime's end."""


def fault(
    kind: str, point: str, occurrence: int = 1, attempt: int = 1, *, n: int = 1, lands: bool = True
) -> FaultEvent:
    """A planned fault; `lands` counts for lost answers and crashes only."""
    return FaultEvent(
        injection_id=f"{kind}/{point}/{occurrence}.{attempt}",
        layer=Layer.ENVIRONMENT if kind == CRASH else Layer.TOOL,
        kind=kind,
        point=point,
        occurrence=occurrence,
        attempt=attempt,
        lasts=Lasts(n=n),
        effect_lands=lands if kind in ("lost", CRASH) else None,
    )


def lost_answer(tool: str, occurrence: int = 1, *, n: int = 1) -> FaultEvent:
    """The tool runs and its answer is lost."""
    return fault("lost", f"tool:{tool}", occurrence, n=n)


def lost_request(tool: str, occurrence: int = 1, *, n: int = 1) -> FaultEvent:
    """The tool never runs, which looks just the same."""
    return fault("lost", f"tool:{tool}", occurrence, n=n, lands=False)


def crash(tool: str, occurrence: int = 1, *, lands: bool = True) -> FaultEvent:
    """The runtime under test dies of the call, which may have reached the world."""
    return fault(CRASH, f"tool:{tool}", occurrence, lands=lands)


class ScriptedChecks:
    """A Verifier by a function of level and check. `looks`: tools it reads the world by first."""

    def __init__(
        self,
        judge: Callable[[CheckLevel, Check], Verdict],
        levels: tuple[CheckLevel, ...] = (CheckLevel.DETERMINISTIC,),
        looks: Sequence[str] = (),
    ) -> None:
        self.levels = levels
        self.asked: list[tuple[CheckLevel, Check, tuple[Answered, ...]]] = []
        self.seen: list[Observation] = []
        self._judge = judge
        self._looks = looks

    def verify(self, level: CheckLevel, check: Check) -> Verdict:
        self.asked.append((level, check, tuple(check.history)))
        self.seen += [check.look(tool, {}) for tool in self._looks]
        return self._judge(level, check)


class StepsAgent:
    """Calls the given tools in order, asking again where the runtime gave up (REPLAN).

    Resumable: it goes on with the step that it was at.
    """

    def __init__(self, steps: Sequence[OracleStep], again: int = 0) -> None:
        self.told: list[str] = []
        self._steps = steps
        self._again = again
        self._first = self._at = 0

    def state(self) -> dict[str, Any]:
        return {"at": self._at}

    def resume(self, state: Mapping[str, Any]) -> None:
        self._first = state.get("at", 0)

    def run(self, task: object, runtime: Runtime, oracle: Oracle) -> None:
        first, self._first = self._first, 0
        for n, step in enumerate(self._steps):
            self._at = max(n, first)
            if n < first:
                continue
            for _ in range(1 + self._again):
                answer = runtime.tool(ToolRequest(f"c{n}", step.tool, step.arguments))
                self.told.append(answer.content)
                if not answer.failed:
                    break
        runtime.user_replies("Done.")


@dataclass(frozen=True)
class Ran:
    """How a run ended, what was written down, and the world it left."""

    end: End
    reason: str
    events: tuple[TraceEvent, ...]
    world: ShopWorld
    guard: Guard
    effects: Effects
    grade: Grade
    packet_true: bool | None

    @property
    def duplicates(self) -> int:
        return self.effects.duplicates

    def attempts(self, purpose: str = "agent") -> int:
        """Physical attempts made for a purpose."""
        return sum(
            isinstance(event.body, AttemptStarted) and event.body.purpose == purpose
            for event in self.events
        )


class Rig:
    """Folds the onion over a fresh shop. Every part can be given; the rest are fakes.

    `steps`: what the agent (and the task's oracle) does. `faults`: the schedule of the tool side.
    `injector`: in place of the built-in one. `model`: the port behind the model channel.
    `gear`: what the guard may do. `tools`: other contracts than the shop's. `store`: of
    checkpoints, which are kept where there is one, or `faults` hold a crash.
    """

    def __init__(
        self,
        strategy: Strategy,
        *,
        steps: Sequence[OracleStep] = (agent_step("add_order", item="tea"),),
        faults: Iterable[FaultEvent] = (),
        equipment: Equipment = FULL,
        agent: Agent | None = None,
        injector: CallInjector | None = None,
        model: CallPort | Callable[[Call], Observation] = (lambda _: FakeModel.says("")),
        ledger: Ledger | None = None,
        limits: Limits | None = None,
        deadline_s: float = 600.0,
        gear: Gear | None = None,
        tools: Sequence[ToolSpec] | None = None,
        store: CheckpointStore | None = None,
    ) -> None:
        self.clock = FakeClock()
        self.sink = ListSink(self.clock)
        self.human = FakeHuman()
        self.sums = Sums()
        self.suite = ShopSuite(tasks={TASK: steps})
        self.world = self.suite.open()
        self.world.reset(TASK)
        self.agent = agent or StepsAgent(steps)
        self._limits = limits or Limits()
        changed = {"deadline_s": deadline_s} | ({"tools": tuple(tools)} if tools else {})
        self._task = self.suite.select_all()[0].model_copy(update=changed)
        planned = tuple(faults)
        truth = TruthQueue({event.injection_id: event for event in planned})
        if injector is None:
            injector = plugins.find("injectors", "tool_calls")(KINDS)
        world: CallPort = WorldTools(self.world, self._task, truth, self.clock, 400_000)
        scene = Scene("rig", Cursor(planned, TOOL_LAYERS), KINDS, self.clock, truth.tell)
        ports = {
            Channel.MODEL: FakeModel(model) if callable(model) else model,
            Channel.TOOL: injector.wrap(world, scene),
        }
        kept = open_ledger() if ledger is None else ledger
        self.guard = self._guarded(strategy, ports, truth, equipment, kept, gear or Gear())
        if store is not None or any(event.kind == CRASH for event in planned):
            self._keep(store or MemoryCheckpoints())
        user = self.world.user(TASK, self._user_act)
        self.runtime = GuardedRuntime(
            self.guard, self._task, user, self.sink, ModelPins(), self._limits, "default"
        )

    def _keep(self, store: CheckpointStore) -> None:
        self.guard.checkpoints = Checkpoints("rig", self.sink, self.clock, store=store)

    def _guarded(
        self,
        strategy: Strategy,
        ports: Mapping[Channel, CallPort],
        truth: TruthQueue,
        equipment: Equipment,
        ledger: Ledger,
        gear: Gear,
    ) -> Guard:
        return Guard(
            trial_id="rig",
            tenant="default",
            task=self._task,
            strategy=strategy,
            onion={
                channel: Seen(port, self.sink, truth, self.clock, self.sums, 1000)
                for channel, port in ports.items()
            },
            landed=self.suite.landed,
            sink=self.sink,
            truth=truth,
            shows_truth=equipment.truth,
            keeps_ledger=equipment.ledger,
            ledger=ledger,
            human=self.human,
            clock=self.clock,
            sums=self.sums,
            deadline_us=round(self._task.deadline_s * 1_000_000),
            limits=self._limits,
            gear=gear,
        )

    def run(self) -> Ran:
        """Let the agent work until it is done or stopped, then judge what it did."""
        end, reason = End.ACCEPTED, ""
        sealed = self.suite.sealed(TASK)
        try:
            oracle = Oracle(sealed.oracle, sealed.say)
            lead(self.agent, lambda: self.agent, self._task, self.runtime, oracle, self.guard)
        except TrialStopped as stopped:
            end, reason = stopped.end, stopped.reason
        packet = self.guard.tally.packet
        return Ran(
            end=end,
            reason=reason,
            events=tuple(self.sink.events),
            world=self.world,
            guard=self.guard,
            effects=judge_effects(self.sink.events, expected_counts(sealed)),
            grade=self.world.grade(self.runtime.said),
            packet_true=None if packet is None else packet_is_true(self.sink.events, packet),
        )

    def _user_act(self, tool: str, arguments: object) -> Observation:
        return self.world.execute(tool, {}, actor="user", operation_id="user").observation
