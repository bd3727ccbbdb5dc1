"""An address for a guest that has none: a loopback port on this side, whose requests go over stdio.

For who comes with a client of his own. Each request is passed on as it is, once; one that takes
long holds up no other.
"""

import asyncio

from aiohttp import web

from hfr_bench.errors import InfrastructureError
from hfr_bench.loopback import LoopThread, listen
from hfr_bench.ports.sandbox import ToolHost
from hfr_bench.suites.osworld.client import SLICE_S, OverHost, Reply

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
        try:
            found: Reply | int = await loop.run_in_executor(
                None, self._over.begin, request.method, request.raw_path, headers, body, SLICE_S
            )
            while not isinstance(found, Reply):
                if request.transport is None or request.transport.is_closing():
                    break  # whoever asked has gone; the guest goes on
                found = await loop.run_in_executor(None, self._over.more, found, SLICE_S)
        except InfrastructureError:  # told again to whoever asks the host next
            if request.transport is not None:
                request.transport.abort()
            raise
        if not isinstance(found, Reply):
            return web.Response(status=499)
        told = {name: value for name, value in found.headers.items() if name not in _ANSWERED}
        return web.Response(status=found.status, body=found.body, headers=told)
