"""What a trace shows of the answer that an attempt at a model is charged for."""

from typing import Any

import pytest

from hfr_bench.lab.decode import trace_events
from hfr_bench.lab.verification.bills import Bill, Shown, bills
from hfr_bench.model.trace import Body, UpstreamHit
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import (
    At,
    answered,
    ended,
    events,
    hit,
    ran,
    refused,
    sent,
    started,
    timed_out,
)

ROWS = planned(("a",)).rows
TRIAL = ROWS[0].trial
BARE = next(row.trial for row in ROWS if not row.trial.injected)


def reached(body: str = "fine", **fields: Any) -> UpstreamHit:
    """The first attempt's request reached the gateway, and the provider unless fields differ."""
    return hit(body).model_copy(update={"attempt": 1} | fields)


def billed(*bodies: Body, trial: Any = TRIAL) -> tuple[Bill, ...]:
    """The bills of a trial with these bodies, which are alike for records and their like."""
    made = events(trial.trial_id, [started(trial), *map(At, bodies), ended(trial)])
    found = bills(made)
    like = trace_events([event.dumps().encode() for event in made])
    assert like is not None
    assert bills(like) == found
    return found


def shown(*bodies: Body, trial: Any = TRIAL) -> Shown:
    (one,) = billed(*bodies, trial=trial)
    return one.shown


def test_an_answer_that_came_as_it_was_is_seen_with_its_tokens() -> None:
    end = answered(tokens_in=7, tokens_out=3, cost_microusd=5)
    wanted = Bill(("model:agent", 1, 1), "m", Shown.SEEN, (7, 3), 5)
    assert billed(sent(), reached(), end) == (wanted,)
    assert billed(sent(), end, reached()) == (wanted,)  # the truth may be written down late


@pytest.mark.parametrize(
    ("change", "end"),
    [
        ({}, timed_out()),
        ({}, answered("other")),
        ({"upstream_digest": "true"}, answered()),
        ({"upstream_status": None}, refused()),
    ],
    ids=["lost", "another", "altered", "upstream was cut off"],
)
def test_an_answer_that_was_lost_or_altered_is_not_seen(change: Any, end: Any) -> None:
    assert shown(sent(), reached(**change), end) is Shown.UNSEEN


def test_what_the_provider_never_got_or_refused_is_free() -> None:
    refusal = reached("no", upstream_status=400)
    assert shown(sent(), reached(forwarded=False, upstream_status=None), refused()) is Shown.FREE
    assert shown(sent(), refusal, refused(400, "no")) is Shown.FREE
    assert shown(sent(), timed_out(sent=False)) is Shown.FREE


def test_without_a_hit_nobody_knows_what_the_provider_said() -> None:
    assert shown(sent(), answered()) is Shown.UNSEEN
    assert shown(sent(), reached(occurrence=2), answered()) is Shown.UNSEEN


def test_a_control_without_a_gateway_shows_all_that_was_answered() -> None:
    assert shown(sent(), answered(), trial=BARE) is Shown.SEEN
    assert shown(sent(), refused(400), trial=BARE) is Shown.FREE
    assert shown(sent(), timed_out(), trial=BARE) is Shown.UNSEEN


def test_a_strangers_requests_are_inferred_and_tools_are_no_models() -> None:
    assert shown(sent(told=False), reached(), answered()) is Shown.UNSEEN
    assert billed(sent("tool:book"), ran(), answered()) == ()
    assert bills([]) == ()
