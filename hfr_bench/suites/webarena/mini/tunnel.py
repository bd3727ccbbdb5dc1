"""How requests reach sites in a container without a network: by loopback ports on this side.

    driver ── HTTP ──→ 127.0.0.1:PORT (one a site) ── JSON line over stdio ──→ host ── ASGI app

A browser, a proxy or a grader needs an address; the container has none to offer, and gets no
network for it. Each request is one `http` op of the host, which answers one after the other.
"""

import asyncio
import base64
from collections.abc import Sequence

from aiohttp import web

from hfr_bench.loopback import LoopThread, listen
from hfr_bench.ports.sandbox import HostDiedError, HostRefusedError, ToolHost

TIMEOUT_S = 30.0
_OURS = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive", "date"})


class Tunnel:
    """A loopback port for each site of a host. `urls`: by site, without a trailing slash."""

    def __init__(self, host: ToolHost, sites: Sequence[str]) -> None:
        self._host = host
        self._thread = LoopThread("web-mini")
        self._runners: list[web.ServerRunner] = []
        self.urls = {site: self._thread.call(self._listen(site)) for site in sites}

    def close(self) -> None:
        """Stop listening; idempotent."""
        runners, self._runners = self._runners, []
        if runners:
            self._thread.call(_clean(runners), TIMEOUT_S)
            self._thread.close()

    async def _listen(self, site: str) -> str:
        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            return await self._forward(site, request)

        runner, port = await listen(handle)
        self._runners.append(runner)
        return f"http://127.0.0.1:{port}"

    async def _forward(self, site: str, request: web.BaseRequest) -> web.StreamResponse:
        fields = {
            "site": site,
            "method": request.method,
            "target": request.raw_path,
            "headers": list(request.headers.items()),
            "body": base64.b64encode(await request.read()).decode(),
        }
        loop = asyncio.get_running_loop()
        try:
            done = await loop.run_in_executor(None, self._host.request, "http", fields, TIMEOUT_S)
        except HostRefusedError as error:
            return web.Response(status=500, text=str(error))
        except HostDiedError:  # told again to whoever asks the host next, which voids the trial
            if request.transport is not None:
                request.transport.abort()
            raise
        headers = [(key, value) for key, value in done["headers"] if key.lower() not in _OURS]
        response = web.Response(status=done["status"], body=done["body"].encode())
        for key, value in headers:
            if key.lower() == "content-type":
                response.headers[key] = value
            else:
                response.headers.add(key, value)
        return response


async def _clean(runners: Sequence[web.ServerRunner]) -> None:
    for runner in runners:
        await runner.cleanup()
