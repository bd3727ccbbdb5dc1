"""`hfr-bench power`: figures of stated variances, of a pilot, and bad input in words."""

import json

import pytest

from hfr_bench.cli.main import run
from hfr_bench.errors import BadInputError
from hfr_bench.lab.pilot import piloted
from hfr_bench.lab.register import Experiment
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import outcome, result


@pytest.fixture
def power(capsys):
    """What `power` prints, and how it ends."""

    def call(*arguments):
        code = run(["power", *arguments])
        told = capsys.readouterr()
        return code, told.out + told.err

    return call


def told(power, *arguments):
    code, text = power(*arguments, "--json")
    assert code == 0
    return json.loads(text)


def test_a_binary_metric(power):
    found = told(power, "--discordant", "0.19", "0.14", "--seeds", "1", "--tasks", "200")
    assert found["effect"] == pytest.approx(0.05)
    assert found["sd"] == pytest.approx(0.5723, abs=1e-4)
    assert found["tasks"] == 1029
    (line,) = found["table"]
    assert line["detectable"] == pytest.approx(0.1134, abs=1e-4)
    assert 0 < line["power"] < 0.8


def test_more_seeds_and_claims(power):
    one = told(power, "--sd", "2", "--effect", "0.5", "--seeds", "1")
    three = told(power, "--sd", "2", "--effect", "0.5", "--icc", "0")
    alike = told(power, "--sd", "2", "--effect", "0.5", "--icc", "1")
    seven = told(power, "--sd", "2", "--effect", "0.5", "--seeds", "1", "--claims", "7")
    assert three["tasks"] < one["tasks"] == alike["tasks"] < seven["tasks"]
    assert three["sd"] == pytest.approx(2 / 3**0.5)


def test_a_rare_count(power):
    found = told(power, "--rare", "0", "0.0175", "--seeds", "1", "--tasks", "600", "--tasks", "2")
    assert found["table"][0]["power"] == pytest.approx(0.95, abs=0.005)
    assert found["table"][1] == {"tasks": 2, "detectable": None, "power": 0.0}
    assert 400 < found["tasks"] < 500


def test_text(power):
    code, text = power("--sd", "1")
    assert code == 0
    assert "detectable" in text
    assert "a difference of" not in text
    assert "no number of tasks will do" in power("--discordant", "0.1", "0.1")[1]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "where the variance comes from"),
        (("--sd", "1", "--rare", "0", "0.1"), "where the variance comes from"),
        (("--discordant", "0.7", "0.6"), "more than 1 together"),
        (("--rare", "0", "0.1", "--effect", "1"), "leave it out"),
        (("--from", "nowhere"), "--arm and --against"),
        (("--from", "nowhere", "--arm", "a", "--against", "b"), "nowhere"),
        (("--sd", "-1"), "-1"),
    ],
)
def test_bad_input_is_told(power, arguments, why):
    code, text = power(*arguments)
    assert code == 2
    assert why in text


@pytest.fixture
def experiment(tmp_path):
    plan = planned(("a", "b"), tasks=2, rates=(0.0, 0.1))
    return Experiment(tmp_path, plan.prereg, plan.lock, plan.rows, None)


def trials(arm, wins, cost=1000):
    return [
        result(arm, f"t{n // 3}", n % 3, of=outcome(success=bool(won)), cost_microusd=cost)
        for n, won in enumerate(wins)
    ]


def test_a_pilot_by_task(experiment):
    results = [*trials("a", [1, 1, 0, 1, 1, 1]), *trials("b", [1, 0, 0, 1, 1, 1])]
    found = piloted(experiment, results, ("a", "b"), "sr", None)
    assert (found.tasks, found.seeds, found.mean) == (2, 3, pytest.approx(1 / 6))
    assert piloted(experiment, results, ("b", "a"), "sr", 0.1).mean == pytest.approx(-1 / 6)


@pytest.mark.parametrize(
    ("arms", "metric", "rate", "why"),
    [
        (("a", "x"), "sr", None, "no arm 'x'; there are: a, b"),
        (("a", "a"), "sr", None, "two arms"),
        (("a", "b"), "cps", None, "power is told of sr, "),
        (("a", "b"), "sr", 0.3, "there are: 0, 0.1"),
        (("a", "b"), "cost_mean", None, "is unknown"),
        (("a", "b"), "sr", 0.0, "needs two at least"),
        (("a", "b"), "sr", None, "differs alike in all pairs of 2 tasks"),
    ],
)
def test_a_poor_pilot_is_told(experiment, arms, metric, rate, why):
    results = [*trials("a", [1] * 6, cost=None), *trials("b", [0] * 6)]
    with pytest.raises(BadInputError, match=why):
        piloted(experiment, results, arms, metric, rate)


@pytest.mark.tau2
def test_a_real_pilot(finished, power):
    asked = ("--arm", "hfr", "--against", "no_retry", "--metric", "cost_mean")
    found = told(power, "--from", str(finished), *asked, "--effect", "1000", "--tasks", "40")
    assert found["pilot_tasks"] >= 2
    assert found["unit"] == "microusd"
    assert found["table"][0]["tasks"] == 40
    code, text = power("--from", str(finished), *asked)
    assert code == 0
    assert "pilot of" in text


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--sd", "nan"), "--sd: must be a finite number"),
        (("--sd", "1", "--effect", "inf"), "--effect: must be a finite number"),
        (("--discordant", "nan", "0.1"), "--discordant: must be a finite number"),
        (("--rare", "0", "nan"), "--rare: must be a finite number"),
        (("--sd", "1", "--icc", "nan"), "--icc: must be a finite number"),
        (("--sd", "0"), "--sd: must be above 0"),
        (("--discordant", "0", "0"), "no pair would differ"),
    ],
)
def test_no_spread_and_no_number_are_refused(power, arguments, why):
    code, text = power(*arguments)
    assert code == 2
    assert why in text
    assert "nan" not in text.replace("--", "")
