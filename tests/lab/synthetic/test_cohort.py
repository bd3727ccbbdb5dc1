"""Cohorts: one clock, ties by task order, shared breakers and buckets, a queue that remembers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.lab.synthetic.cohort import MICRO, Blocks, Cohort, Tenant, Upstream, Window
from hfr_bench.lab.synthetic.crew import Crew
from hfr_bench.lab.synthetic.deal import odds
from hfr_bench.lab.synthetic.jobs import changed
from hfr_bench.lab.synthetic.params import MODEL, READ, arms, world
from hfr_bench.lab.synthetic.play import Play
from hfr_bench.lab.synthetic.stage import TimedStage

TASKS = (Tenant(1, 2.0, 60 * MICRO),)


def crew(arm="HFR", **overlay):
    return Crew(arm, changed(arms()[arm], json.dumps(overlay)), world(), world().rules["literal"])


def cohort(arm="HFR", tenants=TASKS, upstream=None, **overlay):
    made = Cohort(crew(arm, **overlay), odds(world()), 1, upstream or Upstream(1))
    made.run(tenants)
    return made


@pytest.mark.parametrize("arm", ["HFR", "FixedRetry3"])
def test_tasks_that_share_nothing_scarce_end_as_they_would_alone(arm):
    """With room for all and no breaker, a cohort is so many independent tasks."""
    together = {(one.began_us, one.us, one.good, one.cost) for one in cohort(arm).ended}
    alone = Cohort(crew(arm), odds(world()), 1, Upstream(1))
    one_by_one = set()
    from_us = sorted(one.began_us for one in cohort(arm).ended)
    for number, at_us in enumerate(from_us):
        play = Play(alone.crew, alone.odds, 1, TimedStage())
        play.start_us = at_us
        play.run(play.begin(*Blocks(alone.odds, 1).task(number)))
        good = play.finished and not play.bad and not play.escalated
        one_by_one.add((at_us, play.us, good, play.cost))
    assert together == one_by_one


def test_the_same_cohort_twice():
    slow = Upstream(1, 6.0, slow=(10 * MICRO, 20 * MICRO, 4.0))
    again = Upstream(1, 6.0, slow=(10 * MICRO, 20 * MICRO, 4.0))
    assert cohort(upstream=slow).ended == cohort(upstream=again).ended


def test_a_breaker_that_one_task_opens_is_open_for_the_next():
    down = (Window(0, 60 * MICRO, MODEL, 0, 1.0),)
    without, with_ = (
        cohort(upstream=Upstream(1, windows=down), circuit_breaker={"enabled": on})
        for on in (False, True)
    )
    assert with_.upstream.calls < 0.8 * without.upstream.calls


def test_a_tenants_budget_bounds_its_retries_and_nobody_elses():
    tenants = (Tenant(1, 2.0, 60 * MICRO), Tenant(2, 2.0, 60 * MICRO))
    none = {"retry": {"max_retries_per_tenant_per_min": 1}}
    free, bound = cohort(tenants=tenants), cohort(tenants=tenants, **none)
    for tenant in (1, 2):
        steps = [sum(o.attempts - o.steps for o in c.ended if o.tenant == tenant)
                 for c in (bound, free)]  # fmt: skip
        assert steps[0] < steps[1]
    assert bound._of_tenant.keys() == {1, 2}


def test_a_queue_makes_calls_wait_and_gives_up_on_none_of_the_work():
    line = Upstream(1, per_s=1.0, timeout_us=3 * MICRO)
    found = [line.meets(MODEL, 0, 0, 0, 500_000) for _ in range(5)]
    assert found[:3] == [(0, 500_000), (0, 1_500_000), (0, 2_500_000)]
    assert found[3:] == [(3, 3_000_000), (3, 3_000_000)]
    assert line.free_us == 5 * MICRO  # those who gave up are still worked on
    assert line.meets(MODEL, 1, 0, 0, 400_000) == (0, 400_000)
    assert line.meets(READ, 0, 0, 2, 400_000) == (2, 400_000)


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=40), st.floats(0.5, 50))
def test_the_queue_never_works_faster_than_it_can(gaps, per_s):
    line, now = Upstream(1, per_s=per_s, timeout_us=2**60), 0
    for gap in gaps:
        now += gap
        line.meets(MODEL, 0, now, 0, 0)
    assert line.free_us >= len(gaps) * MICRO / per_s - 1


def test_an_incident_hits_its_window_its_kind_and_its_level():
    line = Upstream(1, windows=(Window(10, 20, MODEL, 0, 1.0),))
    assert line.meets(MODEL, 0, 10, 0, 5) == (4, 5)
    assert [line.meets(*at, 0, 5)[0] for at in ((MODEL, 0, 20), (MODEL, 1, 15), (READ, 0, 15))] == [
        0, 0, 0,
    ]  # fmt: skip
