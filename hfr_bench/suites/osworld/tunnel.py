"""An address for a guest that has none: a loopback port on this side, whose requests go over stdio.

For who comes with a client of his own. Each request is passed on as it is, once; one that takes
long holds up no other.
"""

import asyncio

from aiohttp import web

from hfr_bench.loopback import LoopThread, listen
from hfr_bench.ports.sandbox import HostDiedError, ToolHost
from hfr_bench.suites.osworld.client import GuestError, OverHost, Reply

TIMEOUT_S = 1900.0
"""As long as OSWorld's client waits for a file to be opened; every shorter wait is its own."""
_ANSWERED = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive", "date"})
_ASKED = _ANSWERED | {"host", "accept-encoding"}


class Tunnel:
    """A loopback port before a guest's tool host. `url`: its address, without a trailing slash."""

    def __init__(self, host: ToolHost) -> None:
        self._over = OverHost(host)
        self._thread = LoopThread("osworld")
        self._runner: web.ServerRunner | None = None
        self._runner, port = self._thread.call(listen(self._forward))
        self.url = f"http://127.0.0.1:{port}"

    def close(self) -> None:
        """Stop listening; idempotent."""
        runner, self._runner = self._runner, None
        if runner is not None:
            self._thread.call(runner.cleanup(), 30.0)
            self._thread.close()

    async def _forward(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = {
            name: value for name, value in request.headers.items() if name.lower() not in _ASKED
        }
        body = await request.read()
        loop = asyncio.get_running_loop()
        send = self._over.send
        try:
            reply: Reply = await loop.run_in_executor(
                None, send, request.method, request.raw_path, headers, body, TIMEOUT_S
            )
        except (GuestError, HostDiedError):  # told again to whoever asks the host next
            if request.transport is not None:
                request.transport.abort()
            raise
        told = {name: value for name, value in reply.headers.items() if name not in _ANSWERED}
        return web.Response(status=reply.status, body=reply.body, headers=told)
