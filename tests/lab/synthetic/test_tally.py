"""What a run came to: the paper's metrics, and sums that do not care how the run was cut."""

import pytest

from hfr_bench.lab.synthetic.crew import Crew
from hfr_bench.lab.synthetic.deal import BLOCK, deal, odds
from hfr_bench.lab.synthetic.params import arms, world
from hfr_bench.lab.synthetic.play import Play
from hfr_bench.lab.synthetic.stage import Stage
from hfr_bench.lab.synthetic.tally import METRICS, Tally, merged


class Over:
    """A task that is over."""

    def __init__(self, **given):
        told = {"finished": True, "bad": False, "escalated": False, "degraded": False,
                "duplicates": 0, "cost": 1_000_000, "us": 1_000_000, "attempts": 1000}  # fmt: skip
        self.__dict__.update(told | given)


def tally(*plays):
    made = Tally()
    for play in plays:
        made.add(play)
    return made


def test_metrics_by_hand():
    found = tally(
        Over(),
        Over(duplicates=2),
        Over(bad=True, degraded=True),
        Over(finished=False, escalated=True, us=11_000_000, cost=3_000_000),
    )
    assert found.silent == 1
    told = found.metrics()
    assert told.keys() == METRICS.keys()
    assert (told["SR"], told["CSR"], told["SCR"], told["ESC"], told["DEG"]) == (50, 25, 50, 25, 25)
    assert (told["DUP"], told["cost"], told["CPS"], told["att"]) == (500, 1.5, 3.0, 1.0)
    assert told["p95n"] == 1.0 < told["p95"]


def test_an_escalated_task_is_no_success_even_if_it_was_finished():
    assert tally(Over(escalated=True)).metrics()["SR"] == 0


def test_an_escalation_after_a_duplicate_is_not_safe():
    assert tally(Over(finished=False, escalated=True, duplicates=1)).metrics()["SCR"] == 0


def test_where_nothing_succeeds_a_success_has_no_price():
    assert tally(Over(bad=True)).metrics()["CPS"] == float("inf")


@pytest.mark.parametrize("cut", [0, 1, 250, BLOCK])
def test_parts_add_up_to_the_whole(cut):
    crew, chances = Crew("HFR", arms()["HFR"], world(), world().rules["paper"]), odds(world())
    play, parts, whole = Play(crew, chances, 2, Stage()), (Tally(), Tally()), Tally()
    tasks = deal(chances, 2, 0)
    for number in range(BLOCK):
        play.run(play.begin(tasks, number))
        parts[number >= cut].add(play)
        whole.add(play)
    assert merged(parts) == whole
