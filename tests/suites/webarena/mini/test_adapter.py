"""web_mini as a suite: controls, actions, resends, read-backs, and what is official."""

import itertools
import re
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.faults.web import level_of, route_of
from hfr_bench.lab.validate import validate
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.model.web import Route
from hfr_bench.ports.sandbox import ToolHost
from hfr_bench.ports.suite import Controlled, Execution, Levelled
from hfr_bench.ports.verifier import Checked
from hfr_bench.ports.web import Fronted
from hfr_bench.suites.webarena.acting.contracts import END, PAGE_CHANGED
from hfr_bench.suites.webarena.browse.http import HttpDriver
from hfr_bench.suites.webarena.mini import WebMiniSuite, image
from hfr_bench.suites.webarena.mini.catalog import tasks
from hfr_bench.suites.webarena.mini.world import WebWorld
from hfr_bench.testing.conformance import check_suite

POST, ORDER, COMMENT = "forum-post-lighthouse", "shop-order-lantern", "forum-comment-beans"
QUICK_S = 5.0
"""What it takes is a tenth of this; a wait for something that does not come takes longer."""


def do(world: WebWorld, tool: str, **arguments: Any) -> Execution:
    return world.execute(tool, arguments, actor="agent", operation_id="o")


def play(world: WebWorld, name: str, twice: str = "") -> None:
    """The task's oracle; the button `twice` is clicked again."""
    world.reset(name)
    for step in tasks()[name].sealed.oracle:
        for _ in range(1 + (step.arguments.get("name") == twice)):
            do(world, step.tool, **step.arguments)


def test_it_is_a_suite_with_levels_controls_and_checks(suite: WebMiniSuite) -> None:
    assert isinstance(suite, Levelled)
    assert isinstance(suite, Controlled)
    assert isinstance(suite, Checked)
    check_suite(suite, SuiteSelection(suite="web_mini", tasks=(POST, ORDER)))


@pytest.mark.parametrize("name", tasks())
def test_both_rules_and_the_database_agree_on_the_oracle(suite: WebMiniSuite, name: str) -> None:
    assert suite.controls(name) == ()


@pytest.mark.parametrize("name", [n for n, task in tasks().items() if "state" in task.row])
def test_the_oracle_has_just_the_expected_effects(world: WebWorld, name: str) -> None:
    sealed = tasks()[name].sealed
    world.reset(name)
    done = [do(world, step.tool, **step.arguments) for step in sealed.oracle]
    keys = Counter(one.key for one in done if one.changed)
    assert keys == {
        one.natural_key: one.count for one in sealed.expected if one.natural_key in keys
    }


@pytest.mark.parametrize("name", tasks())
def test_the_requests_of_an_oracle_are_those_that_are_written_down(
    world: WebWorld, name: str
) -> None:
    world.reset(name)
    world.browsed()
    for step in tasks()[name].sealed.oracle:
        do(world, step.tool, **step.arguments)
        asked = [(one.method, urlsplit(one.url).path) for one in world.browsed()]
        met = [route_of(tasks()[name].site, *one, world.routes) for one in asked]
        assert step.requests == tuple(f"{r.method} {r.name}" for r in met if r is not None)


@pytest.mark.slow
def test_all_are_fit_to_be_registered(suite: WebMiniSuite) -> None:
    found = validate(suite, SuiteSelection(suite="web_mini", pool="all"))
    assert found.problems == ()


def test_pools_and_tasks_are_chosen_by_name(suite: WebMiniSuite) -> None:
    def chosen(pool: str) -> list[str]:
        return [t.task_id for t in suite.select(SuiteSelection(suite="web_mini", pool=pool))]

    assert len(chosen("all")) == 36
    assert chosen("base") == chosen("all")
    assert len(chosen("demo")) == 8
    assert len(chosen("gitlab")) == 9
    with pytest.raises(BadInputError, match=r"no pool 'x'; there are: all, base, demo, gitlab"):
        chosen("x")
    with pytest.raises(BadInputError, match=r"no task 'x'; there are: forum-post-lighthouse"):
        suite.select(SuiteSelection(suite="web_mini", tasks=("x",)))


def test_an_unknown_driver_is_named(suite: WebMiniSuite) -> None:
    with pytest.raises(BadInputError, match="no driver 'lynx'; there are: http, chromium"):
        WebMiniSuite(suite._sandbox, driver="lynx")


def test_a_trial_of_twelve_actions_is_quick(world: WebWorld) -> None:
    """The quickest of a few: other work on the machine only adds to it."""
    play(world, ORDER)  # once to warm up
    took_s = []
    while len(took_s) < 3 and min(took_s, default=QUICK_S) >= QUICK_S:
        began = time.perf_counter()
        world.reset(ORDER)
        for step in (*tasks()[ORDER].sealed.oracle, *tasks()[ORDER].sealed.oracle):
            do(world, step.tool, **step.arguments)
        world.grade(())
        took_s.append(time.perf_counter() - began)
    assert min(took_s) < QUICK_S


def test_answers_are_the_same_in_every_world(suite: WebMiniSuite, world: WebWorld) -> None:
    other = suite.open()
    try:
        world.reset(ORDER)
        other.reset(ORDER)
        for step in tasks()[ORDER].sealed.oracle:
            done = do(world, step.tool, **step.arguments)
            assert done == do(other, step.tool, **step.arguments)
            assert not re.search(r"127\.0\.0\.1|localhost", done.observation.body)
        assert world.sites != other.sites
    finally:
        other.close()


@pytest.mark.parametrize(
    ("name", "button", "table", "official"),
    [
        (POST, "Create submission", "forum_submissions", 1.0),
        (ORDER, "Place Order", "shop_orders", 1.0),
        ("shop-cart-candles", "Add to Cart", "shop_cart", 0.0),
        ("tracker-two-issues", "Create issue", "tracker_issues", 1.0),
    ],
)
def test_a_resend_is_done_where_it_was_meant_and_seen_by_the_database(
    world: WebWorld, name: str, button: str, table: str, official: float
) -> None:
    """Verified's rule is blind to most of them, and its verdict stands beside the database's."""
    play(world, name, twice=button)
    grade = world.grade(())
    assert not grade.goal_met
    assert grade.components["state"] == 0.0
    assert grade.official == (0.0 if button == "Add to Cart" else official)


def test_a_resend_of_a_form_that_the_site_has_emptied_is_refused(world: WebWorld) -> None:
    play(world, COMMENT, twice="Post comment")
    assert world.grade(()).goal_met


def test_an_action_on_a_page_that_cannot_be_gone_back_to_is_not_done(world: WebWorld) -> None:
    world.reset(POST)
    seen = do(world, "click", role="button", name="Create submission", on="/submit/books")
    assert seen.observation.domain_error
    assert seen.observation.body.startswith("Error: no element button 'Create submission'")
    assert "http://forum.example/f/books\n" in seen.observation.body
    assert seen.changed == ()


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("goto", {"url": "http://example.com/"}, "http://example.com/ is none of the sites"),
        ("new_tab", {"url": "http://127.0.0.1:1/"}, "is none of the sites"),
        ("goto", {}, "goto: url is missing"),
        ("fly", {}, "no action 'fly'"),
        ("click", {"role": "link", "name": 3}, "click: name must be a text"),
        ("tab_focus", {"tab": 9}, "no tab 9"),
        ("read_back", {"name": "Send Email"}, "no page shows what 'Send Email' does"),
        ("read_back", {}, "no page shows what None does"),
    ],
)
def test_what_cannot_be_done_is_an_answer(
    world: WebWorld, tool: str, arguments: Mapping[str, Any], why: str
) -> None:
    world.reset(POST)
    seen = do(world, tool, **arguments).observation
    assert (seen.answered, seen.domain_error) == (True, True)
    assert why in seen.body


def test_a_page_is_read_back_without_leaving_the_one_in_front(
    world: WebWorld, suite: WebMiniSuite
) -> None:
    world.reset(ORDER)
    steps = tasks()[ORDER].sealed.oracle
    for step in steps[:4]:
        front = do(world, step.tool, **step.arguments).observation.body
    place = steps[4].arguments
    asked = {"name": place["name"], "on": place["on"]}
    before = do(world, "read_back", **asked)
    assert before.changed == ()
    assert "http://shop.example/sales/order/history/" in before.observation.body
    again = do(world, "read_back", **asked).observation.body
    assert suite.landed(PAGE_CHANGED, before.observation.body, again, asked) is Landed.ABSENT
    assert do(world, "scroll", direction="down").observation.body == front
    do(world, "click", **place)
    after = do(world, "read_back", **asked).observation.body
    assert suite.landed(PAGE_CHANGED, before.observation.body, after, asked) is Landed.COMMITTED


def test_the_level_of_a_click_is_that_of_the_requests_it_makes(
    world: WebWorld, suite: WebMiniSuite
) -> None:
    """What is called a read asks by GET and changes nothing; whatever posts is called a write."""
    for name, task in tasks().items():
        world.reset(name)
        for step in task.sealed.oracle:
            asked = len(world._driver.har()["log"]["entries"])
            done = do(world, step.tool, **step.arguments)
            entries = world._driver.har()["log"]["entries"][asked:]
            asked_for = [urlsplit(one["request"]["url"]) for one in entries]
            levels = [
                level_of(task.site, one["request"]["method"], url.path, world.routes)
                for one, url in zip(entries, asked_for, strict=True)
            ]
            level = suite.level_of(step.tool, step.arguments)
            if step.tool == "click":
                assert level is not None
                assert level is max(levels, key=list(SideEffect).index), step.arguments
                assert level.writes or not done.changed


def test_what_is_answered_does_not_depend_on_the_task(world: WebWorld) -> None:
    """Two tasks that begin at one page: all that a runtime sees is the same, whatever is wanted."""
    told = []
    for name in ("forum-author-fog", "forum-top-photography", "forum-delete-snails"):
        world.reset(name)
        asked = {"name": "Delete submission", "on": "/"}
        first = do(world, "click", role="link", name="My submissions").observation
        told.append((first, do(world, "read_back", **asked).observation))
    assert told[0] == told[1] == told[2]


def test_routes_are_those_of_the_host(world: WebWorld) -> None:
    """Every form that a site takes has a route, and every route is one that the site has."""
    told = world._host.request("hello", {}, 30)["routes"]
    theirs = [(site, method, pattern) for site, method, pattern, name in told if "rest" not in name]
    tries = list(itertools.product(("x", "1"), repeat=3))

    def fits(route: Route, site: str, method: str, pattern: str) -> bool:
        paths = {
            route.path.replace("{}", "%s") % words[: route.path.count("{}")] for words in tries
        }
        return (route.site, route.method) == (site, method) and any(
            re.fullmatch(pattern, path) for path in paths
        )

    for one in theirs:
        assert one[1] == "GET" or any(fits(route, *one) for route in world.routes), one
    for route in world.routes:
        assert any(fits(route, *one) for one in theirs) or route.path == "/{}", route


def test_the_browser_says_what_it_asked_for(world: WebWorld) -> None:
    def said() -> list[tuple[str, str, int | None]]:
        found = world.browsed()
        return [(o.method, o.url.removeprefix(world.urls["reddit"]), o.status) for o in found]

    world.reset(POST)
    assert isinstance(world, Fronted)
    assert said() == [("GET", "/f/books", 200)]
    do(world, "click", role="link", name="Submit to books")
    do(world, "type", role="textbox", name="Title", text="x")
    do(world, "click", role="button", name="Create submission", on="/submit/books")
    assert said() == [
        ("GET", "/submit/books", 200),
        ("POST", "/submit/books", 302),
        ("GET", "/f/books/11/x", 200),
    ]
    assert said() == []


def test_what_lies_in_the_cart_can_be_sold_to_somebody_else(world: WebWorld) -> None:
    world.reset(ORDER)
    assert world.meddle("sold_out") == ""  # nothing lies there yet
    *steps, order, stop = tasks()[ORDER].sealed.oracle
    for step in steps:
        do(world, step.tool, **step.arguments)
    assert world.meddle("sold_out") == "LT-01"
    refused = do(world, order.tool, **order.arguments)
    assert (refused.observation.domain_error, refused.changed) == (True, ())
    assert "there is not enough in stock" in refused.observation.body
    do(world, stop.tool, **stop.arguments)
    assert not world.grade(()).goal_met
    with pytest.raises(ValueError, match="nothing called 'fire' can happen here"):
        world.meddle("fire")


def test_declining_an_impossible_task_is_told_apart(world: WebWorld) -> None:
    play(world, "shop-buy-unavailable")
    right = world.grade(())
    assert (right.goal_met, right.components["declined"]) == (True, 1.0)
    world.reset("shop-buy-unavailable")
    do(world, "stop", answer='{"task_type": "mutate", "status": "SUCCESS", "retrieved_data": null}')
    wrong = world.grade(())
    assert (wrong.goal_met, wrong.components["declined"]) == (False, 0.0)
    world.reset("shop-buy-unavailable")  # nothing was said: handed to a person, or left
    left = world.grade(())
    assert (left.goal_met, left.official, left.components["state"]) == (False, 0.0, 1.0)


class Silent:
    """A host whose n-th write of a site is carried out, and answered with 503."""

    def __init__(self, inner: ToolHost, path: str) -> None:
        self._inner, self._path, self.left = inner, path, 0

    def request(self, op: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        told = self._inner.request(op, fields, timeout_s)
        if op == "http" and fields["method"] == "POST" and fields["target"] == self._path:
            self.left -= 1
            if self.left == 0:
                return {**told, "status": 503, "headers": [], "body": "<p>Try again later."}
        return told

    def close(self) -> None:
        self._inner.close()


@pytest.mark.parametrize("resends", [False, True])
def test_verifieds_rule_rewards_a_blind_resend_after_a_commit_that_was_answered_503(
    suite: WebMiniSuite, resends: bool
) -> None:
    """The blind spot that the database is there for: one order right and 0.0, two and 1.0."""
    path = "/rest/default/V1/carts/mine/payment-information"
    silent = Silent(suite._sandbox.start(image.command(contained=False)), path)
    world = WebWorld(silent, HttpDriver)
    try:
        world.reset(ORDER)
        silent.left = 1
        for step in tasks()[ORDER].sealed.oracle:
            done = do(world, step.tool, **step.arguments)
            if step.arguments.get("name") == "Place Order":
                assert (done.observation.answered, done.observation.status) == (False, 503)
                assert "shop_orders/107" in done.changed
                if resends:
                    assert do(world, step.tool, **step.arguments).observation.answered
        grade = world.grade(())
    finally:
        world.close()
    assert grade.official == float(resends)
    assert grade.goal_met is not resends
    assert grade.components["state"] == float(not resends)


def test_a_driver_can_be_sent_through_something_in_front_of_a_site(world: WebWorld) -> None:
    def here() -> str:
        return do(world, "scroll", direction="down").observation.body

    state = world.reset(POST)
    world.behind({"reddit": world.sites["gitlab"]})
    assert "there is no such project" in here()
    world.behind({})
    assert "What we read and what we made of it" in here()
    assert here().endswith(END)
    assert world.reset(POST) == state


def test_levels_stand_where_no_button_is_named(suite: WebMiniSuite) -> None:
    assert suite.level_of("click", {"element": 3}) is None
    assert suite.level_of("click", {"role": "button", "name": "Star"}) is SideEffect.IDEMPOTENT
