"""The page's script in a real browser: tables are sorted, timelines made when they are opened."""

import json

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.rendering.html import to_html
from hfr_bench.lab.rendering.sides import sides
from hfr_bench.lab.store import Store
from hfr_bench.testing.browser import BROWSER, MISSING, ask
from hfr_bench.testing.experiments import planned, some_faults, write_all
from hfr_bench.testing.results import KINDS

pytestmark = [pytest.mark.browser, pytest.mark.skipif(BROWSER is None, reason=MISSING)]

SCRIPT = """
  const root = page.documentElement;
  const table = page.querySelector("#first table"), column = 1;
  const read = () => [...table.tBodies[0].rows].map(row => [row.cells[0].textContent,
    row.cells[column].firstChild.textContent.trim(), row.className]);
  const head = table.tHead.rows[0].cells[column], button = head.querySelector("button");
  button.focus();
  found.focused = page.activeElement === button;
  found.orders = [read()];
  found.sorts = [];
  for (let n = 0; n < 3; n++) {
    button.click();
    found.sorts.push(head.getAttribute("aria-sort"));
    found.orders.push(read());
  }
  const cases = [...page.querySelectorAll("details.case")];
  found.before = page.querySelectorAll("table.sides").length;
  for (const more of page.querySelectorAll("details")) more.open = true;
  setTimeout(() => {
    found.cases = cases.length;
    found.after = page.querySelectorAll("table.sides").length;
    found.faults = page.querySelectorAll("table.sides tr.fault").length;
    found.parted = [...page.querySelectorAll(".tag")].filter(tag => /part/.test(tag.textContent))
      .length;
    found.overflow = root.scrollWidth - root.clientWidth;
    const reach = "a, button, summary, [tabindex='0']";
    found.unreachable = [...page.querySelectorAll(reach)].filter(one => one.tabIndex < 0).length;
    done();
  }, 50);
"""


@pytest.fixture(scope="module")
def text(reported):
    return to_html(*reported)


@pytest.fixture(scope="module", params=[(1300, False), (480, True)], ids=["wide", "narrow-dark"])
def found(request, text, tmp_path_factory):
    width, dark = request.param
    return ask(text, SCRIPT, tmp_path_factory.mktemp("page"), width, dark=dark)


def test_a_header_sorts_up_down_and_back_with_yardsticks_last(found):
    as_it_was, up, down, back = found["orders"]
    assert found["sorts"] == ["ascending", "descending", None]
    assert back == as_it_was
    assert found["focused"]
    for order in (up, down):
        styles = ["yardstick" in style for _, _, style in order]
        assert styles == sorted(styles)
        assert sum("first-yardstick" in style for _, _, style in order) == 1
    apart = [[float(v) for _, v, s in order if "yardstick" not in s] for order in (up, down)]
    assert apart[0] == sorted(apart[0])
    assert apart[1] == sorted(apart[1], reverse=True)


def test_timelines_are_made_when_a_pair_is_opened(found, reported):
    assert found["before"] == 0
    assert found["after"] == found["cases"] == len(reported[1].cases)
    data = json.loads(reported[1].data)
    met = [[data["trials"][one]["zero"] for one in pair["sides"]] for pair in data["pairs"]]
    assert found["faults"] >= sum(zeros != [None, None] for zeros in met) > 0
    assert found["parted"] == found["cases"]


def test_it_fits_and_all_of_it_is_reached_by_keyboard(found):
    assert found["overflow"] == 0
    assert found["unreachable"] == 0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_twenty_thousand_trials_are_still_a_page(tmp_path):
    arms = ("no_retry", "hfr", "blind_resend", "always_escalate", "exp_retry", "degrade_only")
    plan = planned(arms, tasks=830, rates=(0.0, 0.1, 0.2, 0.4), faults=some_faults)
    assert len(plan.rows) > 20_000
    write_all(tmp_path, plan)
    store = Store(tmp_path)
    report = analyse(plan.prereg, plan.lock, plan.rows, store, plan.schedule, KINDS)
    told = sides(report, plan.rows, store, plan.schedule)
    text = to_html(report, told)
    assert len(text.encode()) < 5_000_000
    found = ask(text, SCRIPT, tmp_path, 1300)
    assert found["overflow"] == 0
    assert found["after"] == len(told.cases) >= 10
