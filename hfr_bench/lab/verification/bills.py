"""What a live trial's attempts at a model were charged, and what of that its trace shows.

Charged are the tokens of the provider's own answer, whatever became of it on the way to the arm.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from hfr_bench.model.terms import Channel
from hfr_bench.model.trace import TraceEvent

Place = tuple[str, int, int]
"""Point, occurrence, attempt."""

_OK = 200


class Shown(StrEnum):
    """What a trace shows of the answer that an attempt is charged for.

    `free`: the provider gave none that costs anything. `seen`: the arm got it as it was, with its
    tokens. `unseen`: it was lost or altered, or there may have been one that nobody saw.
    """

    FREE = "free"
    SEEN = "seen"
    UNSEEN = "unseen"


class Bill(NamedTuple):
    """One attempt. `tokens`: as the arm saw them. `cost_microusd`: null = unknown."""

    at: Place
    model: str
    shown: Shown
    tokens: tuple[int, int]
    cost_microusd: int | None


def bills(events: Sequence[TraceEvent]) -> tuple[Bill, ...]:
    """Every attempt at a model, in order; bodies may be the like of records.

    A control without an injector has no gateway that would have told of the provider's answers.
    """
    first: Any = events[0].body if events else None
    bare = getattr(first, "type", "") == "trial_started" and not first.injected
    hits: dict[Place, Any] = {}
    for event in events:
        body: Any = event.body
        if body.type == "upstream_hit":
            hits[body.point, body.occurrence, body.attempt] = body
    found: list[Bill] = []
    sent: tuple[Place, Any] | None = None
    for event in events:
        body = event.body
        if body.type == "attempt_started":
            at = (body.point, body.occurrence, event.attempt)
            sent = (at, body) if body.channel == Channel.MODEL else None
        elif body.type == "attempt_ended" and sent is not None:
            at, start = sent
            found.append(_bill(at, start, body, _shown(start, body, hits.get(at), bare=bare)))
            sent = None
    return tuple(found)


def _bill(at: Place, start: Any, end: Any, shown: Shown) -> Bill:
    return Bill(at, start.target, shown, (end.tokens_in, end.tokens_out), end.cost_microusd)


def _shown(start: Any, end: Any, hit: Any, *, bare: bool) -> Shown:
    """See `Shown`. A stranger's agent is charged by nobody here: its requests are inferred."""
    if not start.told:
        return Shown.UNSEEN
    if hit is None:
        if not bare:
            return Shown.UNSEEN if end.sent else Shown.FREE
        status, as_it_was = end.status, True
    else:
        if hit.upstream_status is None and not hit.forwarded:
            return Shown.FREE
        status = hit.upstream_status
        as_it_was = (
            hit.upstream_digest in ("", hit.response_digest)
            and hit.response_digest == end.response_digest
        )
    if status is None:
        return Shown.UNSEEN
    if status != _OK:
        return Shown.FREE
    return Shown.SEEN if as_it_was and end.answered else Shown.UNSEEN
