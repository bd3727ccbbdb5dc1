"""The effects of model faults on the wire, exactly as their kinds declare them.

Whatever needs the real answer is given it: read to its end, before a byte of it goes out. Where the
model server did not answer with a success, there is nothing to spoil, and its error goes out.
"""

import contextlib

from hfr_bench.injectors.gateway import edits, routes, sse
from hfr_bench.injectors.gateway.exchange import Answer, Exchange
from hfr_bench.injectors.gateway.serving import Reply, Sending
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import Close, Cut, Drip, Respond, Rewrite, Stall

LATENCY = "x-hfr-latency-us"

# Where in an answer a tool call's JSON is, whole and streamed.
_INSIDE = {
    ("openai_chat", False): b'"arguments"',
    ("openai_chat", True): b'"arguments"',
    ("openai_responses", False): b'"arguments"',
    ("openai_responses", True): b"function_call_arguments.delta",
    ("anthropic", False): b'"input"',
    ("anthropic", True): b'"partial_json"',
    ("gemini", False): b'"args"',
    ("gemini", True): b'"args"',
}


async def respond(exchange: Exchange, effect: Respond, latency_us: int) -> Reply:
    """An answer that the model server knows nothing of."""
    body, headers = effect.body.encode(), dict(effect.headers)
    if effect.status < 400 and body[:1] == b"{" and _streams(exchange):
        body = sse.error_stream(exchange.dialect, body)
        headers = {**_without(headers, "content-type"), "content-type": "text/event-stream"}
    if exchange.virtual:
        headers[LATENCY] = str(latency_us)
    else:
        await exchange.guest.pause(latency_us)
    return exchange.answer(Reply(effect.status, headers, body))


async def lose(exchange: Exchange, effect: Close | Stall, latency_us: int) -> None:
    """End the connection without an answer; stalls are announced, or really waited for."""
    stall_us = round(effect.stall_s * 1e6) if isinstance(effect, Stall) else latency_us
    exchange.tell("", failed=True, stall_us=stall_us)
    if not exchange.virtual:
        await exchange.guest.pause(stall_us)
    exchange.lose()


async def spoil(exchange: Exchange, effect: Drip | Cut | Rewrite, real: Answer) -> Reply | None:
    """The real answer, and what the effect makes of it."""
    if 200 <= real.status < 300:
        if isinstance(effect, Rewrite):
            return _rewrite(exchange, effect, real)
        with contextlib.suppress(OSError):  # the client may be gone
            if isinstance(effect, Cut):
                await _cut(exchange, effect, real)
            else:
                await _drip(exchange, effect, real)
        _break_off(exchange)
        return None
    exchange.tell(text_digest(real.body), failed=True)
    return Reply(real.status, real.headers, real.body)


def _rewrite(exchange: Exchange, effect: Rewrite, real: Answer) -> Reply:
    """The altered answer, or the real one if it cannot be altered: it is no model's."""
    tools = routes.tools_of(exchange.body)
    dialect, streamed = exchange.dialect, real.streamed
    body = edits.edited(effect.edits, real.body, dialect, tools, streamed=streamed)
    body = real.body if body is None else body
    true_digest = text_digest(real.body)
    exchange.tell(text_digest(body), failed=not effect.answered, true_digest=true_digest)
    return Reply(real.status, real.headers, body)


async def _cut(exchange: Exchange, effect: Cut, real: Answer) -> None:
    """The beginning of the answer; then the connection ends."""
    at = where(effect.at, exchange.dialect, real.body, streamed=real.streamed)
    announced = real.headers.get(LATENCY, "")
    exchange.tell("", failed=True, stall_us=int(announced) if announced.isdigit() else 0)
    await _begin(exchange, real).send(real.body[:at])


async def _drip(exchange: Exchange, effect: Drip, real: Answer) -> None:
    """A byte each `every_s`, never the last one; on a virtual clock one byte says it all."""
    stall_us, every_us = round(effect.stall_s * 1e6), round(effect.every_s * 1e6)
    exchange.tell("", failed=True, stall_us=stall_us)
    left_us, body, at = (0 if exchange.virtual else stall_us), real.body, 0
    sending = _begin(exchange, real)
    await sending.send(body[:1])
    while left_us > 0 and not exchange.guest.gone.is_set():
        await exchange.guest.pause(min(every_us, left_us))
        left_us -= every_us
        at += 1
        if at + 1 < len(body):
            await sending.send(body[at : at + 1])
        elif exchange.request.transport is None:
            break


def _begin(exchange: Exchange, real: Answer) -> Sending:
    """The head of an answer that will not come to its end."""
    length = None if real.streamed else len(real.body)
    return exchange.request.begin(real.status, real.headers, length)


def _break_off(exchange: Exchange) -> None:
    """Close the connection behind what was written."""
    if exchange.request.transport is not None:
        exchange.request.transport.close()


def where(at: str, dialect: str, body: bytes, *, streamed: bool) -> int:
    """How many bytes of an answer come before it breaks off."""
    half = len(body) // 2
    if at == "half":
        return half
    mark = _INSIDE[dialect, streamed]
    first, last = body.find(mark), body.rfind(mark)
    if first < 0:
        return half
    inside = (first + last) // 2 if streamed and last > first else first
    return min(inside + len(mark) + 3, len(body) - 1)


def _streams(exchange: Exchange) -> bool:
    return routes.streams(exchange.body, exchange.path)


def _without(headers: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in headers.items() if key.lower() != name}


def known(name: str) -> bool:
    """Whether there is an edit of this name."""
    return name in edits.NAMES
