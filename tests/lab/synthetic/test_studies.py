"""The studies at a small size: their tables are whole, and what they are about is to be seen."""

import xml.etree.ElementTree as ET

import pytest

from hfr_bench.lab.synthetic.crowds import STUDIES
from hfr_bench.lab.synthetic.figures import drawn
from hfr_bench.lab.synthetic.render import paragraph
from hfr_bench.lab.synthetic.studies import Effort

ARMS = ("FixedRetry3", "HFR, neither", "HFR, breaker")
SMALL = Effort(tasks=250, seeds=1, arms=ARMS)


@pytest.fixture(scope="module")
def found():
    return {name: study(SMALL) for name, study in STUDIES.items()}


def column(study, arm, head):
    return {row[0]: row[study.head.index(head)] for row in study.rows}[arm]


def test_tables_and_figures_are_whole(found):
    for name, study in found.items():
        assert study.name == name
        assert all(len(row) == len(study.head) for row in study.rows)
        assert all(len(line.x) == len(line.y) > 1 for line in study.series)
        assert ET.fromstring(drawn(study)).tag.endswith("svg")
        assert "\n".join(paragraph(study)).count("\n|") == len(study.rows) + 2


def test_the_same_study_is_drawn_in_the_same_bytes(found):
    once, again = (drawn(found["prices"]) for _ in range(2))
    assert once == again
    assert "(synthetic)" in once


def test_a_storm_outlives_its_cause_unless_something_binds(found):
    storm = found["storm"]
    for arm in ("FixedRetry3", "HFR, neither"):
        assert column(storm, arm, "back to 90 % of before (s)") == "never"
    assert column(storm, "HFR, breaker", "back to 90 % of before (s)") != "never"


def test_false_accepts_end_as_silent_failures(found):
    misses = [row for row in found["verifier"].rows if row[0] == "misses"]
    assert [row[3] for row in misses] == sorted(row[3] for row in misses)
    assert misses[0][3] == 0 < 20 < misses[-1][3]


def test_asking_again_helps_against_false_denials(found):
    rows = found["absence"].rows
    assert rows[0][1] == rows[0][2] == 0 < rows[0][3]
    assert rows[-1][2] < rows[-1][1] < rows[-1][3]


def test_calling_at_the_first_failure_must_be_cheap(found):
    pays = {row[0]: row[-1] for row in found["prices"].rows}
    assert pays["AlwaysEscalate"] < 0.3 < pays["HFR, by criticality"]
