"""From episodes to a registered arm: tasks are held out, origins are not mixed, values are told."""

from pathlib import Path

import pytest
import yaml

from hfr_bench.errors import BadInputError
from hfr_bench.lab.learning import EMPTY, Worth, learn, learned, lines, plain, snippet
from hfr_bench.model.prereg import Arm, Equipment
from hfr_bench.model.terms import Origin
from hfr_bench.stats.offpolicy import Choice, Episode
from hfr_bench.testing.bundled import ready

ARM = Arm(
    name="explore",
    strategy="hfr-learned",
    config={"learned": {"explore": 1}, "retries_per_task": 5},
    equipment=Equipment(ledger=True),
)
SOURCES = {("mine", "a" * 64): Origin.REHEARSAL}


def episodes(tasks=30):
    for number in range(tasks * 4):
        action = ("ESCALATE", "RETRY")[number // tasks % 2]
        one = Choice("T1/model/0/medium", action, ("ESCALATE", "RETRY"), "RETRY", 0.5)
        yield Episode(f"s/t{number % tasks}", (one,), 1.0 if action == "RETRY" else -0.3)


@pytest.fixture
def found():
    return learned(list(episodes()), ARM, SOURCES, Worth())


def test_the_tasks_of_the_table_are_not_those_of_its_value(found):
    assert found.learned_from + found.values["chance"].episodes == 120
    assert found.learned_from % 4 == found.values["chance"].episodes % 4 == 0  # whole tasks
    assert found.table == {"T1/model/0/medium": {"ESCALATE": pytest.approx(-0.3), "RETRY": 1.0}}
    assert found.values["table"].mean == found.values["rules"].mean == 1.0
    assert found.values["chance"].mean == pytest.approx(0.35)


def test_the_arm_can_be_registered_as_it_is_written(found):
    (entry,) = yaml.safe_load(snippet(found))
    arm = Arm.model_validate(entry)
    assert (arm.name, arm.strategy, arm.equipment) == ("hfr-learned", "hfr-learned", ARM.equipment)
    assert arm.config == {"retries_per_task": 5, "learned": {"table": found.table}}
    assert EMPTY not in snippet(found)
    assert "# Learned by hfr-bench from" in snippet(found)
    assert "rehearsal episodes of: mine aaaaaaaaaaaa" in snippet(found)


def test_values_say_what_they_rest_on(found):
    assert lines(found)[2].startswith("rules                  +1.000")
    assert f"tasks, effectively {found.values['rules'].effective:.0f}" in lines(found)[2]
    assert "  none: all alike  " in lines(found)[2]  # every episode that went its way earned 1
    assert plain(found)["worth"] == {"harm": 1.0, "human": 0.3}


def test_a_policy_that_nobody_tried_has_no_value():
    only = [one for one in episodes() if one.choices[0].action == "ESCALATE"]
    found = learned(only, ARM, SOURCES, Worth())
    assert found.table == {}
    assert f"# {EMPTY}\n" in snippet(found)
    assert "no episode went its way" in lines(found)[2]


def test_too_few_tasks():
    with pytest.raises(BadInputError, match="1 tasks are too few to learn from some"):
        learned(list(episodes(tasks=1)), ARM, SOURCES, Worth())


def test_nobody_explored(tmp_path: Path):
    toy = ready(tmp_path / "e").experiment
    with pytest.raises(BadInputError, match="no arm explored: register one with"):
        learn([toy.path], Worth())
