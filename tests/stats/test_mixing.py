"""The best and the worst of a mix that is partly unknown, against a search of its corners."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.stats.mixing import Option, Part, Parts, fill, lowest

COST = st.integers(-5, 5).map(float)
TENTHS = st.integers(0, 10)


@st.composite
def boxes(draw):
    """Bounds in tenths whose lower ends do not exceed a whole, and costs."""
    size = draw(st.integers(1, 4))
    bounds, left = [], 10
    for _ in range(size):
        low = draw(st.integers(0, left))
        left -= low
        bounds.append((low, draw(st.integers(low, 10))))
    return bounds, draw(st.lists(COST, min_size=size, max_size=size))


@settings(max_examples=30)
@given(boxes())
def test_filling_up_finds_the_cheapest_of_all_ways(box):
    bounds, costs = box
    total = min(10, sum(high for _, high in bounds))
    ways = product(*(range(low, high + 1) for low, high in bounds))
    cheapest = min(
        sum(a * c for a, c in zip(way, costs, strict=True)) for way in ways if sum(way) == total
    )
    found = fill([(low, high) for low, high in bounds], costs, 10)
    assert sum(found) == total
    assert all(low <= a <= high for a, (low, high) in zip(found, bounds, strict=True))
    assert sum(a * c for a, c in zip(found, costs, strict=True)) == cheapest


def value(masses, effects):
    return sum(mass * effects[key] for (_, key), mass in masses.items())


KEYS = ("a", "b", "c/landed", "c/lost")
EFFECTS = st.fixed_dictionaries(dict.fromkeys(KEYS, COST))
RANGE = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(lambda ends: tuple(sorted(ends)))


@settings(max_examples=30)
@given(RANGE, RANGE, RANGE, EFFECTS, st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_nothing_within_what_is_known_lies_beyond_the_ends(
    amount, landed, share, effects, where, how, which
):
    """Any mix that agrees with the bounds lies between the two ends that are found."""
    parts = Parts(
        (
            Part(amount, (Option(("a",), share), Option(("b",), (0.0, 1.0)))),
            Part((0.3, 0.3), (Option(("c/landed", "c/lost"), (1.0, 1.0), landed),)),
        )
    )
    low = value(lowest(parts, lambda _, key: effects[key]), effects)
    high = value(lowest(parts, lambda _, key: -effects[key]), effects)

    def between(ends, at):
        return ends[0] + at * (ends[1] - ends[0])

    much, fraction, hits = between(amount, where), between(share, which), between(landed, how)
    some = much * (fraction * effects["a"] + (1 - fraction) * effects["b"])
    some += 0.3 * (hits * effects["c/landed"] + (1 - hits) * effects["c/lost"])
    assert low - 1e-9 <= some <= high + 1e-9


def test_shares_of_the_whole_add_up_and_the_overall_amount_is_bounded():
    parts = Parts(
        (
            Part((0.7, 0.7), (Option(("a",), (1.0, 1.0)),)),
            Part((0.0, 1.0), (Option(("b",), (1.0, 1.0)),)),
            Part((0.0, 1.0), (Option(("c/lost",), (1.0, 1.0)),)),
        ),
        whole=True,
        overall=(0.01, 0.02),
    )
    effects = {"a": 1.0, "b": -10.0, "c/lost": 3.0}
    low = lowest(parts, lambda _, key: effects[key])
    assert low == pytest.approx({(0, "a"): 0.014, (1, "b"): 0.006, (2, "c/lost"): 0.0})
    high = lowest(parts, lambda _, key: -effects[key])
    assert high == pytest.approx({(0, "a"): 0.014, (1, "b"): 0.0, (2, "c/lost"): 0.006})
