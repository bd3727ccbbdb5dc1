"""The synthetic study: the same digits on any number of processes, near the paper, in its order."""

import json

import pytest

from hfr_bench.lab.synthetic.jobs import Run, changed, made_with, tallies
from hfr_bench.lab.synthetic.params import World, arms, world
from hfr_bench.lab.synthetic.render import lines
from hfr_bench.lab.synthetic.tables import TABLES, Size, study
from hfr_bench.lab.synthetic.targets import targets

QUICK = Size.of(2, 800)


def run(arm, rules="paper", tasks=3000, seed=1, here=None, **given):
    return Run(arm, (here or world()).dumps(), rules, seed, tasks, **given)


@pytest.fixture(scope="module")
def found():
    return study(TABLES, "paper", QUICK, "made here")


def test_one_process_and_two_find_the_same():
    runs = [run("HFR"), run("FixedRetry3", tasks=4321), run("HFR", seed=2)]
    assert tallies(runs, 1) == tallies(runs, 2)


def test_a_run_is_as_long_as_it_says_and_a_longer_one_begins_alike():
    short, long = tallies([run("NoRetry", tasks=777), run("NoRetry", tasks=4100)])
    assert (short.tasks, long.tasks) == (777, 4100)
    assert long.us[:777] == short.us


def test_every_table_is_there_and_most_cells_are_near(found):
    """A quick form of the judgement at full size: three times the bands, for the noise."""
    assert {cell.table for cell in found.cells} == set(TABLES)
    assert len(found.cells) == 8 * 11 + 3 * 5 + 4 * 5 + 2 * 3 * 4
    off = [cell for cell in found.cells if abs(cell.difference) > 3 * max(cell.band, 0.02)]
    assert not [cell for cell in off if cell.metric != "DUP"]


def test_the_order_of_the_arms_holds(found):
    noisy = ("within .1 pp", "16 to 19", "+.10")
    broken = [r.says for r in found.relations if not r.holds]
    assert not [says for says in broken if not any(word in says for word in noisy)]


def test_idempotent_arms_never_duplicate(found):
    dup = {c.arm: c.ours for c in found.cells if (c.table, c.metric) == ("12", "DUP")}
    assert {arm for arm, value in dup.items() if value} == {"FixedRetry3", "HFR-idempotency"}


def test_the_budget_never_binds_where_tasks_do_not_meet(found):
    assert all(abs(c.ours) < 0.2 for c in found.cells if c.table == "14" and c.arm == "HFR-budget")


def test_the_rules_change_what_is_charged_and_hardly_who_succeeds():
    paper, literal = (tallies([run("HFR", rules)])[0] for rules in ("paper", "literal"))
    assert literal.cost > 1.1 * paper.cost
    assert literal.attempts > 1.1 * paper.attempts
    assert abs(literal.succeeded - paper.succeeded) / paper.tasks < 0.02


def test_what_is_printed(found):
    text = "\n".join(lines(found))
    assert "made here" in text
    assert "U1" in text
    assert "known: steeper in the paper" in text
    assert "a fit, not a prediction" in text
    assert "OUTSIDE" not in text or found.outside
    assert text.count("inside their bands") == 1


def test_a_cell_outside_its_band_says_so(found):
    cell = found.cells[0].model_copy(update={"ours": 99.0})
    spoiled = found.model_copy(update={"cells": (cell,)})
    assert spoiled.outside == (cell,)
    assert "OUTSIDE" in "\n".join(lines(spoiled))


def test_known_cells_have_bands_of_their_own():
    goal = targets()
    assert goal.band("15", "DegradeOnly", 0.32, "SR", 34.46) == 3.0
    assert goal.band("15", "DegradeOnly", 0.05, "SR", 80.81) == 1.5
    assert goal.band("13", "HFR", None, "cost", 2.548) == pytest.approx(0.0892, abs=1e-4)


def test_parameters_survive_json_and_refuse_what_is_no_world():
    assert World.loads(world().dumps()) == world()
    with pytest.raises(ValueError, match="no 'fault_ratio'"):
        world().changed(fault_ratio=0.1)
    with pytest.raises(ValueError, match="add up to 1"):
        world().changed(steps={4: 0.5})


def test_settings_are_laid_over_an_arms_own():
    made = changed(arms()["HFR"], json.dumps({"circuit_breaker": {"enabled": True}}))
    assert made.config["circuit_breaker"] == {"enabled": True}
    assert made.config["degradation"] == arms()["HFR"].config["degradation"]


def test_the_digest_is_of_code_and_parameters():
    assert made_with() == made_with()
    assert made_with().startswith("Python 3.")
