"""A trial without a strategy: every step of the shop's tools, each tried until it is answered."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import count

from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.generate import ATTEMPTS_MAX, Draw, generate
from hfr_bench.lab.clock import VirtualClock
from hfr_bench.lab.recorder import TOOL_LAYERS, Seen, Sums, TruthQueue, WorldTools
from hfr_bench.model.attempt import Call, Intent
from hfr_bench.model.matrix import FaultMatrix, Mix
from hfr_bench.model.record import json_digest
from hfr_bench.model.schedule import FaultSchedule, KindSpec
from hfr_bench.model.task import ToolSpec
from hfr_bench.model.terms import Channel
from hfr_bench.ports.injector import CallInjector, Scene
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.fakes import ListSink
from hfr_bench.testing.results import started
from hfr_bench.testing.shop import TOOLS, ShopSuite

HORIZON = 6
TOOL_US = 400_000
ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "set_address": {"to": "Main St"},
    "add_order": {"item": "tea"},
    "send_mail": {"text": "a"},
}
SUITE = ShopSuite()
TASK = SUITE.select_all()[0]
TRIAL = planned().rows[0].trial


class Walker:
    """One trial under a schedule: the shop's world behind an injector, between both recorders.

    `crashes`: how often the runtime under test should have died of an attempt.
    """

    def __init__(
        self, schedule: FaultSchedule, injector: CallInjector, kinds: Mapping[str, KindSpec]
    ) -> None:
        self.clock = VirtualClock()
        self.sink = ListSink(self.clock)
        self.truth = TruthQueue({event.injection_id: event for event in schedule.events})
        self.injector = injector
        self.crashes = 0
        world = SUITE.open()
        world.reset(TASK.task_id)
        inner = WorldTools(world, TASK, self.truth, self.clock, TOOL_US)
        scene = Scene("t", Cursor(schedule.events, TOOL_LAYERS), kinds, self.clock, self.truth.tell)
        port = injector.wrap(inner, scene)
        self.port = Seen(port, self.sink, self.truth, self.clock, Sums(), 0)
        self._steps, self._operations = count(1), count(1)

    def walk(self) -> None:
        """Go through the trial to its end; its trace is in `sink.events`."""
        self.sink.write(started(TRIAL).body)
        for occurrence in range(1, HORIZON + 1):
            for tool in TOOLS:
                step = next(self._steps)
                before = tool.reconcile is not None
                if before:
                    self._tried(step, "prepare", tool, occurrence)
                self._tried(step, "tool", tool, occurrence)
                if before:
                    self._tried(step, "reconcile", tool, occurrence)
        self.injector.heal()
        self.truth.drain(self.sink)

    def _tried(self, step: int, purpose: str, tool: ToolSpec, occurrence: int) -> None:
        own = purpose == "tool"
        payload = ARGUMENTS.get(tool.name, {}) if own else {}
        digest = json_digest(payload)
        key = f"{tool.name}{occurrence}"
        intent = Intent("i", Channel.TOOL, tool.name, tool.level, digest, key, tool.name)
        for attempt in range(1, ATTEMPTS_MAX + 2):
            call = Call(
                step=step,
                point=f"{purpose}:{tool.name}",
                occurrence=occurrence,
                attempt=attempt,
                channel=Channel.TOOL,
                target=tool.name if own else "look",
                timeout_us=10_000_000,
                payload=payload,
                purpose="agent" if own else purpose,
                operation_id=f"o{next(self._operations)}",
                intent=intent if own else None,
            )
            seen = self.port.attempt(call)
            self.crashes += self.truth.crashed
            self.truth.crashed = False
            if seen.answered:
                return


def schedules(names: Iterable[str], kinds: Mapping[str, KindSpec]) -> Iterator[FaultSchedule]:
    """Schedules of some kinds at every second onset, without end."""
    mix = Mix(points=("*",), kinds=dict.fromkeys(names, 1.0))
    matrix = FaultMatrix(name="+".join(mix.kinds), mixes=(mix,))
    for seed in count(1):
        draw = Draw("shop", TASK.task_id, seed, "p", 0.5)
        yield generate(draw, TASK.fault_points, matrix, kinds, HORIZON)
