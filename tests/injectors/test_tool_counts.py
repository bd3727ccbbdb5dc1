"""Delivered = reached, counted: every kind of the tool boundary over very many planned events.

No strategy: a walker that goes to every step and tries each until it is answered.
"""

from collections.abc import Iterator
from itertools import count

import pytest

from hfr_bench import content
from hfr_bench.faults.audit import KindSums, TrialAudit, audit
from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.generate import ATTEMPTS_MAX, Draw, generate
from hfr_bench.injectors.tool_calls import ToolCallInjector
from hfr_bench.lab.clock import VirtualClock
from hfr_bench.lab.recorder import TOOL_LAYERS, Seen, Sums, TruthQueue, WorldTools
from hfr_bench.model.attempt import Call, Intent
from hfr_bench.model.matrix import FaultMatrix, Mix
from hfr_bench.model.record import json_digest
from hfr_bench.model.schedule import FaultSchedule
from hfr_bench.model.task import ToolSpec
from hfr_bench.model.terms import Channel
from hfr_bench.ports.injector import Scene
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.fakes import ListSink
from hfr_bench.testing.results import started
from hfr_bench.testing.shop import TOOLS, ShopSuite

KINDS = {name: kind for name, kind in content.kinds().items() if "tool" in kind.wire}
FEW, MANY = 150, 10_000
HORIZON = 6
TOOL_US = 400_000
ARGUMENTS = {
    "set_address": {"to": "Main St"},
    "add_order": {"item": "tea"},
    "send_mail": {"text": "a"},
}
SUITE = ShopSuite()
TASK = SUITE.select_all()[0]
TRIAL = planned().rows[0].trial


class Walker:
    """One trial: every occurrence of every tool, each tried until it is answered."""

    def __init__(self, schedule: FaultSchedule) -> None:
        self.clock = VirtualClock()
        self.sink = ListSink(self.clock)
        self.truth = TruthQueue({event.injection_id: event for event in schedule.events})
        self.injector = ToolCallInjector(KINDS)
        world = SUITE.open()
        world.reset(TASK.task_id)
        inner = WorldTools(world, TASK, self.truth, self.clock, TOOL_US)
        scene = Scene("t", Cursor(schedule.events, TOOL_LAYERS), KINDS, self.clock, self.truth.tell)
        port = self.injector.wrap(inner, scene)
        self.port = Seen(port, self.sink, self.truth, self.clock, Sums(), 0)
        self._steps, self._operations = count(1), count(1)

    def walk(self) -> None:
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
            if self.port.attempt(call).answered:
                return


def schedules(name: str) -> Iterator[FaultSchedule]:
    """Schedules of one kind, without end."""
    mix = Mix(points=("*",), kinds={name: 1.0})
    matrix = FaultMatrix(name=name, mixes=(mix,))
    for seed in count(1):
        draw = Draw("shop", TASK.task_id, seed, "p", 0.5)
        yield generate(draw, TASK.fault_points, matrix, KINDS, HORIZON)


def counted(name: str, wanted: int) -> tuple[KindSums, list[TrialAudit]]:
    """The sums of as many trials as schedule so many events, and those trials' audits."""
    audits: list[TrialAudit] = []
    total = [0, 0, 0]
    wrong: list[str] = []
    for schedule in schedules(name):
        walker = Walker(schedule)
        walker.walk()
        found = audit(walker.sink.events, schedule, KINDS, tool_latency_us=TOOL_US)
        audits.append(found)
        for one in found.sums.values():
            total = [a + b for a, b in zip(total, one[:3], strict=True)]
            wrong += one.mismatched
        wrong += [*found.failed, *found.untrue]
        if total[0] >= wanted or (wrong and len(wrong) > 3):
            break
    return KindSums(total[0], total[1], total[2], tuple(wrong)), audits


def check(name: str, wanted: int) -> None:
    sums, _ = counted(name, wanted)
    assert sums.mismatched == ()
    assert sums.scheduled >= wanted
    assert sums.delivered == sums.reached
    chance = KINDS[name].lands
    assert sums.reached or (chance is not None and chance * wanted < 10)


@pytest.mark.parametrize("name", KINDS)
def test_delivered_is_reached(name: str) -> None:
    check(name, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_delivered_is_reached_over_ten_thousand_events(name: str) -> None:
    check(name, MANY)
