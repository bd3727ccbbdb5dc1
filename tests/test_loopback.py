"""A small HTTP server of our own: there from construction, gone after `close`."""

import threading

import httpx
import pytest
from aiohttp import web

from hfr_bench.loopback import LoopThread, Served, listen


async def echo(request: web.BaseRequest) -> web.StreamResponse:
    return web.Response(text=request.path)


def test_it_answers_until_it_is_closed() -> None:
    served = Served(echo, "a-server")
    url = f"http://127.0.0.1:{served.port}/x"
    assert httpx.get(url).text == "/x"
    assert "a-server" in {thread.name for thread in threading.enumerate()}
    served.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)
    assert "a-server" not in {thread.name for thread in threading.enumerate()}


def test_a_port_that_is_taken_is_told() -> None:
    served, loop = Served(echo, "first"), LoopThread("second")
    try:
        with pytest.raises(OSError, match=str(served.port)):
            loop.call(listen(echo, served.port))
    finally:
        loop.close()
        served.close()
