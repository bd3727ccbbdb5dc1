"""The page: self-contained, origin everywhere, harm before safe completion, yardsticks apart."""

import re
from html.parser import HTMLParser

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.rendering.html import to_html
from hfr_bench.lab.rendering.render import whole
from hfr_bench.lab.store import Store
from hfr_bench.model.report import ControlRow, DivergenceRow
from hfr_bench.model.terms import Origin
from hfr_bench.testing.experiments import planned, some_faults, write_all
from hfr_bench.testing.results import KINDS

VOID = {"meta", "link", "br", "path", "use"}


class Page(HTMLParser):
    """What a test asks of a page: tags with attributes, captions, first cells of rows."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.open = []
        self.captions = []
        self.rows = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "caption":
            self.captions.append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "caption" in self.open:
            self.captions[-1] += data
        if self.open and self.open[-1] == "th" and "tbody" in self.open:
            self.rows.append(data)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment")
    arms = ("no_retry", "always_escalate", "hfr", "blind_resend")
    plan = planned(arms, tasks=30, rates=(0.0, 0.2, 0.4), faults=some_faults)
    write_all(folder, plan)
    made = analyse(plan.prereg, plan.lock, plan.rows, Store(folder), plan.schedule, KINDS)
    row = DivergenceRow(arm="hfr", against="no_retry", rate=0.2, groups=30, faulted=9, diverged=6)
    return made.model_copy(update={"divergence": (row,)})


@pytest.fixture(scope="module")
def text(report):
    return to_html(report)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def attributes(page, tag):
    return [attrs for name, attrs in page.tags if name == tag]


def test_every_tag_is_closed(page):
    assert page.open == []


def test_nothing_is_fetched(page, text):
    loaded = [a for _, attrs in page.tags for n, a in attrs.items() if n in ("src", "href")]
    assert all(target.startswith(("#", "data:")) for target in loaded)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_equal_reports_give_equal_pages(report, text):
    assert to_html(type(report).model_validate_json(report.model_dump_json())) == text


def test_every_table_carries_origin_and_size(page):
    assert len(page.captions) == len(attributes(page, "table")) > 15
    for caption in page.captions:
        assert "rehearsal" in caption
        assert "below protocol (n < 200)" in caption


def test_every_figure_carries_its_origin_and_says_what_it_shows(page, text):
    svgs = attributes(page, "svg")
    assert len(svgs) == len(attributes(page, "figure")) == 9
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    for attrs in svgs:
        assert attrs["role"] == "img"
        assert set(attrs["aria-labelledby"].split()) <= ids
    for caption in re.findall(r"<figcaption>(.*?)</figcaption>", text, re.DOTALL):
        assert 'origin">rehearsal' in caption


def test_every_table_of_the_terminal_is_there(report, page):
    shown = " ".join(page.captions)
    for table in whole(report):
        assert table.title.split(" | ")[0] in shown


def test_headers_have_a_scope(page):
    assert {attrs.get("scope") for attrs in attributes(page, "th")} == {"col", "row"}


def test_ids_are_unique_and_links_lead_somewhere(page):
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = [a["href"][1:] for a in attributes(page, "a")]
    assert len(targets) == 19
    assert set(targets) <= set(ids)


def test_the_first_table_tells_harm_leaves_safety_out_and_ends_with_yardsticks(page, text):
    first = text[text.index('id="first"') : text.index('id="table-a"')]
    assert first.index("CSR %") < first.index("Harm k/n") < first.index("ESC %")
    assert "SCR" not in first.replace("CSR", "")  # there an arm that gives up looks best
    assert page.rows[:4] == ["no_retry", "hfr", "always_escalate", "blind_resend"]
    assert '<tr class="yardstick first-yardstick"><th scope="row">always_escalate' in first


def test_an_origin_says_what_it_means(report):
    live = to_html(report.model_copy(update={"origin": Origin.LIVE, "notes": ()}))
    assert "A real model" in live
    assert "rehearsal" not in live.lower()
    assert "modelled" not in live


def test_what_is_wrong_is_loud(report, text):
    assert 'class="verdict"' in text
    failed = (ControlRow(name="<c>", passed=False, detail="d", decides=True),)
    wrong = to_html(report.model_copy(update={"valid": False, "controls": failed}))
    assert 'class="verdict bad"' in wrong
    assert 'class="failed">INVALID' in wrong


def test_text_is_text(report):
    spoiled = report.model_copy(
        update={
            "title": "<script>alert(1)</script>",
            "notes": ("a < b & c",),
            "controls": (ControlRow(name='"><b>', passed=True, detail="<i>"),),
        }
    )
    page = Page(to_html(spoiled))
    assert len(attributes(page, "script")) == 1
    assert not attributes(page, "i")


def test_what_there_is_not_is_said(report, text):
    assert "Silent kinds: none registered." in text
    assert "None: every trial was graded." in text
    silent = to_html(report.model_copy(update={"silent_kinds": ("stale",)}))
    assert "Silent kinds (a wrong answer instead of an error): stale." in silent


def test_an_experiment_without_faults_has_a_page(report):
    calm = report.model_copy(
        update={
            "rates": (0.0,),
            "contrasts": (),
            "divergence": (),
            "estimates": tuple(e for e in report.estimates if e.rate == 0.0),
        }
    )
    page = Page(to_html(calm))
    assert not attributes(page, "svg")
    assert "Table A" in " ".join(page.captions)
