"""What an event must look like to whoever meets it: its wire effect, and its declared shape.

The injector plays `wire`; the delivery audit compares what the outer recorder logged with
`declared`. Both come from the event and its kind alone, so no marker has to be left or read.
"""

from typing import NamedTuple

from hfr_bench.faults.dialects import effect_in
from hfr_bench.model.breakage import Break
from hfr_bench.model.effects import Alter, Altered, Boundary, Forget, Late, Stale
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import (
    Close,
    Cut,
    Drip,
    FaultEvent,
    KindSpec,
    Own,
    Respond,
    Rewrite,
    Stall,
)
from hfr_bench.model.web import Cookieless, Discard, Meddle, Refuse, WebEffect

Effect = Respond | Close | Stall | Drip | Cut | Rewrite | Boundary | Break | Altered | WebEffect
"""What a client can meet: any of `Wire`, and for a plugin's own what it looks like."""

TIMEOUT = "Timeout"
CLOSED = "ConnectionClosed"
REFUSED = "ConnectError"

REQUEST_ID = "{request_id}"
"""In a kind's texts: an id as providers give their answers; the same for all of an event's."""


class Shape(NamedTuple):
    """An answer (status and body digest) or an exception class, as the client reports it.

    `response_digest` None: the body is another than the true one, which was altered; without a
    status, its status is the true one's.
    `retry_after`: that header of an answer. `latency_us`: how long it takes on a virtual clock;
    None where nothing is declared (a connection that is closed at once, or a real answer).
    """

    status: int | None = None
    response_digest: str | None = ""
    exception: str | None = None
    retry_after: str | None = None
    latency_us: int | None = None


def wire(event: FaultEvent, kind: KindSpec, dialect: str) -> Effect:
    """The kind's wire effect in a dialect, with the event's parameters filled in.

    Of an effect that is a plugin's own, what it looks like. Raises KeyError if the kind does not
    speak the dialect.
    """
    stated = effect_in(kind, dialect)
    effect = stated.looks if isinstance(stated, Own) else stated
    if isinstance(effect, Respond | Discard):
        return effect.model_copy(
            update={
                "headers": {k: _fill(v, event) for k, v in effect.headers.items()},
                "body": _fill(effect.body, event),
            }
        )
    if event.effect_lands is not None and isinstance(effect, Close | Stall):
        return effect.model_copy(update={"forward": event.effect_lands})
    return effect


def lands(effect: Effect) -> bool:
    """Whether the request reaches the world, or the model server, under an effect."""
    return not isinstance(effect, Respond | Late) and effect.forward


def answers(effect: Effect) -> bool:
    """Whether a client may take what it meets for an answer: the fault is a silent one."""
    if isinstance(effect, Rewrite):
        return effect.answered
    return isinstance(effect, Alter | Altered | Stale)


def declared(event: FaultEvent, kind: KindSpec, dialect: str, timeout_us: int) -> Shape:
    """What the client must report at a coordinate where the event is live."""
    return shape(wire(event, kind, dialect), kind, timeout_us)


def shape(effect: Effect, kind: KindSpec, timeout_us: int) -> Shape:
    """What an effect of a kind looks like to the client."""
    match effect:
        case Respond() | Discard():
            headers = {name.lower(): value for name, value in effect.headers.items()}
            return Shape(
                effect.status,
                text_digest(effect.body),
                retry_after=headers.get("retry-after"),
                latency_us=kind.latency_ms * 1000,
            )
        case Close() | Cut():
            return Shape(exception=CLOSED)
        case Refuse():
            return Shape(exception=REFUSED)
        case Stall() | Drip() | Late() | Forget():
            stall_us = round(effect.stall_s * 1_000_000)
            exception = TIMEOUT if stall_us >= timeout_us else CLOSED
            return Shape(exception=exception, latency_us=min(stall_us, timeout_us))
        case Rewrite():
            return Shape(200, None)
        case (
            Alter() | Altered() | Stale() | Break() | Cookieless() | Meddle()
        ):  # held to the truth of its attempt
            return Shape(response_digest=None)


def _fill(text: str, event: FaultEvent) -> str:
    """Fill `{name}` with the event's parameters; other braces (JSON) stay as they are."""
    for name, value in event.params.items():
        text = text.replace("{" + name + "}", str(value))
    if REQUEST_ID in text:
        text = text.replace(REQUEST_ID, f"req_{text_digest(event.injection_id)[:24]}")
    return text
