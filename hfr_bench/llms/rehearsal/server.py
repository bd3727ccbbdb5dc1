"""The stand-in's socket: OpenAI chat completions on loopback, in a daemon thread of its own."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

from aiohttp import web

from hfr_bench.llms.rehearsal.answer import Desk, Reply, refuse

try:
    import uvloop
except ImportError:  # not built for Windows; asyncio's own loop does the same, slower
    new_event_loop = asyncio.new_event_loop
else:
    new_event_loop = uvloop.new_event_loop

PATH = "/v1/chat/completions"
_START_S = 10.0
_STOP_S = 5.0


class Server:
    """Serves a desk from construction to `close`. Raises OSError if no port can be bound."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._loop = new_event_loop()
        self._thread = threading.Thread(target=self._run, name="hfr-rehearsal", daemon=True)
        self._thread.start()
        self._runner: web.ServerRunner | None = None
        try:
            self.port = self._call(self._open(), _START_S)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        try:
            if self._runner is not None:
                self._call(self._runner.cleanup(), _STOP_S)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_STOP_S)
            if not self._thread.is_alive():
                self._loop.close()

    def _call(self, work: Coroutine[Any, Any, Any], timeout_s: float) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _open(self) -> int:
        server = web.Server(self._handle, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return int(self._runner.addresses[0][1])

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        if request.path != PATH:
            return _send(refuse(404, "not_found", f"the rehearsal server answers {PATH} only"))
        if request.method != "POST":
            return _send(refuse(405, "method_not_allowed", f"{PATH} takes POST"))
        body = await request.content.read()
        return _send(self._desk.answer(request.headers, body))


def _send(reply: Reply) -> web.Response:
    headers = {"content-type": "application/json"}
    if reply.latency_us is not None:
        headers["x-hfr-latency-us"] = str(reply.latency_us)
    return web.Response(status=reply.status, headers=headers, body=reply.body)
