"""A cohort at work: one clock, state handed on, and every trial with its own limits."""

from pathlib import Path
from typing import Any

import pytest

from hfr_bench.lab.clock import VirtualClock
from hfr_bench.lab.execute import _played, _units
from hfr_bench.lab.joint import Joint, broken_chains, cohort_rows, joint
from hfr_bench.lab.rederive import disagreements
from hfr_bench.lab.standing import Job
from hfr_bench.lab.together import Together
from hfr_bench.lab.trial import InterruptedTrialError
from hfr_bench.model.attempt import Decision, StrategyEvent
from hfr_bench.model.prereg import Cohorts
from hfr_bench.model.shared import SharedView
from hfr_bench.model.terms import End
from hfr_bench.model.trace import Carried, CircuitMoved, TraceEvent, TrialStarted, Withheld
from hfr_bench.model.trial import PlanRow, TrialResult
from hfr_bench.ports.sandbox import HostDiedError
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.strategies import BlindResend
from hfr_bench.testing.bench import FakeBench, FakeScope, planned_row
from hfr_bench.testing.rig import fault

ALWAYS = tuple(fault("busy", "tool:add_order", n, n=9) for n in range(1, 9))
"""The shop takes no order."""


class Tight(Hfr):
    """Opens at the second failure, and has few retries a minute."""

    def __init__(self, config: Any, kit: Any) -> None:
        trip = {"consecutive_failures": 2, "cooldown_ms": 300_000}
        super().__init__({"circuit_breaker": trip, "retry": config}, kit)


class Poor(Hfr):
    """Two retries a minute for its tenant; no breaker that could open."""

    def __init__(self, _: Any, kit: Any) -> None:
        trip = {"enabled": False}
        few = {"max_retries_per_tenant_per_min": 1}
        super().__init__({"circuit_breaker": trip, "retry": few}, kit)


def rows(arm: str, n: int = 3, tenants: tuple[str, ...] = ("default",)) -> list[PlanRow]:
    made = []
    for place in range(1, n + 1):
        trial = planned_row(arm).trial
        tenant = tenants[(place - 1) % len(tenants)]
        update = {"trial_id": f"t{place}", "position": place, "tenant": tenant}
        made.append(PlanRow(order=place, trial=trial.model_copy(update=update)))
    return made


Ran = list[tuple[TrialResult, list[TraceEvent]]]


def play(folder: Path, bench: FakeBench, planned: list[PlanRow]) -> Ran:
    """One cohort, as the executor's worker runs it."""
    jobs = [Job(row, 1, folder / f"{row.trial.trial_id}.jsonl") for row in planned]
    scope: Any = FakeScope(bench)
    done = list(_played(scope, jobs, "process"))
    return [(one, traced(job.path)) for one, job in zip(done, jobs, strict=False)]


def traced(path: Path) -> list[TraceEvent]:
    return [TraceEvent.loads(line) for line in path.read_bytes().splitlines()]


def bench(strategy: Any = Tight, **fields: Any) -> FakeBench:
    cohorts = fields.pop("cohorts", {"size": 3})
    return FakeBench(strategies={"hfr": strategy}, cohorts=cohorts, **fields)


def bodies(events: list[TraceEvent], kind: type) -> list[Any]:
    return [event.body for event in events if isinstance(event.body, kind)]


def test_the_clock_goes_on_and_each_trial_has_its_own_time(tmp_path: Path) -> None:
    ran = play(tmp_path, bench(), rows("hfr"))
    ends = [events[-1].t_us for _, events in ran]
    starts = [bodies(events, TrialStarted)[0].cohort.start_us for _, events in ran]
    assert starts == [0, *ends[:-1]]
    assert {result.latency_us for result, _ in ran} == {ends[0]}
    assert all(result.outcome and result.outcome.succeeded for result, _ in ran)
    for row, (_, events) in zip(rows("hfr"), ran, strict=True):
        assert not [t for t in _disagreements(events, row) if "arm" not in t]


def _disagreements(events: list[TraceEvent], row: PlanRow) -> tuple[str, ...]:
    return disagreements(events, row.trial, FakeBench().prereg.human)


def test_deadlines_and_bounds_count_from_the_trials_own_start(tmp_path: Path) -> None:
    late = bench(cohorts={"size": 3, "every_s": 600.0}, limits={"max_time_s": 300})
    ran = play(tmp_path, late, rows("hfr"))
    starts = [events[0].t_us for _, events in ran]
    assert starts == [0, 600_000_000, 1_200_000_000]  # the shop's deadline is 600 s
    assert all(r.outcome and r.outcome.in_time and r.outcome.succeeded for r, _ in ran)


def test_a_place_that_is_late_already_begins_at_once() -> None:
    clock = VirtualClock()
    together = Together(Cohorts(size=3, every_s=10), clock)
    second = rows("hfr")[1].trial
    assert together.due_in_us(second) == 10_000_000
    clock.wait(25_000_000)
    assert together.due_in_us(second) == 0


def test_an_interrupt_ends_the_waiting_for_a_place_in_real_time(tmp_path: Path) -> None:
    stopped = bench(clock="wall", cohorts={"size": 2, "every_s": 3600.0})
    stopped.interrupted.set()
    with pytest.raises(InterruptedTrialError):
        play(tmp_path / "stopped", stopped, rows("hfr", 2))


def test_a_breaker_that_one_trial_opened_keeps_the_next_ones_calls_back(tmp_path: Path) -> None:
    ran = play(tmp_path, bench(faults=ALWAYS), rows("hfr"))
    opened = [bodies(events, CircuitMoved) for _, events in ran]
    assert [body.state for body in opened[0]].count("open") >= 1
    carried = bodies(ran[0][1], Carried)[0].shared
    assert carried["breaker"]
    assert bodies(ran[1][1], TrialStarted)[0].cohort.shared == carried
    held = bodies(ran[1][1], Withheld)
    assert held
    assert {body.why for body in held} == {"breaker"}
    alone = play(tmp_path / "alone", bench(faults=ALWAYS, cohorts={"size": 3, "shares": ["pool"]}),
                 rows("hfr"))  # fmt: skip
    assert alone[1][0].attempts > ran[1][0].attempts
    assert [r.attempts for r, _ in alone] == [alone[0][0].attempts] * 3


def test_a_tenant_that_has_used_up_its_retries_is_refused_and_its_neighbour_is_not(
    tmp_path: Path,
) -> None:
    once = (fault("busy", "tool:add_order", 1),)
    ran = play(tmp_path, bench(Poor, faults=once), rows("hfr", 2))
    assert [len(bodies(events, Withheld)) for _, events in ran] == [0, 1]
    assert bodies(ran[1][1], Withheld)[0].scope == "tenant:default"
    two = play(tmp_path / "two", bench(Poor, faults=once), rows("hfr", 2, ("a", "b")))
    assert [len(bodies(events, Withheld)) for _, events in two] == [0, 0]
    later = bench(Poor, faults=once, cohorts={"size": 2, "every_s": 61.0})
    waited = play(tmp_path / "later", later, rows("hfr", 2))
    assert [len(bodies(events, Withheld)) for _, events in waited] == [0, 0]


def test_a_strategy_that_shares_nothing_behaves_as_alone(tmp_path: Path) -> None:
    again = rows("blind_resend", 2)
    ran = play(tmp_path, bench(faults=ALWAYS), again)
    assert [bodies(events, Carried)[0].shared for _, events in ran] == [{}, {}]
    assert ran[0][0].attempts == ran[1][0].attempts
    assert not bodies(ran[0][1], CircuitMoved)


def test_a_void_ends_the_cohort_and_an_earlier_start_of_it_is_set_aside(tmp_path: Path) -> None:
    calls: list[int] = []

    class Dying:
        needs_oracle = False

        def run(self, *_: Any) -> None:
            calls.append(1)
            if len(calls) == 2:
                raise HostDiedError("gone")

    (tmp_path / "t3.jsonl").write_text("of an earlier start\n")
    ran = play(tmp_path, bench(agent=Dying), rows("hfr"))
    assert [result.void is not None for result, _ in ran] == [False, True]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "t1.jsonl",
        "t2.jsonl",
        "t3.jsonl.interrupted-1",
    ]


def test_a_worker_does_a_cohort_in_one_go(tmp_path: Path) -> None:
    two = [row.model_copy(update={"trial": row.trial.model_copy(update={"cohort_id": "y"})})
           for row in rows("hfr", 2)]  # fmt: skip
    jobs = [Job(row, 1, tmp_path) for row in (*rows("hfr", 3), *two)]
    assert [len(unit) for unit in _units(jobs)] == [3, 2]


# -- strangers --------------------------------------------------------------------------------


class Counting(BlindResend):
    """Shares how many decisions it has made, under a part it may, and one it may not."""

    def begin_with(self, shared: dict[str, Any]) -> dict[str, Any]:
        return {"n": shared.get("pool", 0)}

    def decide(self, state: Any, event: StrategyEvent) -> tuple[Any, Decision]:
        _, decision = super().decide(state, event)
        return {"n": state.get("n", 0) + 1}, decision

    def carry(self, state: Any) -> dict[str, Any]:
        return {"pool": state["n"], "other": 1}

    def commons(self, state: Any, now_us: int) -> SharedView:
        return SharedView()


class BreaksOnCarry(Counting):
    def carry(self, state: Any) -> dict[str, Any]:
        return {"pool": {1, 2}}


class BreaksOnBegin(Counting):
    def begin_with(self, shared: dict[str, Any]) -> dict[str, Any]:
        raise KeyError("pool")


def test_only_registered_parts_are_handed_on(tmp_path: Path) -> None:
    shared = {"size": 3, "shares": ["pool"]}
    ran = play(tmp_path, bench(Counting, cohorts=shared), rows("hfr", 2))
    first, second = (bodies(events, Carried)[0].shared for _, events in ran)
    assert first.keys() == {"pool"}
    assert second["pool"] == 2 * first["pool"]


def test_a_defect_in_handing_on_leaves_nothing_and_says_so(tmp_path: Path) -> None:
    ran = play(tmp_path, bench(BreaksOnCarry, cohorts={"shares": ["pool"]}), rows("hfr", 2))
    for result, events in ran:
        (left,) = bodies(events, Carried)
        assert (left.shared, left.problem[:25]) == ({}, "carry raised TypeError: O")
        assert result.outcome is not None
        assert result.outcome.end is End.ACCEPTED


def test_a_defect_in_beginning_is_the_strategys_failure_and_no_void(tmp_path: Path) -> None:
    ((result, _),) = play(tmp_path, bench(BreaksOnBegin), rows("hfr", 1))
    assert result.outcome is not None
    assert (result.outcome.end, "KeyError" in result.outcome.reason) == (End.FAILED, True)


# -- what the traces say ----------------------------------------------------------------------


@pytest.fixture
def whole(tmp_path: Path) -> list[tuple[PlanRow, Joint]]:
    """A cohort of three in which a breaker opened, as its traces have it."""
    planned = rows("hfr")
    ran = play(tmp_path, bench(faults=ALWAYS, cohorts={"size": 3, "every_s": 5.0}), planned)
    found = [joint(events) for _, events in ran]
    return [(row, one) for row, one in zip(planned, found, strict=True) if one is not None]


REGISTERED = bench(cohorts={"size": 3, "every_s": 5.0}).prereg


def test_what_was_run_is_one_chain_and_is_summed_up(whole: list[tuple[PlanRow, Joint]]) -> None:
    assert list(broken_chains(REGISTERED, whole)) == []
    (row,) = cohort_rows(REGISTERED, whole)
    assert (row.arm, row.trials, row.cohort) == ("hfr", 3, 1)
    assert row.openings >= 1
    assert row.began_open == 2
    assert row.kept_back > 0
    assert row.lasted_us == whole[-1][1].end_us
    assert cohort_rows(FakeBench().prereg, whole) == ()


@pytest.mark.parametrize(
    ("place", "change", "told"),
    [
        (1, {"start_us": 1}, "its cohort is at"),
        (1, {"began": {}}, "begins with another breaker"),
        (1, {"handed": None}, "says nothing"),
        (0, {"handed": {"breaker": "another"}}, "begins with another breaker"),
        (0, {"end_us": 0}, "its cohort is at"),
        (0, {"start_us": 7}, "its cohort is at 0"),
    ],
)
def test_a_chain_that_is_not_one_is_told(
    whole: list[tuple[PlanRow, Joint]], place: int, change: dict[str, Any], told: str
) -> None:
    row, share = whole[place]
    whole[place] = (row, share._replace(**change))
    assert any(told in text for text in broken_chains(REGISTERED, whole))


def test_a_trial_outside_cohorts_has_no_share() -> None:
    assert joint([]) is None
    assert list(broken_chains(FakeBench().prereg, [(planned_row(), None)])) == []
    assert any(broken_chains(REGISTERED, [(rows("hfr")[0], None)]))
