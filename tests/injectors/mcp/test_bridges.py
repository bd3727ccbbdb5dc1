"""Across transports: a command behind HTTP, and a URL behind stdio, with faults in between."""

import asyncio
import sys
from pathlib import Path

import aiohttp
import mcp_types as types
import pytest

pytest.importorskip("mcp", reason="needs the MCP SDK: pip install 'hfr-bench[mcp]'")

from mcp.shared.memory import create_client_server_memory_streams

from hfr_bench.injectors.mcp.hosted import Hosted
from hfr_bench.injectors.mcp.http import HttpProxy
from hfr_bench.injectors.mcp.lines import LinesProxy
from hfr_bench.injectors.mcp.sdk import HttpLines, listed
from hfr_bench.injectors.mcp.traffic import Traffic

from .rigs import PATIENT_S, Client, Wires, ask, boundary_of, event, served, wait_in_vain
from .server import count
from .test_lifetime import gone

SERVER = Path(__file__).parent / "server.py"


def test_a_command_behind_http(tmp_path):
    """A process a session; a client that offers a revision without sessions falls back."""
    boundary, _ = boundary_of([event("tool_session_expired", "buy", 2)])
    pids: list[int] = []

    async def sample(context, params):
        text = types.TextContent(type="text", text="words")
        return types.CreateMessageResult(role="assistant", content=text, model="m")

    async def scenario() -> None:
        hosted = Hosted([sys.executable, str(SERVER), str(tmp_path / "world")])
        await hosted.start()
        connector = aiohttp.UnixConnector(path=str(hosted.socket))
        async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:
            proxy = HttpProxy(boundary, Traffic(boundary.record), hosted.URL, session)
            url = await proxy.start("127.0.0.1", 0)
            async with Client(url, sampling_callback=sample) as client:
                assert client.protocol_version == "2025-11-25"
                assert not (await ask(client, "buy", {"item": "tea"})).is_error
                answer = await ask(client, "ask_model", {"question": "?"})
                assert answer.content[0].text == "words"
                assert (await ask(client, "buy", {"item": "cake"})).code == -32600
                pids.extend(one.child.pid for one, _ in hosted._sessions.values())
            await proxy.stop(1)
        await hosted.stop()
        assert not hosted.socket.exists()

    asyncio.run(scenario())
    assert count(tmp_path / "world") == 1
    assert len(pids) == 1
    assert gone(*pids)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_url_behind_stdio(mode, tmp_path):
    faults = [event("tool_outcome_unknown", "buy", lands=True), event("tool_5xx", "motto")]
    boundary, _ = boundary_of(faults)

    async def scenario() -> None:
        async with served(tmp_path) as url, create_client_server_memory_streams() as both:
            behind, before = HttpLines(url), Wires(both[1])
            await behind.start()
            proxy = LinesProxy(boundary, Traffic(boundary.record), before, behind)
            running = asyncio.ensure_future(proxy.run())
            async with Client(transport_of(both[0]), mode=mode) as client:
                assert len((await client.list_tools()).tools) > 3
                assert await wait_in_vain(client, "buy", {"item": "tea"})
                assert (await ask(client, "motto")).is_error
                assert not (await ask(client, "motto")).is_error
            await both[0][1].aclose()
            assert await asyncio.wait_for(running, PATIENT_S)
            await behind.close()

    asyncio.run(scenario())
    assert count(tmp_path / "world") == 1


class transport_of:  # noqa: N801 - used like a function
    """A pair of streams as a transport."""

    def __init__(self, streams) -> None:
        self.streams = streams

    async def __aenter__(self):
        return self.streams

    async def __aexit__(self, *_: object) -> None:
        pass


@pytest.mark.slow
def test_tools_are_listed_with_their_hints(tmp_path):
    found = listed([sys.executable, str(SERVER), str(tmp_path / "world")], "")
    hints = {tool.name: tool[1:] for tool in found.tools}
    assert found.server == "shop"
    assert hints["order"] == (True, None, None)
    assert hints["set_note"] == (None, True, None)
    assert hints["drop"] == (None, None, True)
    assert hints["buy"] == (None, None, None)
