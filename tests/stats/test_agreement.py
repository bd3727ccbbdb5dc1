"""Agreement against worked examples and a library; weighted shares against their laws."""

from collections import Counter
from fractions import Fraction

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.stats.agreement import alpha, kappa, raw_agreement, weighted_share
from hfr_bench.stats.exact import clopper_pearson, share_interval

LEVEL, SEED = 0.95, 7
ANSWERS = st.sampled_from(["yes", "no", "perhaps"])
PAIRS = st.lists(st.tuples(ANSWERS, ANSWERS), min_size=2, max_size=40)

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), example C: four observers,
# twelve units, missing values. Nominal alpha is 0.743.
OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def pairs_of(yy, yn, ny, nn):
    cells = {("yes", "yes"): yy, ("yes", "no"): yn, ("no", "yes"): ny, ("no", "no"): nn}
    return [pair for pair, count in cells.items() for _ in range(count)]


def units_of(observers):
    return [[None if v == "." else v for v in unit] for unit in zip(*observers, strict=True)]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ((20, 5, 10, 15), 0.4),  # two readers of 50 proposals
        ((45, 15, 25, 15), 0.1304),  # as much raw agreement as the next, and less than chance's
        ((25, 35, 5, 35), 0.2593),
    ],
)
def test_kappa_of_textbook_tables(cells, expected):
    found = kappa(pairs_of(*cells), LEVEL, SEED)
    assert found.value == pytest.approx(expected, abs=5e-5)
    assert found.interval.low < expected < found.interval.high


def test_alpha_of_krippendorff_s_own_example():
    assert alpha(units_of(OBSERVERS), LEVEL, SEED).value == pytest.approx(0.743, abs=5e-4)


def test_a_rare_answer_makes_kappa_low_where_most_agree():
    pairs = pairs_of(5, 9, 8, 78)
    assert raw_agreement(pairs) == 0.83
    assert kappa(pairs, LEVEL, SEED).value == pytest.approx(0.27, abs=0.01)


@settings(max_examples=25, deadline=None)
@given(PAIRS)
def test_kappa_is_cohen_s_definition_in_exact_arithmetic(pairs):
    found = kappa(pairs, LEVEL, SEED)
    if len({answer for pair in pairs for answer in pair}) == 1:
        assert (found.value, found.why) == (None, "only one answer was given")
        return
    n = len(pairs)
    seen = Fraction(sum(first == second for first, second in pairs), n)
    ours, theirs = Counter(first for first, _ in pairs), Counter(second for _, second in pairs)
    chance = sum((Fraction(ours[kind] * theirs[kind], n * n) for kind in ours), Fraction())
    assert found.value == pytest.approx(float((seen - chance) / (1 - chance)), abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(ANSWERS | st.none(), min_size=3, max_size=3), min_size=1, max_size=30))
def test_alpha_is_that_of_krippendorff_s_package(units):
    found = alpha(units, LEVEL, SEED)
    paired = [u for u in units if sum(v is not None for v in u) > 1]
    if len({v for u in paired for v in u if v is not None}) < 2:
        assert found.value is None
        assert found.why
        return
    codes = {"yes": 1.0, "no": 2.0, "perhaps": 3.0, None: np.nan}
    data = np.array([[codes[v] for v in unit] for unit in units]).T
    expected = krippendorff.alpha(reliability_data=data, level_of_measurement="nominal")
    assert found.value == pytest.approx(expected, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(PAIRS)
def test_who_comes_first_does_not_matter(pairs):
    turned = [(second, first) for first, second in pairs]
    for coefficient in (kappa, alpha):
        ours, theirs = coefficient(pairs, LEVEL, SEED), coefficient(turned, LEVEL, SEED)
        assert ours.value == pytest.approx(theirs.value, nan_ok=True)


@pytest.mark.parametrize("coefficient", [kappa, alpha])
def test_what_is_undefined_is_said(coefficient):
    assert coefficient([], LEVEL, SEED).why
    everybody = coefficient(pairs_of(9, 0, 0, 0), LEVEL, SEED)
    assert everybody == (None, (None, None), "only one answer was given")
    once = coefficient(pairs_of(40, 1, 0, 0), LEVEL, SEED)
    assert once.why == "too one-sided for an interval"
    assert once.interval == (None, None)


@pytest.mark.parametrize("coefficient", [kappa, alpha])
def test_perfect_agreement_is_no_certainty(coefficient):
    found = coefficient(pairs_of(31, 0, 0, 9), LEVEL, SEED)
    assert found == (1.0, (None, None), "no disagreement was seen")


def test_lone_values_pair_nothing():
    assert alpha([["yes", None], [None, "no"]], LEVEL, SEED).why == "nothing was judged twice"
    with_lone = [["yes", "yes"], ["no", "no"], ["yes", "no"], ["no", None]]
    assert alpha(with_lone, LEVEL, SEED) == alpha(with_lone[:3], LEVEL, SEED)


def test_intervals_are_the_same_every_time_and_cover():
    pairs = pairs_of(20, 5, 10, 15)
    assert kappa(pairs, LEVEL, SEED) == kappa(pairs, LEVEL, SEED)
    wide, narrow = kappa(pairs, 0.99, SEED).interval, kappa(pairs, 0.5, SEED).interval
    assert wide.low < narrow.low < narrow.high < wide.high
    truth, rng = 0.4, np.random.default_rng(3)
    covered = 0
    for _ in range(60):
        drawn = rng.multinomial(120, [0.4, 0.1, 0.2, 0.3])
        low, high = kappa(pairs_of(*drawn), LEVEL, SEED).interval
        covered += low <= truth <= high
    assert covered >= 52


# -- weighted shares --------------------------------------------------------------------------


def test_equal_weights_are_no_weights():
    hits = [n % 4 == 0 for n in range(40)]
    found = weighted_share(hits, [9.5] * 40, [f"t{n}" for n in range(40)], LEVEL)
    assert found.value == pytest.approx(0.25)
    plain = share_interval(np.array(hits, dtype=float), np.ones(40), LEVEL)
    assert found.interval == pytest.approx(plain)


def test_nothing_seen_bounds_by_what_the_weights_leave():
    weights = [1.0] * 10 + [10.0] * 10
    found = weighted_share([False] * 20, weights, [f"t{n}" for n in range(20)], LEVEL)
    kish = sum(weights) ** 2 / sum(w * w for w in weights)
    assert found.effective_n == pytest.approx(kish)
    assert found.interval == pytest.approx(clopper_pearson(0, kish, LEVEL))
    assert found.value == 0


def test_trials_of_one_task_tell_less():
    hits = [True] * 10 + [False] * 30
    apart = weighted_share(hits, [1.0] * 40, [f"t{n}" for n in range(40)], LEVEL)
    alike = weighted_share(hits, [1.0] * 40, [f"t{n // 10}" for n in range(40)], LEVEL)
    assert alike.value == apart.value
    assert alike.effective_n < apart.effective_n
    assert alike.interval.high > apart.interval.high


def test_without_a_trial_nothing_is_known():
    assert weighted_share([], [], [], LEVEL) == (None, (None, None), 0.0)


SAMPLE = st.lists(
    st.tuples(st.booleans(), st.floats(0.5, 20), st.sampled_from("abcdefgh")),
    min_size=1, max_size=40,
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(SAMPLE, st.floats(0.1, 50))
def test_only_ratios_of_weights_count(sample, factor):
    hits, weights, tasks = zip(*sample, strict=True)
    found = weighted_share(hits, weights, tasks, LEVEL)
    scaled = weighted_share(hits, [w * factor for w in weights], tasks, LEVEL)
    assert found.value == pytest.approx(scaled.value)
    assert found.effective_n == pytest.approx(scaled.effective_n)
    assert found.effective_n <= len(sample) + 1e-9
    low, high = found.interval
    assert low - 1e-9 <= found.value <= high + 1e-9


def test_a_rater_of_one_answer_is_told_apart_from_agreement():
    """44 times alike, 9 times not; kappa is 0 in every resample, which no agreement is."""
    found = kappa(pairs_of(44, 9, 0, 0), LEVEL, SEED)
    assert found == (0.0, (None, None), "too one-sided for an interval")
