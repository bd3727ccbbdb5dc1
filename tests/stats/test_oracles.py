"""statsmodels as an oracle. It takes seconds to import, so that only `make test-slow` asks it."""

from importlib import import_module

import numpy as np
import pytest

from hfr_bench.stats.exact import clopper_pearson
from hfr_bench.stats.multiplicity import holm
from hfr_bench.stats.power import Aim, power_for, tasks_for
from hfr_bench.stats.signflip import sign_flip

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(scope="module")
def of():
    return lambda module: import_module(f"statsmodels.stats.{module}")


def test_holm(of):
    rng = np.random.default_rng(1)
    for size in (1, 2, 7, 20):
        ps = rng.random(size).round(2) ** 3
        assert holm(list(ps)) == pytest.approx(of("multitest").multipletests(ps, method="holm")[1])


@pytest.mark.parametrize(("wins", "losses"), [(8, 0), (15, 4), (70, 41)])
def test_sign_flips_of_single_trials_are_mcnemars_test(of, wins, losses):
    found = sign_flip([1] * wins + [-1] * losses, "k").two_sided
    table = [[50, wins], [losses, 30]]
    assert found == pytest.approx(of("contingency_tables").mcnemar(table, exact=True).pvalue)


@pytest.mark.parametrize(("events", "n"), [(1, 10), (9, 600), (599, 600)])
def test_exact_bounds(of, events, n):
    wanted = of("proportion").proportion_confint(events, n, 0.05, "beta")
    assert clopper_pearson(events, n, 0.95) == pytest.approx(wanted)


def test_power_of_paired_means(of):
    """One-sample z: `ratio=0`."""
    solve = of("power").NormalIndPower().solve_power
    wanted = solve(0.25, alpha=0.05 / 7, power=0.9, ratio=0)
    assert tasks_for(0.5, 2.0, Aim(0.9, 0.05 / 7)) == np.ceil(wanted)
    wanted = solve(0.25, nobs1=90, alpha=0.05, ratio=0)
    assert power_for(0.5, 2.0, 90, 0.05) == pytest.approx(wanted)
