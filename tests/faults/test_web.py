"""Faults between a browser and its sites: routes, levels, coordinates, and the audit's eye."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench import content
from hfr_bench.faults.agenda import Agenda
from hfr_bench.faults.web import (
    Walk,
    audit_web,
    effect_of,
    fault_points,
    fits,
    level_of,
    point,
    route_of,
    why_not,
)
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, Rewrite
from hfr_bench.model.terms import Layer, SideEffect
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.web import Route, WebHit, WebSeen

KINDS = content.kinds()
URL = "http://127.0.0.1:1/items"
PAGE = text_digest("a page")
ROUTES = (
    Route("shop", "GET", "/f/{}/{}", "post"),
    Route("shop", "POST", "/checkout", "order", SideEffect.IRREVERSIBLE),
    Route("shop", "POST", "/cart/{}", "cart", SideEffect.QUERYABLE),
    Route("shop", "POST", "/basket", "cart", SideEffect.IDEMPOTENT),
)


def test_a_route_is_told_by_site_method_and_path():
    assert route_of("shop", "GET", "/f/books/7", ROUTES) is ROUTES[0]
    assert route_of("shop", "GET", "/f/books", ROUTES) is None
    assert route_of("forum", "GET", "/f/books/7", ROUTES) is None
    assert route_of("shop", "POST", "/f/books/7", ROUTES) is None
    assert fits("/a.b/{}", "/a.b/c")
    assert not fits("/a.b/{}", "/aXb/c")


@pytest.mark.parametrize(
    ("method", "path", "level"),
    [
        ("POST", "/checkout", SideEffect.IRREVERSIBLE),
        ("POST", "/cart/3", SideEffect.QUERYABLE),
        ("POST", "/elsewhere", SideEffect.QUERYABLE),
        ("GET", "/checkout", SideEffect.READ),
        ("PUT", "/x", SideEffect.IDEMPOTENT),
        ("DELETE", "/x", SideEffect.IRREVERSIBLE),
    ],
)
def test_a_request_has_a_level(method, path, level):
    assert level_of("shop", method, path, ROUTES) is level


def test_routes_of_one_name_are_one_point_of_the_gravest_level():
    points = {one.point: one.level for one in fault_points(ROUTES)}
    assert points == {
        "web:GET post": SideEffect.READ,
        "web:POST order": SideEffect.IRREVERSIBLE,
        "web:POST cart": SideEffect.QUERYABLE,
        "site:shop": SideEffect.READ,
    }


def test_what_cannot_be_played_is_said():
    assert why_not(KINDS["web_503_after"]) == ""
    assert "no wire" not in why_not(KINDS["model_429"])
    assert "openai_chat" in why_not(KINDS["model_429"])
    odd = KINDS["web_half_page"].model_copy(update={"wire": {"web": Rewrite(edits=("turn",))}})
    assert "no edit 'turn'" in why_not(odd)
    with pytest.raises(ValueError, match="openai_chat"):
        effect_of(event("model_429"), KINDS["model_429"])


steps = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(1, 3), st.integers(1, 3)), max_size=20
)


@given(steps)
def test_requests_of_a_steps_attempts_keep_their_occurrence(plan):
    """Each step's k-th request at a point has one occurrence, and attempts that count from 1."""
    walk, known, tries = Walk(), {}, {}
    for number, (tool, attempts, requests) in enumerate(plan):
        for _ in range(attempts):
            walk.begin(f"tool:{tool}", number, "agent")
            for k in range(requests):
                occurrence, attempt = walk.next("web:GET x")
                assert known.setdefault((number, k), occurrence) == occurrence
                tries[occurrence] = tries.get(occurrence, 0) + 1
                assert attempt == tries[occurrence]
    assert sorted(known.values()) == list(range(1, len(known) + 1))


def test_points_of_the_strategys_reads_are_their_own():
    assert point("GET", "post") == "web:GET post"
    assert point("GET", "post", "reconcile") == "web:reconcile:GET post"


# -- what the audit sees ---------------------------------------------------------------------------


def event(kind, **fields):
    return FaultEvent(
        injection_id="i", layer=KINDS[kind].layer, kind=kind, point="web:POST add", occurrence=1,
        **fields,
    )  # fmt: skip


def hit(**fields):
    plain = {
        "site": "shop", "method": "POST", "url": URL, "point": "web:POST add", "occurrence": 1,
        "attempt": 1, "forwarded": True, "upstream_status": 200, "upstream_digest": PAGE,
        "page": True,
    }  # fmt: skip
    return WebHit.model_validate(plain | fields)


def seen(**fields):
    plain = {"method": "POST", "url": URL, "status": 200, "response_digest": PAGE}
    return WebSeen.model_validate(plain | fields)


def found(kind, *bodies, virtual=True, **fields):
    schedule = FaultSchedule(
        schedule_id="s", suite="w", task_id="t", seed=1, profile="p", rate=0.1, generator="g",
        horizon=9, events=(event(kind, **fields),),
    )  # fmt: skip
    lines = [TraceEvent(trial_id="t", seq=n, t_us=0, body=b) for n, b in enumerate(bodies, 1)]
    return audit_web(lines, Agenda(schedule), KINDS, virtual=virtual)


BODY_503 = text_digest(effect_of(event("web_503"), KINDS["web_503"]).body)
GONE = seen(status=None, exception="ConnectionClosed", response_digest="")
DAY_US = 86_400_000_000


@pytest.mark.parametrize(
    ("kind", "hits", "said", "fields"),
    [
        ("web_503", {"forwarded": False}, seen(status=503, response_digest=BODY_503), {}),
        ("web_503_after", {}, seen(status=503, response_digest=BODY_503), {}),
        ("web_reset", {"forwarded": False}, GONE, {}),
        ("web_outcome_unknown", {}, GONE, {"effect_lands": True}),
        ("web_outcome_unknown", {"forwarded": False}, GONE, {"effect_lands": False}),
        ("web_stalled", {"forwarded": False, "stall_us": DAY_US}, GONE, {}),
        ("web_cut_page", {}, GONE, {}),
        ("web_half_page", {}, seen(response_digest="else"), {}),
        ("web_cookie_dropped", {"cookies": 1}, seen(), {}),
    ],
)
def test_a_delivered_fault(kind, hits, said, fields):
    (met,) = found(kind, hit(**hits), said, **fields).met
    assert met.problem == ""


@pytest.mark.parametrize(
    ("kind", "hits", "said", "fields", "why"),
    [
        ("web_503", {}, seen(status=503, response_digest=BODY_503), {}, "kept back"),
        ("web_503_after", {"forwarded": False}, seen(status=503), {}, "should have reached"),
        ("web_503_after", {}, seen(), {}, "declared status 503"),
        ("web_503_after", {}, seen(status=503, response_digest="x"), {}, "declared status 503"),
        ("web_reset", {"forwarded": False}, seen(), {}, "declared no answer"),
        ("web_outcome_unknown", {"forwarded": False}, GONE, {"effect_lands": True}, "reached"),
        ("web_stalled", {"forwarded": False, "stall_us": 1}, GONE, {}, "of silence"),
        ("web_stalled", {"forwarded": False, "stall_us": DAY_US}, seen(), {}, "no answer"),
        ("web_cut_page", {}, seen(), {}, "declared no answer"),
        ("web_half_page", {}, seen(), {}, "an altered page"),
        ("web_cookie_dropped", {"cookies": 1, "passed_cookies": 1}, seen(), {}, "cookies"),
        ("web_cookie_dropped", {"cookies": 1}, seen(response_digest="x"), {}, "the site's answer"),
    ],
)
def test_a_fault_that_was_not_met_as_declared(kind, hits, said, fields, why):
    (met,) = found(kind, hit(**hits), said, **fields).met
    assert why in met.problem


@pytest.mark.parametrize(
    ("kind", "hits"),
    [("web_half_page", {"page": False}), ("web_cookie_dropped", {}), ("web_stale_page", {})],
)
def test_a_fault_that_cannot_take_effect_is_not_met(kind, hits):
    result = found(kind, hit(**hits), seen())
    assert (result.met, result.untrue) == ((), ())


def test_a_stale_page_must_be_the_one_before():
    first, second = hit(occurrence=2, upstream_digest="old"), hit()
    said = seen(response_digest="old")
    assert found("web_stale_page", first, said, second, said).met[0].problem == ""
    assert "older page" in found("web_stale_page", first, said, second, seen()).met[0].problem


def test_without_an_event_the_browser_has_the_sites_own_answer():
    assert found("web_503", hit(occurrence=2), seen()).untrue == ()
    assert (
        "the site's answer"
        in found("web_503", hit(occurrence=2), seen(response_digest="x")).untrue[0]
    )
    assert "the site's status" in found("web_503", hit(occurrence=2), GONE).untrue[0]


def test_a_browser_that_sends_again_by_itself_is_found():
    """Two requests at the proxy, one that the browser tells of: something below it did that."""
    result = found("web_503", hit(occurrence=2), hit(occurrence=3), seen())
    assert "2 requests reached the proxy, the browser tells of 1" in result.untrue[0]
    assert Layer.TOOL is KINDS["web_503"].layer
