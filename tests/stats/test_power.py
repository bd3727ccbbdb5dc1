"""Power against published tables, simulation, and its own inverse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from hfr_bench.stats.power import (
    Aim,
    Spread,
    binary_sd,
    effect_for,
    exact_power,
    pilot,
    power_for,
    rate_for,
    spread,
    tasks_for,
    tasks_for_rare,
    worth,
)

HOLM_7 = Aim(alpha=0.05 / 7)


@pytest.mark.parametrize(
    ("sd", "tasks", "aim", "pp"),
    [(0.571, 200, Aim(), 11.3), (0.337, 200, Aim(), 6.7), (0.337, 200, HOLM_7, 8.4),
     (0.337, 600, Aim(), 3.9), (0.267, 600, HOLM_7, 3.9)],
)  # fmt: skip
def test_detectable_effects_are_the_published_ones(sd, tasks, aim, pp):
    assert effect_for(tasks, sd, aim) * 100 == pytest.approx(pp, abs=0.06)


@pytest.mark.parametrize(
    ("sd", "aim", "tasks"),
    [(0.571, Aim(), 1024), (0.337, Aim(), 357), (0.337, HOLM_7, 567), (0.267, Aim(), 224)],
)
def test_tasks_for_five_points_are_the_published_ones(sd, aim, tasks):
    assert tasks_for(0.05, sd, aim) == pytest.approx(tasks, rel=0.01)


@pytest.mark.parametrize(("pairs", "power"), [(100, 0.008), (200, 0.141), (300, 0.43), (600, 0.95)])
def test_exact_power_is_the_published_one(pairs, power):
    assert exact_power(0.0175, 0.0, pairs, 0.05) == pytest.approx(power, abs=0.005)


def test_exact_power_is_the_sum_over_all_tables():
    n, b, w = 14, 0.5, 0.1
    total = 0.0
    for d in range(n + 1):
        for wins in range(d + 1):
            if d and binomtest(wins, d).pvalue <= 0.05:
                total += binom.pmf(d, n, b + w) * binom.pmf(wins, d, b / (b + w))
    assert exact_power(b, w, n, 0.05) == pytest.approx(total)


@given(st.floats(0.01, 1), st.floats(0.01, 3), st.floats(0.5, 0.99))
def test_size_effect_and_power_are_each_others_inverse(effect, sd, power):
    aim = Aim(power)
    tasks = tasks_for(effect, sd, aim)
    assert tasks is not None
    assert effect_for(tasks, sd, aim) <= effect * (1 + 1e-6)
    assert power_for(effect, sd, tasks, aim.alpha) >= power - 1e-6
    if tasks > 2:
        assert effect_for(tasks - 1, sd, aim) > effect * (1 - 1e-6)


def test_rare_counts_and_their_inverse():
    aim = Aim()
    tasks = tasks_for_rare(0.0175, 0.0, 3, 0.0, aim)
    assert exact_power(0.0175, 0.0, worth(tasks, 3, 0.0), 0.05) >= 0.8
    assert exact_power(0.0175, 0.0, worth(tasks - 5, 3, 0.0), 0.05) < 0.8
    assert rate_for(tasks, 0.0, 3, 0.0, aim) == pytest.approx(0.0175, rel=0.02)
    # Seeds that repeat each other add nothing.
    alike = tasks_for_rare(0.0175, 0.0, 3, 1.0, aim)
    assert alike == tasks_for_rare(0.0175, 0.0, 1, 0.0, aim)


def test_a_pilots_parts_are_found():
    rng = np.random.default_rng(1)
    centres = rng.normal(0.2, 0.5, 4000)
    made = {f"t{n}": list(rng.normal(c, 1.0, 3)) for n, c in enumerate(centres)}
    found = pilot(made)
    assert found.spread.between == pytest.approx(0.5, rel=0.1)
    assert found.spread.within == pytest.approx(1.0, rel=0.03)
    assert found.mean == pytest.approx(0.2, abs=0.05)
    means = np.array([np.mean(v) for v in made.values()])
    assert found.spread.of(3) == pytest.approx(means.std(ddof=1), rel=0.001)
    assert found.spread.icc == pytest.approx(0.2, rel=0.15)


def test_a_binary_pilot():
    made = {"a": [1, 0, 0], "b": [0, -1, 0], "c": [1, 1, 0], "d": [0, 0, 0]}
    found = pilot(made)
    assert (found.tasks, found.seeds, found.better, found.worse) == (4, 3, 3 / 12, 1 / 12)


def test_simulated_power_is_the_computed_one():
    """Binary pairs alike within tasks, tested by their task means."""
    rng = np.random.default_rng(3)
    part = spread(0.6, 0.25)
    draws = rng.normal(0.1, part.between, (4000, 150, 1)) + rng.normal(
        0, part.within, (4000, 150, 3)
    )
    means = draws.mean(axis=2)
    t = means.mean(axis=1) / (means.std(axis=1, ddof=1) / np.sqrt(150))
    rejected = (np.abs(t) > 1.976).mean()  # t with 149 degrees of freedom
    assert power_for(0.1, part.of(3), 150, 0.05) == pytest.approx(rejected, abs=0.025)


def test_poor_input():
    assert tasks_for(0.0, 1.0, Aim()) is None
    assert tasks_for(1e-9, 1.0, Aim()) is None
    assert tasks_for(0.1, 0.0, Aim()) == 2
    assert power_for(0.1, 0.0, 5, 0.05) == 1.0
    assert exact_power(0.0, 0.0, 100, 0.05) == exact_power(0.1, 0.0, 0, 0.05) == 0.0
    assert tasks_for_rare(0.1, 0.1, 3, 0.0, Aim()) is None
    assert rate_for(2, 0.0, 1, 0.0, Aim()) is None
    assert Spread(0.0, 0.0).icc == 0.0
    same = pilot({"a": [0, 0], "b": [0, 0]})
    assert same.spread.of(3) == 0.0
    assert pilot({"a": [1], "b": [0]}).spread.within == 0.0
    for few in ({}, {"a": [1, 0]}, {"a": [1], "b": []}):
        with pytest.raises(ValueError, match="two tasks"):
            pilot(few)
    for better, worse in ((-0.1, 0.2), (0.6, 0.6)):
        with pytest.raises(ValueError, match="discordant"):
            binary_sd(better, worse)
    assert binary_sd(0.1, 0.1) == pytest.approx(0.2**0.5)
