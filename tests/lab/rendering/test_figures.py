"""Figures: same report, same bytes; the page's looks; harm can keep an arm off the front."""

import re
import xml.etree.ElementTree as ET

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.rendering.drawing import Dot
from hfr_bench.lab.rendering.figures import forests, planes, undominated
from hfr_bench.lab.rendering.html import PAGE
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


def test_how_it_looks_is_left_to_the_page(drawn):
    """Colours change with the reader's, and ids would have to differ from figure to figure."""
    style = (PAGE / "report.css").read_text()
    for figure in drawn:
        assert not re.findall(r"#[0-9a-f]|style|font|\bid=", figure.svg)
        looks = " ".join(re.findall(r'class="([^"]+)"', figure.svg)).split()
        assert not {look for look in looks if f".{look}" not in style}


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
