"""Delivered = reached, counted: every kind of the tool boundary and of the ledger, in-process.

No strategy: a walker that goes to every step and tries each until it is answered. The kinds of the
model's wire and between browser and site are counted over real HTTP (gateway/test_delivery.py,
web/test_delivery.py).
"""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from hfr_bench import content
from hfr_bench.faults.audit import KindSums, audit
from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.ledgers import DIALECT as LEDGER
from hfr_bench.injectors.tool_calls import DIALECT as TOOL
from hfr_bench.injectors.tool_calls import ToolCallInjector
from hfr_bench.lab.clock import VirtualClock
from hfr_bench.lab.ledger import FaultyLedger, LedgerDownError, open_ledger
from hfr_bench.lab.recorder import CRASH, TruthQueue, ledger_body
from hfr_bench.model.ledger import LedgerEntry, Reservation
from hfr_bench.model.schedule import FaultSchedule
from hfr_bench.model.terms import Layer, LedgerState
from hfr_bench.model.trace import FaultInjected, TraceEvent
from hfr_bench.ports.injector import Scene
from hfr_bench.testing.fakes import ListSink
from hfr_bench.testing.results import started
from hfr_bench.testing.shop import TOOLS
from hfr_bench.testing.walker import HORIZON, TOOL_US, TRIAL, Walker, schedules

ALL = content.kinds()
FEW, MANY = 200, 10_000
Trace = list[TraceEvent]


def by_tools(schedule: FaultSchedule) -> Trace:
    """A trial at the tool boundary."""
    walker = Walker(schedule, ToolCallInjector(ALL), ALL)
    walker.walk()
    told = [e.body for e in walker.sink.events if isinstance(e.body, FaultInjected)]
    assert walker.crashes == sum(body.kind == CRASH for body in told)
    return walker.sink.events


def by_ledger(schedule: FaultSchedule) -> Trace:
    """A trial in which every write is announced in the ledger; what fails is written down."""
    clock = VirtualClock()
    sink = ListSink(clock)
    truth = TruthQueue({event.injection_id: event for event in schedule.events})
    scene = Scene("t", Cursor(schedule.events, (Layer.TOOL,)), ALL, clock, truth.tell)
    ledger = FaultyLedger(open_ledger("t", "t"), scene)
    sink.write(started(TRIAL).body)
    writing = [tool for tool in TOOLS if tool.level.writes]
    for step, tool in enumerate([t for _ in range(HORIZON) for t in writing], 1):
        made = LedgerEntry(
            key=f"k{step}", stepless_key=f"s{step}", tenant="t", task_id="t", step=step,
            tool=tool.name, level=tool.level, state=LedgerState.PREPARED,
        )  # fmt: skip
        try:
            ledger.apply(Reservation(step=step), [made])
        except LedgerDownError as down:
            sink.write(down.body, step=step, attempt=1)
        else:
            sink.write(ledger_body(made, None), step=step, attempt=1)
        assert (ledger.get(made.key) is None) is (sink.events[-1].body.type == "decided")
    truth.drain(sink)
    return sink.events


ROADS: dict[str, Callable[[FaultSchedule], Trace]] = {TOOL: by_tools, LEDGER: by_ledger}
COUNTED = {
    name: next(ROADS[dialect] for dialect in kind.wire if dialect in ROADS)
    for name, kind in ALL.items()
    if set(kind.wire) & set(ROADS)
}


def found_of(name: str, wanted: int) -> KindSums:
    """The sums of as many trials as schedule so many events."""
    total = [0, 0, 0]
    wrong: list[str] = []
    for schedule in drawn(name):
        found = audit(COUNTED[name](schedule), schedule, ALL, tool_latency_us=TOOL_US)
        for one in found.sums.values():
            total = [a + b for a, b in zip(total, one[:3], strict=True)]
            wrong += one.mismatched
        wrong += [*found.failed, *found.untrue]
        if total[0] >= wanted or len(wrong) > 3:
            break
    return KindSums(total[0], total[1], total[2], tuple(wrong))


def drawn(name: str) -> Iterator[FaultSchedule]:
    """Schedules that hold this kind; where it fits nowhere, there are none to be found."""
    empty = count()
    for schedule in schedules([name], ALL):
        if schedule.events:
            yield schedule
        else:
            assert next(empty) < 100, f"{name} fits no point of the shop"


def check(name: str, wanted: int) -> None:
    sums = found_of(name, wanted)
    assert sums.mismatched == ()
    assert sums.scheduled >= wanted
    assert sums.delivered == sums.reached
    chance = ALL[name].lands
    assert sums.reached or (chance is not None and chance * wanted < 10)


def test_every_kind_is_counted() -> None:
    """Here, at the model's wire, or (what is done to a container) with the sandboxes."""
    elsewhere = {name for name, kind in ALL.items() if kind.layer is Layer.MODEL}
    elsewhere |= {name for name in ALL if name.startswith(("env_", "web_"))}
    assert set(COUNTED) | elsewhere == set(ALL)
    assert not set(COUNTED) & elsewhere


@pytest.mark.parametrize("name", COUNTED)
def test_delivered_is_reached(name: str) -> None:
    check(name, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTED)
def test_delivered_is_reached_over_ten_thousand_events(name: str) -> None:
    check(name, MANY)
