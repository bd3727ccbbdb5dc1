"""Off-policy values: by hand, against plain simulation, and where there is nothing to say."""

import numpy as np
import pytest

from hfr_bench.stats.offpolicy import (
    Choice,
    Episode,
    by_rules,
    by_table,
    evaluate,
    fit,
    weight,
)

OPTIONS = ("ESCALATE", "RETRY")


def choice(action="RETRY", p=0.5, context="c", rules="ESCALATE"):
    return Choice(context, action, OPTIONS, rules, p)


def episode(earned, *choices, task="t"):
    return Episode(task, choices, earned)


def test_by_hand():
    episodes = [
        episode(1.0, choice("RETRY", 0.25)),
        episode(0.0, choice("RETRY", 0.5)),
        episode(0.5, choice("ESCALATE", 0.75)),
        episode(0.2),  # nothing to choose: every policy goes that way
    ]
    retry = by_table({"c": {"RETRY": 1.0, "ESCALATE": 0.0}})
    assert [weight(one, retry) for one in episodes] == [4, 2, 0, 1]
    value = evaluate(episodes, retry)
    assert value.mean == pytest.approx((4 * 1 + 2 * 0 + 1 * 0.2) / 7)
    assert value.effective == pytest.approx(49 / 21)
    assert (value.matched, value.episodes, value.tasks) == (3, 4, 1)
    assert (value.low, value.high) == (None, None)  # one task says nothing of others
    assert evaluate(episodes, by_rules).mean == pytest.approx((0.5 / 0.75 + 0.2) / (1 / 0.75 + 1))


def test_where_no_episode_went_its_way():
    value = evaluate([episode(1.0, choice("RETRY"))], by_rules)
    assert (value.mean, value.low, value.matched, value.effective) == (None, None, 0, 0.0)


def test_a_table_that_knows_no_option_leaves_it_to_the_rules():
    assert by_table({})(choice()) == "ESCALATE"
    assert by_table({"c": {"REPLAN": 9.0}})(choice()) == "ESCALATE"
    assert by_table({"other": {"RETRY": 9.0}})(choice()) == "ESCALATE"
    assert by_table({"c": {"RETRY": 0.1}})(choice()) == "RETRY"


def world(n, p, seed):
    """Episodes with two choices in a row; retrying pays in `good`, and does not in `bad`."""
    chance = np.random.default_rng(seed)
    for number in range(n):
        choices, earned = [], 0.0
        for context in ("good", "bad"):
            action = "RETRY" if chance.random() < p else "ESCALATE"
            likely = p if action == "RETRY" else 1 - p
            choices.append(choice(action, likely, context))
            if action == "RETRY":
                earned += chance.random() < (0.8 if context == "good" else 0.1)
            else:
                earned += chance.random() < 0.4
        yield Episode(f"t{number % 40}", tuple(choices), float(earned))


@pytest.mark.parametrize("p", [0.5, 0.2])
def test_what_is_learned_is_right_and_its_worth_too(p):
    episodes = list(world(4000, p, seed=1))
    table = fit(episodes)
    assert table["good"]["RETRY"] > table["good"]["ESCALATE"]
    assert table["bad"]["RETRY"] < table["bad"]["ESCALATE"]
    fresh = list(world(4000, p, seed=2))
    for policy, worth in ((by_table(table), 0.8 + 0.4), (by_rules, 0.8)):
        value = evaluate(fresh, policy)
        assert value.low < value.mean < value.high
        assert value.mean == pytest.approx(worth, abs=0.08)


def test_intervals_hold_what_they_promise():
    policy = by_table({"good": {"RETRY": 1.0, "ESCALATE": 0}, "bad": {"ESCALATE": 1.0, "RETRY": 0}})
    values = [evaluate(list(world(400, 0.5, seed)), policy, resamples=400) for seed in range(100)]
    inside = sum(value.low <= 1.2 <= value.high for value in values)
    assert 87 <= inside <= 100


def test_rare_actions_and_lone_ones_are_left_out():
    many = [episode(1.0, choice("RETRY")) for _ in range(20)]
    few = [episode(0.0, choice("ESCALATE")) for _ in range(9)]
    assert fit(many + few) == {}
    assert fit([*many, *few, episode(0.0, choice("ESCALATE"))]) == {
        "c": {"ESCALATE": 0.0, "RETRY": 1.0}
    }


def test_the_same_seed_gives_the_same_interval():
    episodes = list(world(200, 0.5, seed=3))
    assert evaluate(episodes, by_rules, seed=1) == evaluate(episodes, by_rules, seed=1)
    assert evaluate(episodes, by_rules, seed=1) != evaluate(episodes, by_rules, seed=2)
