"""The stand-in's socket: OpenAI chat completions on loopback, in a daemon thread of its own."""

from aiohttp import web

from hfr_bench.llms.rehearsal.answer import Desk, Reply, refuse
from hfr_bench.loopback import LoopThread, listen

PATH = "/v1/chat/completions"
_START_S = 10.0
_STOP_S = 5.0


class Server:
    """Serves a desk from construction to `close`. Raises OSError if no port can be bound."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._loop = LoopThread("hfr-rehearsal")
        self._runner: web.ServerRunner | None = None
        try:
            self._runner, self.port = self._loop.call(listen(self._handle), _START_S)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        try:
            if self._runner is not None:
                self._loop.call(self._runner.cleanup(), _STOP_S)
        finally:
            self._loop.close()

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
