"""The stand-in's socket: OpenAI chat completions on loopback, in a daemon thread of its own."""

from aiohttp import web

from hfr_bench.llms.rehearsal.answer import Desk, Reply, refuse
from hfr_bench.loopback import Served

PATH = "/v1/chat/completions"


class Server:
    """Serves a desk from construction to `close`. Raises OSError if no port can be bound."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._served = Served(self._handle, "hfr-rehearsal")
        self.port = self._served.port

    def close(self) -> None:
        self._served.close()

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
