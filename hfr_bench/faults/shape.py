"""What an event must look like to whoever meets it: its wire effect, and its declared shape.

The injector plays `wire`; the delivery audit compares what the outer recorder logged with
`declared`. Both come from the event and its kind alone, so no marker has to be left or read.
"""

from typing import NamedTuple

from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import Close, FaultEvent, KindSpec, Respond, Stall, Wire

TIMEOUT = "Timeout"
CLOSED = "ConnectionClosed"


class Shape(NamedTuple):
    """An answer (status and body digest) or an exception class, as the client reports it.

    `retry_after`: that header of an answer. `latency_us`: how long it takes on a virtual clock;
    None where nothing is declared (a connection that is closed at once).
    """

    status: int | None = None
    response_digest: str = ""
    exception: str | None = None
    retry_after: str | None = None
    latency_us: int | None = None


def wire(event: FaultEvent, kind: KindSpec, dialect: str) -> Wire:
    """The kind's wire effect in a dialect, with the event's parameters filled in.

    Raises KeyError if the kind does not speak the dialect.
    """
    effect = kind.wire[dialect]
    if isinstance(effect, Respond):
        return effect.model_copy(
            update={
                "headers": {k: _fill(v, event) for k, v in effect.headers.items()},
                "body": _fill(effect.body, event),
            }
        )
    if event.effect_lands is not None:
        return effect.model_copy(update={"forward": event.effect_lands})
    return effect


def declared(event: FaultEvent, kind: KindSpec, dialect: str, timeout_us: int) -> Shape:
    """What the client must report at a coordinate where the event is live."""
    effect = wire(event, kind, dialect)
    match effect:
        case Respond():
            headers = {name.lower(): value for name, value in effect.headers.items()}
            return Shape(
                effect.status,
                text_digest(effect.body),
                retry_after=headers.get("retry-after"),
                latency_us=kind.latency_ms * 1000,
            )
        case Close():
            return Shape(exception=CLOSED)
        case Stall():
            stall_us = round(effect.stall_s * 1_000_000)
            exception = TIMEOUT if stall_us >= timeout_us else CLOSED
            return Shape(exception=exception, latency_us=min(stall_us, timeout_us))


def _fill(text: str, event: FaultEvent) -> str:
    """Fill `{name}` with the event's parameters; other braces (JSON) stay as they are."""
    for name, value in event.params.items():
        text = text.replace("{" + name + "}", str(value))
    return text
