"""Quantities: what is read as what, and how far two may lie apart. Parity: test_official.py."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.suites.webarena import quantities as q


@pytest.mark.parametrize(
    ("read", "value", "found"),
    [
        (q.number, "1,234.5", 1234.5),
        (q.number, "twenty three", 23.0),
        (q.boolean, "yes", True),
        (q.boolean, 0, False),
        (q.money, "$1,234.50", Decimal("1234.50")),
        (q.money, "-$5", Decimal(-5)),
        (q.money, "1,234", Decimal("1.234")),
        (q.money, "free", Decimal(0)),
        (q.metres, "1.4 km", Decimal(1400)),
        (q.metres, "110k", Decimal(110_000)),
        (q.seconds, "1hr 35min", 5700.0),
        (q.seconds, "01:33:00", 5580.0),
        (q.seconds, "1:35 hours", 5700.0),
        (q.month, "Sept", "September"),
        (q.month, "03", "March"),
        (q.date, "march 2nd, 2022", "2022-03-02"),
        (q.date, "13/3/2022", "2022-03-13"),
        (q.date, "2023-05-31t10:00:00", "2023-05-31"),
        (q.coordinates, {"lat": "1", "lng": 2}, (1.0, 2.0)),
        (q.coordinates, "40.5, -79.5", (40.5, -79.5)),
    ],
)
def test_readings(read, value, found):
    assert read(value) == found


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (q.number, "x"),
        (q.boolean, "maybe"),
        (q.money, "5%"),
        (q.metres, "5"),
        (q.metres, "5 parsecs"),
        (q.seconds, "5"),
        (q.seconds, "soon"),
        (q.month, "13"),
        (q.month, 1.5),
        (q.date, "may"),
        (q.date, "32 may 2023"),
        (q.date, ""),
        (q.coordinates, "91, 0"),
        (q.coordinates, {"lat": 1}),
    ],
)
def test_what_is_none(read, value):
    with pytest.raises(ValueError, match=r"."):
        read(value)


@given(st.decimals(0, 10**6, places=2), st.decimals(0, 10**6, places=2))
def test_sameness_is_mutual(one, other):
    for same in (q.same_money, q.same_distance):
        assert same(one, other) is same(other, one)
        assert same(one, one)
    assert q.same_duration(float(one), float(other)) is q.same_duration(float(other), float(one))


def test_how_far_apart():
    assert q.same_money(Decimal(1), Decimal("1.1"))
    assert not q.same_money(Decimal(1), Decimal("1.11"))
    assert q.same_distance(Decimal(1000), Decimal(1020))
    assert not q.same_distance(Decimal(100), Decimal(111))
    assert q.same_duration(0, 180)
    assert not q.same_duration(3600, 4010)
    assert not q.same_place((1, 1), (1, 1.0001))
