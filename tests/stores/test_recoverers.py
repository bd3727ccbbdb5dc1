"""Two recoverers of one write: one effect, whatever lands when, whoever dies, whose lease ends.

R1 (keyed) and R2 (queryable) come to exactly one effect; R3 never to a second, and to a person
where its outcome is not known.
"""

import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from hfr_bench.model.terms import LedgerState, SideEffect
from hfr_bench.ports.ledger import Ledger
from hfr_bench.stores.memory import MemoryStore
from hfr_bench.stores.sqlite import SqliteStore
from hfr_bench.testing.recoverer import Recoverer, Request, SlowTool

R1, R2, R3 = SideEffect.IDEMPOTENT, SideEffect.QUERYABLE, SideEffect.IRREVERSIBLE
IN = (LedgerState.COMMITTED, LedgerState.RECONCILED_COMMITTED)


class TwoRecoverers(RuleBasedStateMachine):
    """The world of one write. `open_two`: two ledgers of one scope."""

    level: SideEffect

    @initialize()
    def begin(self) -> None:
        self.now_us = 0
        self.lives = 0
        self.tool = SlowTool(self.level, lambda: self.now_us)
        self.ledgers = self.open_two()
        self.recoverers: list[Recoverer] = []
        self.working: list[Iterator[str]] = []
        for ledger in self.ledgers:
            born = self.born(ledger)
            self.recoverers.append(born)
            self.working.append(born.work())

    def open_two(self) -> tuple[Ledger, Ledger]:
        store = MemoryStore()
        return store.open("tenant"), store.open("tenant")

    def born(self, ledger: Ledger) -> Recoverer:
        self.lives += 1
        return Recoverer(f"life {self.lives}", ledger, self.tool)

    @rule(who=st.sampled_from([0, 1]), steps=st.integers(1, 6))
    def work(self, who: int, steps: int) -> None:
        for _ in range(steps):
            next(self.working[who], None)
        self.nothing_twice()

    @rule(who=st.sampled_from([0, 1]), us=st.sampled_from([12, 40, 100]))
    def one_has_the_world_to_itself(self, who: int, us: int) -> None:
        """Its own requests land at once; what was under way before stays so while it may."""
        before = len(self.tool.requests)
        for _ in range(100):
            if self.recoverers[who].end:
                break
            next(self.working[who], None)
            for request in self.tool.requests[before:]:
                self.tool.land(request)
            self.now_us += us
        self.nothing_twice()

    @rule(us=st.sampled_from([1, 100, 301, 500, 999]))
    def time_passes(self, us: int) -> None:
        self.now_us += us

    @precondition(lambda self: self.tool.under_way())
    @rule(data=st.data(), answered=st.booleans())
    def a_request_lands(self, data: st.DataObject, answered: bool) -> None:
        self.tool.land(self.one(data), answered=answered)
        self.nothing_twice()

    @precondition(lambda self: self.tool.under_way())
    @rule(data=st.data())
    def a_request_is_lost(self, data: st.DataObject) -> None:
        self.tool.lose(self.one(data))

    def one(self, data: st.DataObject) -> Request:
        return data.draw(st.sampled_from(self.tool.under_way()))

    @precondition(lambda self: self.lives < 6)
    @rule(who=st.sampled_from([0, 1]))
    def one_dies_and_is_born_again(self, who: int) -> None:
        self.working[who].close()
        self.recoverers[who] = self.born(self.ledgers[who])
        self.working[who] = self.recoverers[who].work()

    def nothing_twice(self) -> None:
        assert len(self.tool.effects) <= 1
        if self.level is R3:
            assert len(self.tool.requests) <= 1

    def teardown(self) -> None:
        """From here on every request lands at once, and both come to an end."""
        if not hasattr(self, "tool"):
            return
        for _ in range(2000):
            if all(one.end for one in self.recoverers):
                break
            for working in self.working:
                next(working, None)
            for request in self.tool.under_way():
                self.tool.land(request)
            self.now_us += 50
        self.nothing_twice()
        self.judge()
        for ledger in self.ledgers:
            ledger.close()

    def judge(self) -> None:
        ends = {one.end for one in self.recoverers}
        entry = self.ledgers[0].get("k")
        assert entry is not None
        if self.level is R3 and "escalated" in ends:
            assert ends == {"escalated"}
            assert entry.state is LedgerState.UNKNOWN
        else:
            assert ends == {"committed"}
            assert entry.state in IN
            assert self.tool.effects == ["k"]


class OnSqlite:
    """Two connections to one file."""

    def open_two(self) -> tuple[Ledger, Ledger]:
        self.folder = tempfile.TemporaryDirectory()
        store = SqliteStore(Path(self.folder.name) / "l.db")
        return store.open("tenant"), store.open("tenant")

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "folder"):
            self.folder.cleanup()


def machine(level: SideEffect, *bases: type, examples: int) -> type:
    made = type("Machine", (*bases, TwoRecoverers), {"level": level})
    case = made.TestCase
    case.settings = settings(max_examples=examples, stateful_step_count=40, deadline=None)
    return case


TestKeyed = machine(R1, examples=60)
TestQueryable = machine(R2, examples=200)
TestIrreversible = machine(R3, examples=40)
TestKeyedOnSqlite = machine(R1, OnSqlite, examples=15)
TestQueryableOnSqlite = machine(R2, OnSqlite, examples=15)
TestIrreversibleOnSqlite = machine(R3, OnSqlite, examples=15)


class Told:
    """Two recoverers that do what a test tells them, one step at a time."""

    def __init__(self, level: SideEffect, settle_us: int = 1000) -> None:
        self.now_us = 0
        self.tool = SlowTool(level, lambda: self.now_us)
        store = MemoryStore()
        self.ledger = store.open("tenant")
        self.both = [Recoverer(name, self.ledger, self.tool, settle_us=settle_us) for name in "ab"]
        self.working = [one.work() for one in self.both]

    def until(self, who: int, what: str) -> None:
        """Let one work until it is about to do `what`, or has come to its end."""
        for about_to in self.working[who]:
            if about_to == what:
                return


def test_a_recoverer_whose_lease_ended_is_fenced_off_and_sees_what_the_other_did() -> None:
    told = Told(R1)
    told.until(0, "wait")
    told.tool.land(told.tool.requests[0])
    told.until(0, "write COMMITTED")  # and there it sleeps, past the end of its lease
    told.now_us = 500
    told.until(1, "wait")
    told.until(0, "lease")
    assert told.both[0].fenced == 1
    told.tool.land(told.tool.requests[1])
    told.until(1, "never")
    told.now_us = 1000
    told.until(0, "never")
    assert [one.end for one in told.both] == ["committed", "committed"]
    assert told.tool.effects == ["k"]
    entry = told.ledger.get("k")
    assert entry is not None
    assert (entry.state, entry.fencing) == (LedgerState.COMMITTED, 2)


def test_a_recoverer_that_wakes_up_after_its_lease_does_not_send() -> None:
    told = Told(R2)
    told.until(0, "send")
    told.now_us = 500
    told.until(1, "query")
    told.until(0, "lease")
    assert told.tool.requests == []


@pytest.mark.parametrize(("settle_us", "effects"), [(1000, 1), (0, 2)])
def test_a_settle_window_shorter_than_a_request_can_be_under_way_duplicates(
    settle_us: int, effects: int
) -> None:
    """The law can be broken: this is what the window is for."""
    told = Told(R2, settle_us)
    told.until(0, "wait")
    told.now_us = 600  # a's request is still under way; b finds nothing there
    for _ in range(20):
        next(told.working[1], None)
    assert len(told.tool.requests) == effects
    told.tool.land(told.tool.requests[0])
    for _ in range(40):
        next(told.working[1], None)
        for request in told.tool.under_way():
            told.tool.land(request)
        told.now_us += 100
    assert len(told.tool.effects) == effects


@pytest.mark.parametrize("level", [R1, R2])
@pytest.mark.parametrize("scenario", range(4))
def test_two_threads_on_one_file_make_one_effect(
    tmp_path: Path, level: SideEffect, scenario: int
) -> None:
    """Scenario: bit 0 = the first request's answer is lost, bit 1 = the first recoverer dies."""
    world = threading.RLock()
    clock = {"us": 0}
    tool = SlowTool(level, lambda: clock["us"])
    store = SqliteStore(tmp_path / "l.db")
    ends: dict[str, str] = {}

    def recover(name: str, dies: bool) -> None:
        ledger = store.open("tenant")
        one = Recoverer(name, ledger, tool)
        for about_to in one.work():
            with world:
                clock["us"] += 20
                for n, request in enumerate(list(tool.requests)):
                    late = clock["us"] - request.sent_us >= 200
                    if late and request in tool.under_way():
                        tool.land(request, answered=n > 0 or not scenario & 1)
            if dies and about_to == "wait":
                break
        ends[name] = one.end
        ledger.close()

    threads = [
        threading.Thread(target=recover, args=("a", bool(scenario & 2))),
        threading.Thread(target=recover, args=("b", False)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends["b"] == "committed"
    assert tool.effects == ["k"]
