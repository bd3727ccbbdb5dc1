"""Delivered = reached, counted: every kind of the web proxy, over real HTTP with a real site.

No strategy: a walker that goes from page to page, and tries each until it is answered.
"""

from itertools import count

import pytest

from hfr_bench import content
from hfr_bench.faults.audit import TrialAudit
from hfr_bench.faults.generate import Draw, generate
from hfr_bench.faults.web import fault_points
from hfr_bench.model.matrix import FaultMatrix, Mix
from hfr_bench.model.schedule import FaultSchedule

KINDS = {name: kind for name, kind in content.kinds().items() if "web" in kind.wire}
FEW, MANY = 40, 10_000
HORIZON, CALLS = 8, 6


def drawn(name: str, seed: int, routes) -> FaultSchedule:
    matrix = FaultMatrix(name="one", mixes=(Mix(points=("web:*", "site:*"), kinds={name: 1.0}),))
    draw = Draw("web", "t", seed, "p", 0.5)
    calls = HORIZON * CALLS if name == "web_refused" else HORIZON  # its steps are all calls
    return generate(draw, fault_points(routes), matrix, KINDS, calls)


def walked(trial, shop, schedule: FaultSchedule) -> TrialAudit:
    now = trial(*schedule.events)
    for n in range(1, HORIZON + 1):
        now.call("login", name=f"ann{n}", tries=9)
        now.call("goto", path="/account", tries=9)
        now.call("goto", path="/", tries=9)
        now.call("goto", path="/new", tries=9)
        now.call("add", tries=9)
        if shop.state.items:
            shop.state.items[0] = {"title": f"number {n}"}  # so that a page can be stale
            now.call("goto", path="/items/1", tries=9)
    return now.end()


def check(trial, shop, name: str, wanted: int) -> None:
    scheduled = reached = 0
    for seed in count(1):
        found = walked(trial, shop, drawn(name, seed, shop.routes))
        assert (found.failed, found.untrue) == ((), ())
        for sums in found.sums.values():
            assert sums.mismatched == ()
            assert sums.delivered == sums.reached
            scheduled, reached = scheduled + sums.scheduled, reached + sums.reached
        if scheduled >= wanted:
            break
    assert reached


@pytest.mark.parametrize("name", KINDS)
def test_delivered_is_reached(trial, shop, name):
    check(trial, shop, name, FEW)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", KINDS)
def test_delivered_is_reached_over_ten_thousand_events(trial, shop, name):
    check(trial, shop, name, MANY)
