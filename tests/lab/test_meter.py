"""What an experiment costs, and the bound under which no trial starts that could break it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.lab.meter import CostMeter, spent
from hfr_bench.lab.store import Store
from hfr_bench.testing.experiments import COST, planned, write_all
from hfr_bench.testing.results import result

BOUND = 1000


def run_all(meter: CostMeter, costs: list[int], workers: int) -> int:
    """Trials of these costs, so many at a time; returns how many were started."""
    started, at_work = 0, []
    for cost in costs:
        if not meter.start():
            break
        started += 1
        at_work.append(cost)
        if len(at_work) == workers:
            meter.end(result(cost_microusd=at_work.pop(0)))
    for cost in at_work:
        meter.end(result(cost_microusd=cost))
    return started


@given(st.lists(st.integers(0, 300), max_size=40), st.integers(1, 5))
def test_with_a_registered_bound_a_trial_no_sum_ever_passes_the_bound(
    costs: list[int], workers: int
) -> None:
    meter = CostMeter(0, BOUND, each_microusd=300)
    started = run_all(meter, costs, workers)
    assert meter.spent_microusd <= BOUND
    assert (started == len(costs)) or meter.stopped


@given(st.integers(1, 300), st.integers(1, 4))
def test_without_one_equal_trials_pass_it_by_no_more_than_the_first_at_work(
    cost: int, workers: int
) -> None:
    meter = CostMeter(0, BOUND)
    run_all(meter, [cost] * 2000, workers)
    assert meter.stopped
    assert meter.spent_microusd <= max(BOUND, workers * cost)


def test_what_was_spent_before_counts() -> None:
    meter = CostMeter(BOUND, BOUND)
    assert not meter.start()
    assert "--max-cost-usd 0.001" in meter.stopped
    assert not meter.start()


def test_an_unknown_cost_stops_a_bounded_run_and_no_other() -> None:
    for bound, stopped in ((BOUND, True), (None, False)):
        meter = CostMeter(0, bound)
        assert meter.start()
        meter.end(result(cost_microusd=None))
        assert bool(meter.stopped) is stopped
        assert meter.start() is not stopped


@pytest.mark.parametrize("name", ["a.jsonl.part", "a.jsonl.interrupted-1", "a.jsonl.damaged-2"])
def test_interrupted_trials_have_cost_something_too(tmp_path: Path, name: str) -> None:
    plan = planned(tasks=1, rates=(0.0,))
    write_all(tmp_path, plan)
    store = Store(tmp_path)
    checked = [store.check(file) for file in store.files()]
    results = [one.result for one in checked if one.result]
    whole = spent(store, results)
    assert whole == sum(one.cost_microusd or 0 for one in results) > 0
    first = store.files()[0].path
    torn = b"\n".join(first.read_bytes().split(b"\n")[:-3]) + b'\n{"type":"attempt_ended", torn'
    first.with_name(name).write_bytes(torn)
    assert spent(store, results) == whole + 2 * COST
