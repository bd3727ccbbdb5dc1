"""The page's part on disagreements: what is counted, what is shown, and the way to the rest."""

import json
import re

import pytest

from hfr_bench.lab.rendering.html import to_html
from hfr_bench.lab.rendering.pairs import contrasts
from hfr_bench.lab.rendering.sides import NOTHING, Case, Sides


@pytest.fixture(scope="module")
def text(reported):
    return to_html(*reported)


def test_the_data_is_one_element_that_holds_json(reported, text):
    (found,) = re.findall(r'<script type="application/json" id="timelines">(.*?)</script>', text)
    assert json.loads(found) == json.loads(reported[1].data)
    assert text.count("<script") == 2


def test_every_contrast_in_which_arms_differ_has_its_pairs_and_their_commands(reported, text):
    report, told = reported
    differing = [row for row in report.disagreements if row.shown]
    assert text.count('<details class="contrast">') == len(differing)
    assert text.count('<details class="case"') == len(told.cases)
    for case in told.cases:
        for one in (case.of.ours, case.of.theirs):
            assert f"hfr-bench show DIR {one.trial_id}\n" in text
    for row in differing:
        total = row.won + row.lost + row.harm + row.end
        if total > len(row.shown):
            more = f"{total - len(row.shown)} more: <code>hfr-bench compare DIR"
            assert f"{more} {row.arm} {row.against}</code>" in text
    assert "so nobody picked them" in text


def test_without_sides_the_counts_and_commands_stay(reported):
    report = reported[0]
    found = contrasts(report, NOTHING)
    assert found
    for one in found:
        assert one["rest"] == one["total"] > 0
        assert one["command"].startswith("hfr-bench compare DIR ")


def test_a_pair_without_room_says_so_and_its_words_are_only_words(reported):
    report, told = reported
    cases = tuple(
        Case(c.row, c.of.model_copy(update={"task_id": "<b>&"}), None) for c in told.cases
    )
    page = to_html(report, Sides("{}", cases))
    assert page.count("There was no room for its timelines") == len(told.cases)
    assert "data-pair" not in page.replace("[data-pair]", "")
    assert "&lt;b&gt;&amp;" in page
    assert "<b>&" not in page


def test_parts_tell_what_confirms_from_what_does_not(text):
    heads = re.findall(r'<div class="part"><h2>(.*?)</h2>', text)
    assert heads == ["Confirmatory", "Exploratory", "Whether to believe it", "Reference"]
    place = {key: text.index(f'<section id="{key}"') for key in ("hypotheses", "differences")}
    explored = text.index("<h2>Exploratory</h2>")
    assert place["hypotheses"] < explored < place["differences"]
