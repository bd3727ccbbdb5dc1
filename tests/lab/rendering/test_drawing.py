"""Drawings: every text on the paper and none on another, round values, and what a mark says."""

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.lab.rendering.drawing import GAP, ROOM, SIZE, Dot, Mark, Scale, forest, plane, wide

NAMES = st.text("abcxyzmw_+.-019", min_size=1, max_size=64)
AMOUNTS = st.floats(0, 1e9).map(lambda value: value if value > 1e-6 else 0.0)
SHARES = st.floats(0, 100)


@st.composite
def marks(draw):
    value = draw(AMOUNTS) - draw(AMOUNTS)
    bounds = draw(st.none() | st.just((value - draw(AMOUNTS), value + draw(AMOUNTS))))
    return Mark(draw(NAMES), value, bounds, draw(st.booleans()), "")


@st.composite
def dots(draw):
    x, y = draw(AMOUNTS), draw(SHARES)
    x_bounds = draw(st.none() | st.just((0.5 * x, 1.5 * x)))
    y_bounds = draw(st.none() | st.just((0.5 * y, y)))
    harm = draw(st.integers(0, 10_000))
    return Dot(draw(NAMES), x, y, x_bounds, y_bounds, harm, 10_000, draw(st.booleans()))


def boxes(svg):
    """Left, right, top, bottom of every text, by the widths that a drawing reckons with."""
    for text in ET.fromstring(svg).iter("text"):
        x, y, width = float(text.get("x")), float(text.get("y")), wide(text.text)
        left = {"end": x - width, "mid": x - 0.5 * width}.get(text.get("class").split()[0], x)
        yield left, left + width, y - 0.8 * SIZE, y + 0.2 * SIZE, text.text


def well_laid(svg):
    _, _, width, height = map(float, ET.fromstring(svg).get("viewBox").split())
    found = list(boxes(svg))
    for left, right, top, bottom, text in found:
        assert left >= -1, text
        assert right <= width + 1, text
        assert top >= -1, text
        assert bottom <= height + 1, text
    for number, (left, right, top, bottom, text) in enumerate(found):
        for other_left, other_right, other_top, other_bottom, other in found[:number]:
            apart = right <= other_left + 1 or other_right <= left + 1
            assert apart or bottom <= other_top + 1 or other_bottom <= top + 1, (text, other)


@settings(max_examples=30)
@given(st.lists(marks(), min_size=1, max_size=20))
def test_no_text_of_a_forest_is_cut_or_lies_on_another(rows):
    well_laid(forest(rows, "Cost $ modelled"))


@settings(max_examples=30)
@given(st.lists(dots(), min_size=1, max_size=20))
def test_no_text_of_a_plane_is_cut_or_lies_on_another(points):
    well_laid(plane(points, points[:2], "Cost $ modelled of a trial"))


@given(st.floats(-1e9, 0), st.floats(1e-6, 1e9), st.floats(200, 400))
def test_values_on_an_axis_are_round_and_stand_apart(low, high, length):
    scale = Scale(low, high, 100.0, 100.0 + length)
    found = scale.ticks()
    assert found
    for value, text in found:
        assert low <= value <= high
        assert float(text) == pytest.approx(value)
        assert len(text.strip("-0.").replace(".", "").rstrip("0")) <= 4
        assert scale.at(value) - 0.5 * wide(text) >= 100.0 - ROOM
    for (one, text), (other, _) in pairwise(found):
        assert scale.at(other) - scale.at(one) >= wide(text) + 0.99 * GAP


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.0, 0.13, ["0.00", "0.05", "0.10"]),
        (-27.0, 80.0, ["-20", "0", "20", "40", "60", "80"]),
        (-3.1, 10.1, ["-2.5", "0.0", "2.5", "5.0", "7.5", "10.0"]),
        (0.0, 1.3e6, ["0", "500000", "1000000"]),
    ],
)
def test_the_values_on_an_axis(low, high, texts):
    assert [text for _, text in Scale(low, high, 0.0, 220.0).ticks()] == texts


def test_a_scale_leads_from_end_to_end():
    scale = Scale(-3.0, 103.0, 200.0, 10.0)
    assert (scale.at(-3.0), scale.at(50.0), scale.at(103.0)) == (200.0, 105.0, 10.0)


def test_what_is_certain_is_filled_and_a_yardstick_is_a_diamond():
    rows = [
        Mark("sure", 1.0, (0.5, 1.5), False, ""),
        Mark("unsure", -1.0, None, False, ""),
        Mark("yard", 2.0, None, True, ""),
    ]
    drawn = ET.fromstring(forest(rows, "SR"))
    assert [one.get("class") for one in drawn.iter("circle")] == ["arm", "arm hollow"]
    assert [one.get("class") for one in drawn.iter("path")] == ["yardstick hollow"]
    (interval,) = (one for one in drawn.iter("line") if one.get("class") == "arm")
    assert float(interval.get("x1")) < float(drawn.find("circle").get("cx"))
    assert float(drawn.find("circle").get("cx")) < float(interval.get("x2"))


def test_where_nothing_differs_the_axis_is_no_tiny_one():
    flat = forest([Mark("same", 0.0, None, False, "")], "SR")
    assert {text for *_, text in boxes(flat)} >= {"-1.0", "0.0", "1.0"}


def test_an_arm_that_harmed_is_filled_and_the_front_is_joined():
    clean = Dot("clean", 1.0, 50.0, (0.5, 1.5), (40.0, 60.0), 0, 10, yardstick=False)
    harmed = Dot("harmed", 2.0, 80.0, None, None, 3, 10, yardstick=False)
    svg = plane([clean, harmed], [clean, harmed], "Cost")
    drawn = ET.fromstring(svg)
    classes = [one.get("class") for one in drawn.iter() if one.tag in ("circle", "line")]
    assert classes.count("arm hollow") == classes.count("arm") == classes.count("front") == 1
    assert classes.count("thin arm") == 2
    assert {"clean 0/10", "harmed 3/10"} <= {text for *_, text in boxes(svg)}


def test_texts_are_escaped():
    drawn = forest([Mark("<b>&", 1.0, None, False, "")], '"unit"')
    assert [text for *_, text in boxes(drawn)][-1] == "<b>&"
