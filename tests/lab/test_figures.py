"""Figures: same report, same bytes; the page's colours; harm can keep an arm off the front."""

import re
import xml.etree.ElementTree as ET

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.figures import Dot, forests, planes, undominated
from hfr_bench.lab.store import Store
from hfr_bench.testing.experiments import planned, some_faults, write_all
from hfr_bench.testing.results import KINDS


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment")
    arms = ("no_retry", "hfr", "blind_resend", "always_escalate")
    plan = planned(arms, tasks=30, rates=(0.0, 0.4), faults=some_faults)
    write_all(folder, plan)
    return analyse(plan.prereg, plan.lock, plan.rows, Store(folder), plan.schedule, KINDS)


@pytest.fixture(scope="module")
def drawn(report):
    return (*forests(report), *planes(report))


def dot(label, cost, success, harm):
    return Dot(label, cost, success, None, None, harm, 10, yardstick=False)


def test_what_is_drawn(drawn):
    assert [figure.key for figure in drawn] == [
        "difference-sr",
        "difference-harm_1000",
        "difference-cost_mean",
        "plane-cost_mean-rates0",
        "plane-p95-rates0",
    ]


def test_the_same_report_gives_the_same_bytes(report, drawn):
    assert (*forests(report), *planes(report)) == drawn


def test_every_figure_is_well_formed_and_names_every_arm(report, drawn):
    for figure in drawn:
        ET.fromstring(figure.svg)
        for arm in report.arms:
            if arm != report.baseline or figure.key.startswith("plane"):
                assert arm in figure.svg
                assert arm in figure.alt


def test_colours_are_the_page_s(drawn):
    for figure in drawn:
        assert not re.findall(r"#[0-9a-f]{6}\b", figure.svg)
        assert "var(--mark)" in figure.svg
        assert "<style" not in figure.svg
        assert "font-family" not in figure.svg


def test_no_two_figures_share_an_id(drawn):
    ids = [name for figure in drawn for name in re.findall(r'\bid="([^"]+)"', figure.svg)]
    assert len(ids) == len(set(ids))
    for figure in drawn:
        used = re.findall(r'(?:url\(#|href="#)([^)"]+)', figure.svg)
        assert set(used) <= set(re.findall(r'\bid="([^"]+)"', figure.svg))


def test_yardsticks_are_not_on_the_front(drawn):
    (plane,) = (figure for figure in drawn if figure.key.startswith("plane-cost"))
    front = plane.alt.rpartition(": ")[2].split(", ")
    assert "hfr" in front
    assert not {"always_escalate", "blind_resend"} & set(front)


def test_an_arm_is_dominated_in_success_cost_and_harm_together():
    cheap, good, harmful = dot("cheap", 1, 40, 0), dot("good", 2, 80, 0), dot("harmful", 2, 90, 3)
    worse, dearer = dot("worse", 2, 70, 1), dot("dearer", 3, 80, 0)
    assert undominated([good, harmful, cheap, worse, dearer]) == (cheap, good, harmful)
    assert undominated([good, good]) == (good, good)
    assert undominated([]) == ()


def test_nothing_is_drawn_of_nothing(report):
    calm = report.model_copy(update={"estimates": (), "contrasts": ()})
    assert forests(calm) == planes(calm) == ()
