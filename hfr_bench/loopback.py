"""Small HTTP servers of our own: a daemon thread with an event loop, bound to loopback.

Gateway, proxies and model servers are plugs that may not know each other; this is what they share.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from aiohttp import web

try:
    import uvloop
except ImportError:  # not built for Windows; asyncio's own loop does the same, slower
    new_event_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
else:
    new_event_loop = uvloop.new_event_loop

Answer = TypeVar("Answer")
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_JOIN_S = 30.0
_START_S = 60.0
_STOP_S = 30.0


class LoopThread:
    """An event loop that runs in a daemon thread until `close`."""

    def __init__(self, name: str) -> None:
        self._loop = new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, Answer], timeout_s: float | None = None) -> Answer:
        """Run a coroutine in the loop and wait for it. Raises what it raises, or TimeoutError."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_JOIN_S)
        if not self._thread.is_alive():
            self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()


async def listen(handler: Handler, port: int = 0) -> tuple[web.ServerRunner, int]:
    """Serve on a loopback port (0: a free one); returns what to clean up, and the port.

    Raises OSError if the port is taken.
    """
    runner = web.ServerRunner(web.Server(handler, access_log=None), shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
    except OSError:
        await runner.cleanup()
        raise
    return runner, int(runner.addresses[0][1])


class Served:
    """A handler on a free loopback port, in a loop thread of its own, until `close`.

    `port`: where it listens. Raises OSError if no port can be bound.
    """

    def __init__(self, handler: Handler, name: str) -> None:
        self._loop = LoopThread(name)
        self._runner: web.ServerRunner | None = None
        try:
            self._runner, self.port = self._loop.call(listen(handler), _START_S)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Hang up and end the thread. Once."""
        try:
            if self._runner is not None:
                self._loop.call(self._runner.cleanup(), _STOP_S)
        finally:
            self._loop.close()
