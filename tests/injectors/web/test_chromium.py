"""The same faults before a real browser, which sends nothing twice by itself."""

from collections.abc import Iterator

import pytest

from hfr_bench.model.schedule import FaultEvent, Lasts
from hfr_bench.model.terms import Layer
from hfr_bench.suites.webarena.browse.browser import lacking
from hfr_bench.suites.webarena.browse.chromium import ChromiumDriver
from hfr_bench.testing.website import serving

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(lacking() is not None, reason=str(lacking())),
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[ChromiumDriver]:
    driver = ChromiumDriver()
    yield driver
    driver.quit()


@pytest.fixture
def shop(chromium, make_shop):
    with serving() as (url, state):
        yield make_shop(url, state, chromium)
        chromium.close()


QUICK = ("web_503_after", "web_button_renamed")
CASES = [
    ("web_reset", "POST", "add", None, 0),
    ("web_stalled", "POST", "add", None, 0),
    ("web_503", "POST", "add", None, 0),
    ("web_503_after", "POST", "add", None, 1),
    ("web_outcome_unknown", "POST", "add", True, 1),
    ("web_cut_page", "POST", "add", None, 1),
    ("web_cut_page", "GET", "form", None, 0),
    ("web_button_renamed", "GET", "form", None, 0),
]


@pytest.mark.parametrize(
    ("kind", "method", "route", "lands", "items"),
    [pytest.param(*case, marks=() if case[0] in QUICK else pytest.mark.slow) for case in CASES],
)
def test_a_fault_is_met_once(trial, shop, kind, method, route, lands, items):
    silent = kind == "web_button_renamed"
    event = FaultEvent(
        injection_id=f"i-{kind}", layer=Layer.SEMANTIC if silent else Layer.TOOL, kind=kind,
        point=f"web:{method} {route}", occurrence=1, lasts=Lasts(), effect_lands=lands,
    )  # fmt: skip
    now = trial(event)
    now.call("add")
    assert len(shop.state.items) == items
    assert shop.state.seen.count((method, "/items")) <= 1
    found = now.end()
    assert (found.failed, found.untrue) == ((), ())
    (sums,) = found.sums.values()
    assert sums.mismatched == ()
    assert (sums.reached, sums.delivered) == (1, 1)


@pytest.mark.slow
def test_a_browser_finds_no_connection_and_then_one_again(trial, shop):
    event = FaultEvent(
        injection_id="i", layer=Layer.TOOL, kind="web_refused", point="site:shop", occurrence=2,
        lasts=Lasts(),
    )  # fmt: skip
    now = trial(event)
    assert now.call("goto", path="/")[0].answered
    refused, again = now.call("goto", path="/new", tries=2)
    assert (refused.answered, refused.exception, again.answered) == (False, "ConnectError", True)
    found = now.end()
    assert (found.failed, found.untrue) == ((), ())
    (sums,) = found.sums.values()
    assert (sums.mismatched, sums.reached, sums.delivered) == ((), 1, 1)
