"""What freezing says can be shown of each hypothesis: by stats.power, from named variances."""

import pytest
from scipy.stats import norm

from hfr_bench.lab.powered import SHARE_SD, claims, notes, told
from hfr_bench.model.prereg import Cohorts, FaultPlan, Hypothesis
from hfr_bench.model.registered import Powering, Variance
from hfr_bench.model.terms import Origin
from hfr_bench.stats.power import exact_power, worth
from hfr_bench.testing.experiments import planned

BASE = {"metric": "sr", "arm": "hfr", "against": "no_retry", "direction": "greater"}


def registered(*given, variances=(), target=0.8, **fields):
    made = [Hypothesis.model_validate({"id": f"H{n}"} | BASE | one) for n, one in enumerate(given)]
    power = Powering(target=target, variances=variances)
    good = {"origin": Origin.LIVE, "rates": (0.0, 0.1), "hypotheses": tuple(made), "power": power}
    return planned(**good | fields).prereg


def one(given=(), tasks=200, **fields):
    return claims(registered(dict(given), **fields), (tasks,))[0]


STATED = (Variance(metric="sr", sd=0.5, icc=0, source="x"),)


def test_a_stated_sd_gives_the_textbooks_effect():
    found = one(variances=STATED)
    assert found.method == "normal"
    reach = norm.ppf(0.975) + norm.ppf(0.8)
    assert found.detectable == pytest.approx(0.5 * reach / 200**0.5)


@pytest.mark.slow
def test_a_stated_sd_gives_what_statsmodels_gives():
    power = pytest.importorskip("statsmodels.stats.power")  # takes seconds to import
    # Paired differences are one sample: two of which the other one is infinite.
    oracle = power.NormalIndPower(ddof=0).solve_power(nobs1=200, alpha=0.05, power=0.8, ratio=0)
    assert one(variances=STATED).detectable == pytest.approx(0.5 * oracle, rel=1e-3)


def test_seeds_and_pooled_rates_help_against_what_lies_within_a_task_only():
    alike = Variance(metric="sr", sd=0.5, icc=1, source="x")
    apart = Variance(metric="sr", sd=0.5, icc=0, source="x")
    three = {"seeds": (1, 2, 3), "rates": (0.0, 0.1, 0.2)}
    assert one(**three).pairs == 6
    assert one({"rate": 0.1}, **three).pairs == 3
    least = {v.icc: one(variances=(v,), **three).detectable for v in (alike, apart)}
    assert least[0] == pytest.approx(least[1] / 6**0.5)


def test_discordant_shares_are_an_sd_in_the_unit_of_the_metric():
    share = Variance(metric="sr", discordant=(0.2, 0.2), source="x")
    rate = Variance(metric="dup_1000", discordant=(0.2, 0.2), source="x")
    assert one(variances=(share,)).sd == pytest.approx(0.4**0.5)
    assert one({"metric": "dup_1000"}, variances=(rate,)).sd == pytest.approx(1000 * 0.4**0.5)


@pytest.mark.parametrize("metric", ["dup_any", "dup_1000", "harm_1000", "late"])
def test_rare_harm_is_exact_without_anything_registered(metric):
    found = one({"metric": metric, "direction": "less"})
    scale = 1000 if metric.endswith("1000") else 1
    assert found.method == "exact"
    assert found.basis.startswith("default")
    least = found.detectable / scale
    assert exact_power(least, 0.0, worth(200, 1, 0.3), 0.05) >= 0.8
    assert exact_power(0.98 * least, 0.0, worth(200, 1, 0.3), 0.05) < 0.8


def test_success_has_a_default_that_is_named_and_money_has_none():
    assert one().sd == SHARE_SD
    assert one().basis == "default"
    money = one({"metric": "cost_mean", "direction": "less"})
    assert money.detectable is None
    assert "register power.variances" in money.note
    assert "cost_mean" in told(money)


def test_holm_divides_the_error_within_a_family_only():
    prereg = registered({}, {"metric": "csr"}, {"metric": "scr", "family": 2})
    assert [claim.alpha for claim in claims(prereg, (200,))] == pytest.approx([0.025, 0.025, 0.05])


def test_margins_below_the_detectable_effect_are_flagged():
    small, large = one({"margin": -0.01}), one({"margin": -0.3})
    assert (small.underpowered, large.underpowered) == (True, False)
    assert "UNDERPOWERED" in told(small)
    assert one({"margin": 0.01}).underpowered is False
    same = one({"direction": "equal", "margin": 0.12})
    assert same.detectable > one().detectable  # two margins must be cleared at once


def test_cohorts_are_the_units_where_they_are_larger():
    found = one(cohorts=Cohorts(size=10))
    assert found.tasks == 20
    assert found.pairs == 10


def test_too_few_pairs_show_nothing_and_say_so():
    found = one({"metric": "dup_any"}, tasks=3)
    assert found.detectable is None
    assert "show no difference at all" in found.note


def test_designs_whose_trials_are_not_drawn_are_left_out():
    none = registered({}).model_copy(update={"faults": FaultPlan(design="none")})
    assert claims(none, (200,)) == ()


def test_the_notes_name_what_is_too_small():
    much = Variance(metric="sr", sd=0.9, icc=0.9, source="x")
    prereg = registered({"margin": -0.01}, variances=(much,))
    said = list(notes(prereg, (("a", 300), ("b", 50)), claims(prereg, (300, 50))))
    assert said[0] == "below protocol: 50 tasks of b, the protocol asks for 200"
    assert "underpowered: H0 has the margin 0.01" in said[1]
    assert "asks for 500 tasks" in said[2]
    calm = registered({}, variances=(Variance(metric="sr", sd=0.3, source="x"),))
    assert list(notes(calm, (("a", 200),), claims(calm, (200,)))) == []
