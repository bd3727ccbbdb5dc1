"""Garbled lines neither crash the proxy nor get lost: what cannot be read passes as it is."""

import asyncio
import json
from itertools import pairwise
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hfr_bench.injectors.mcp import messages
from hfr_bench.injectors.mcp.lines import LinesProxy
from hfr_bench.injectors.mcp.traffic import Traffic

from .rigs import boundary_of, event
from .test_passing import Script

scraps = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
named = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": scraps,
        "id": scraps,
        "method": st.sampled_from(["tools/call", "notifications/cancelled", "x"]) | scraps,
        "params": scraps
        | st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["buy", "\ud800"]) | scraps,
                "arguments": scraps,
                "requestId": scraps,
                "_meta": scraps
                | st.fixed_dictionaries(
                    {"hfr-bench/occurrence": scraps, "hfr-bench/attempt": scraps}
                ),
            },
        ),
        "result": scraps,
        "error": scraps,
    },
)
lines = st.one_of(
    named.map(lambda value: json.dumps(value).encode()),
    scraps.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=60).map(lambda raw: raw.replace(b"\n", b"").replace(b"\r", b"")),
).filter(bytes.strip)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(lines, max_size=8), st.lists(lines, max_size=8))
def test_no_line_breaks_it(said, answered):
    async def scenario() -> None:
        client, server = Script(*said), Script(*answered)
        faults = [event("tool_5xx", "buy"), event("tool_delayed_duplicate", "buy", 2)]
        boundary, _ = boundary_of(faults)
        proxy = LinesProxy(boundary, Traffic(boundary.record), client, server)
        running = asyncio.ensure_future(proxy.run())
        while not (client.queue.empty() and server.queue.empty()):
            await asyncio.sleep(0)
        for _ in range(8):
            await asyncio.sleep(0)
        assert not running.done()
        server.queue.put_nowait(None)
        assert await asyncio.wait_for(running, 60) is False
        passed = [one for one in said if not is_call(one)]
        assert [one for one in server.sent if one in passed] == passed
        assert len(client.sent) >= len(answered) - len(said)

    asyncio.run(scenario())


def is_call(line: bytes) -> bool:
    return messages.tool_request(line, messages.parse(line)) is not None


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=4))
def test_a_stream_of_events_is_cut_into_the_same_bytes(raw, cuts):
    edges = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    events = messages.Events()
    found = [event for start, end in pairwise(edges) for event in events.feed(raw[start:end])]
    assert b"".join(found) + events.rest() == raw


@given(scraps)
def test_data_of_an_event_can_be_put_back(value: Any):
    data = json.dumps(value).encode()
    event_ = b"event: message\r\nid: 7\r\ndata: {}\r\n\r\n"
    made = messages.with_data(event_, data)
    assert messages.data_of(made) == data
    assert made.startswith(b"event: message\r\nid: 7\r\n")
    assert list(messages.Events().feed(made)) == [made]
