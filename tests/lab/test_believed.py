"""What was injected, and what it was taken for: by attempt, the first class that is named."""

import pytest

from hfr_bench.faults.audit import Meeting
from hfr_bench.lab.believed import belief_rows, believed
from hfr_bench.lab.rendering.tables_beliefs import by_arm, together
from hfr_bench.model.findings import BeliefRow
from hfr_bench.model.terms import Action, FaultClass
from hfr_bench.model.trace import Decided, TraceEvent
from hfr_bench.testing.results import answered, fault, sent, timed_out

MODEL, LOOK = "model:agent", "reconcile:book"


def trace(*bodies):
    return [TraceEvent(trial_id="x", seq=n, t_us=0, body=b) for n, b in enumerate(bodies, 1)]


def decided(name=None, action=Action.RETRY):
    return Decided(on="Attempted", action=action, fault_class=name)


def met(last, kind="busy"):
    return Meeting(fault(kind, MODEL), last - 1, last)


T3, T4 = FaultClass.TIMEOUT, FaultClass.OVERLOAD


def test_the_first_class_before_the_next_attempt_counts():
    events = trace(
        sent(MODEL), timed_out(), decided(T3), decided(T4),
        sent(MODEL), timed_out(), decided(), sent(MODEL), answered(), decided(T4),
    )  # fmt: skip
    found = believed(events, [met(1), met(5)])
    assert found == (("", "", "T4", 1), ("model", "busy", "", 1), ("model", "busy", "T3", 1))


def test_a_fault_after_which_nothing_is_decided_was_not_named():
    assert believed(trace(sent(MODEL), timed_out()), [met(1)]) == (("model", "busy", "", 1),)


def test_faults_of_calls_made_for_the_strategy_are_not_the_agents():
    look = sent(LOOK).model_copy(update={"purpose": "reconcile"})
    events = trace(sent(MODEL), timed_out(), decided(T3), look, timed_out(), decided(T4))
    assert believed(events, [met(1), met(4, "lost")]) == (("model", "busy", "T3", 1),)
    prepared = trace(sent(MODEL), answered(), look, timed_out(), decided(T4), sent(MODEL))
    assert believed(prepared, [met(3, "lost")]) == ()


def test_nothing_injected_and_nothing_named_is_nothing():
    assert believed(trace(sent(MODEL), answered(), decided()), []) == ()


def test_arms_that_never_name_a_class_are_left_out():
    rows = belief_rows(
        ["a", "b"],
        [("a", (("tool", "lost", "T3", 2),)), ("b", (("tool", "lost", "", 2),)),
         ("a", (("tool", "lost", "", 1), ("tool", "lost", "T3", 1)))],
    )  # fmt: skip
    assert [(r.arm, r.believed, r.n) for r in rows] == [("a", "", 1), ("a", "T3", 3)]


@pytest.fixture
def told(report):
    rows = [("busy", "model", "hfr", "T4", 5), ("busy", "model", "no_retry", "", 2),
            ("busy", "model", "no_retry", "T2", 1), ("", "", "hfr", "V1", 3)]  # fmt: skip
    names = ("kind", "layer", "arm", "believed", "n")
    beliefs = tuple(BeliefRow(**dict(zip(names, row, strict=True))) for row in rows)
    return report.model_copy(update={"beliefs": beliefs})


def test_the_table_crosses_kinds_with_classes(told):
    table = together(told)
    assert table.header == ("Kind", "T2", "T4", "V1", "None", "Attempts")
    assert [[cell.main for cell in row] for row in table.rows] == [
        ["busy", "1", "5", "0", "2", "8"],
        ["(nothing injected)", "0", "0", "3", "-", "3"],
    ]
    assert [t.title.split(" | ")[0] for t in by_arm(told)] == [
        "Injected, and taken for: no_retry", "Injected, and taken for: hfr",
    ]  # fmt: skip


def test_without_beliefs_there_is_none(report):
    assert together(report) is None
    assert by_arm(report) == ()
