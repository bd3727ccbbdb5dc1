"""Whatever is no tool's call passes as it came, both ways, with faults all around it."""

import asyncio
import json
import warnings

import aiohttp
import mcp_types as types
import pytest

pytest.importorskip("mcp", reason="needs the MCP SDK: pip install 'hfr-bench[mcp]'")


from hfr_bench.faults.mcp import calls_in
from hfr_bench.injectors.mcp.http import HttpProxy
from hfr_bench.injectors.mcp.lines import LinesProxy
from hfr_bench.injectors.mcp.traffic import Traffic
from hfr_bench.model.trace import AttemptEnded, UpstreamHit

from .rigs import ask, boundary_of, event, over_http, over_lines

RIGS = {"stdio": over_lines, "http": over_http}


@pytest.mark.parametrize("over", RIGS)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_everything_else_passes(over, mode, tmp_path):
    async def scenario():
        async with RIGS[over](tmp_path, event("tool_5xx", "motto")) as rig:
            async with rig.client(mode) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                assert {"order", "buy", "slow"} <= set(names)
                read = await client.read_resource("shop://motto")
                assert read.contents[0].text == "48 hours to your door"
                said = await client.get_prompt("greet", {"name": "Ann"})
                assert said.messages[0].content.text == "Greet Ann."
                assert len((await client.list_resources()).resources) == 1
                if mode == "legacy":
                    with warnings.catch_warnings(action="ignore"):
                        await client.send_ping()
            points = {
                line.body.point
                for line in rig.boundary.record.events
                if isinstance(line.body, UpstreamHit)
            }
            assert not points  # none of it is about tools
            assert rig.audit().sums["tool", "tool_5xx"].reached == 0

    asyncio.run(scenario())


@pytest.mark.parametrize("over", RIGS)
def test_progress_and_the_clients_own_model(over, tmp_path):
    """What a server says, and asks, while it works at a call."""
    told: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(done)

    async def sample(context, params):
        text = types.TextContent(type="text", text="a model's words")
        return types.CreateMessageResult(role="assistant", content=text, model="m")

    async def scenario():
        async with (
            RIGS[over](tmp_path, event("semantic_wrong_number", "slow")) as rig,
            rig.client("legacy", sampling_callback=sample) as client,
        ):
            await client.call_tool("slow", {"item": "tea"}, progress_callback=progress)
            assert told == [1]
            answer = await ask(client, "ask_model", {"question": "?"})
            assert answer.content[0].text == "a model's words"
            assert rig.writes == 1

    with warnings.catch_warnings(action="ignore"):
        asyncio.run(scenario())


class Script:
    """One side of lines, driven by a list: what it says, and what it was sent."""

    def __init__(self, *said: bytes) -> None:
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.sent: list[bytes] = []
        self.heard = asyncio.Event()
        for line in said:
            self.queue.put_nowait(line)

    async def lines(self):
        while (line := await self.queue.get()) is not None:
            yield line

    async def send(self, line: bytes) -> None:
        self.sent.append(line)
        self.heard.set()

    async def close(self) -> None:
        pass


def test_lines_pass_to_the_byte():
    odd = [
        b'{"jsonrpc": "2.0",  "id": 1, "method": "x", "params": {"a": 1.0, "a": 1e999}, "z": null}',
        b'[{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"buy"}}]',
        b"not JSON \xff",
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/call","params":{"name":"\\ud800"}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}',
    ]

    async def scenario():
        client, server = Script(*odd), Script(*odd)
        boundary, _ = boundary_of([event("tool_5xx", "buy")])
        traffic = Traffic(boundary.record)
        running = asyncio.ensure_future(LinesProxy(boundary, traffic, client, server).run())
        while len(server.sent) < len(odd) or len(client.sent) < len(odd):
            await asyncio.sleep(0)
        client.queue.put_nowait(None)
        assert await running
        assert server.sent[: len(odd)] == odd
        assert client.sent == odd
        assert traffic.batches == 1

    asyncio.run(scenario())


def call(number: int, item: str) -> bytes:
    params = {"name": "buy", "arguments": {"item": item}}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(message).encode()


def cancel(number: int) -> bytes:
    params = {"requestId": number}
    return json.dumps(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    ).encode()


def test_a_cancelled_call_ends_and_one_that_was_silenced_cannot_be_taken_back():
    async def scenario():
        client, server = Script(call(1, "a"), cancel(1), call(2, "a"), cancel(2)), Script()
        lost = event("tool_outcome_unknown", "buy", attempt=2, lands=True)
        boundary, _ = boundary_of([lost])
        proxy = LinesProxy(boundary, Traffic(boundary.record), client, server)
        running = asyncio.ensure_future(proxy.run())
        while len(server.sent) < 3:
            await asyncio.sleep(0)
        for _ in range(5):
            await asyncio.sleep(0)
        assert server.sent == [call(1, "a"), cancel(1), call(2, "a")]
        server.queue.put_nowait(b'{"jsonrpc":"2.0","id":2,"result":{"content":[]}}')
        client.queue.put_nowait(None)
        assert await running
        assert not client.sent
        ends = [e.body for e in boundary.record.events if isinstance(e.body, AttemptEnded)]
        assert [one.exception for one in ends] == ["Cancelled", "Timeout"]

    asyncio.run(scenario())


def test_a_server_that_dies_is_told_apart():
    async def scenario():
        client, server = Script(call(1, "a")), Script()
        boundary, _ = boundary_of([])
        proxy = LinesProxy(boundary, Traffic(boundary.record), client, server)
        running = asyncio.ensure_future(proxy.run())
        await server.heard.wait()
        server.queue.put_nowait(None)
        assert await running is False
        hits = [e.body for e in boundary.record.events if isinstance(e.body, UpstreamHit)]
        assert [(hit.forwarded, hit.organic) for hit in hits] in ([(True, True)], [(False, True)])

    asyncio.run(scenario())


def test_the_kill_switch_sends_nothing_that_was_held_back():
    async def scenario():
        client, server = Script(call(1, "a")), Script()
        boundary, _ = boundary_of([event("tool_delayed_duplicate", "buy")])
        proxy = LinesProxy(boundary, Traffic(boundary.record), client, server)
        running = asyncio.ensure_future(proxy.run())
        while not calls_in(boundary.record.events):
            await asyncio.sleep(0)
        boundary.heal()
        client.queue.put_nowait(None)
        assert await running
        assert not server.sent

    asyncio.run(scenario())


def test_http_passes_status_headers_and_paths(tmp_path):
    """Also what no MCP client asks; and no page of a stranger's gets through."""

    async def scenario():
        async with over_http(tmp_path) as rig, aiohttp.ClientSession() as session:
            base = rig.url.removesuffix("/mcp")
            async with session.get(f"{base}/.well-known/nothing?x=1") as answer:
                assert answer.status == 404
            async with session.post(rig.url, data=b"{not json") as answer:
                assert answer.status in (400, 406, 415)
            accept = {"accept": "application/json, text/event-stream"}
            gone = accept | {"mcp-session-id": "nobody", "content-type": "application/json"}
            async with session.post(rig.url, data=call(1, "a"), headers=gone) as answer:
                assert answer.status == 404
                assert (await answer.json())["error"]["message"] == "Session not found"
            async with session.post(rig.url, headers={"host": "evil.example"}) as answer:
                assert answer.status == 403
            assert [len(rig.audit().failed), rig.writes] == [1, 0]

    asyncio.run(scenario())


def test_a_server_that_is_not_there(tmp_path):
    async def scenario():
        boundary, _ = boundary_of([])
        async with aiohttp.ClientSession() as session:
            traffic = Traffic(boundary.record)
            proxy = HttpProxy(boundary, traffic, "http://127.0.0.1:9/mcp", session)
            url = await proxy.start("127.0.0.1", 0)
            async with session.post(url, data=call(1, "a")) as answer:
                assert answer.status == 502
                assert "does not answer" in await answer.text()
            async with session.get(url) as answer:
                assert answer.status == 502
            await proxy.stop(1)
        hit = next(b for e in boundary.record.events if isinstance(b := e.body, UpstreamHit))
        assert (hit.forwarded, hit.organic) == (False, True)

    asyncio.run(scenario())
