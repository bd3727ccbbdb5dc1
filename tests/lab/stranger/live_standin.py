"""A plugin whose model service is labelled live and is a stand-in on loopback: no model's numbers.

It follows a suite's solutions, and says each thing with ids of its own, as live services do.
"""

import itertools
import json
import re
from dataclasses import replace

from aiohttp import web

from hfr_bench.llms.openai_wire import ClientPool
from hfr_bench.llms.rehearsal.answer import Desk
from hfr_bench.llms.rehearsal.prices import Tier
from hfr_bench.llms.rehearsal.script import cut
from hfr_bench.loopback import LoopThread, listen
from hfr_bench.model.price import charged, priced, tokens
from hfr_bench.model.record import json_digest
from hfr_bench.model.terms import Origin

MODEL = "standin-1"
ROW = {"input_cost_per_token": 1.5e-06, "output_cost_per_token": 6e-06}


class StandIn:
    """An LlmBackend whose provider is somebody else's, at `url`."""

    origin = Origin.LIVE
    prices_digest = "standin"

    def __init__(self, url=""):
        self._url = url
        self._pool = ClientPool({MODEL: 7})

    def start(self, sealed):
        assert not sealed, "a live service is never given solutions"
        return self._url

    def client(self, base_url, scope):
        return self._pool.client(base_url, scope)

    def stop(self):
        self._pool.close()


class Tabled(StandIn):
    """The same, charged by tokens and a table's row; what was lost on the way costs nothing."""

    price_rows = {MODEL: ROW, "nobody-1": None}
    prices_digest = json_digest(price_rows)

    def client(self, base_url, scope):
        return _ByTokens(super().client(base_url, scope))


class _ByTokens:
    def __init__(self, inner):
        self._inner = inner

    def attempt(self, call):
        seen = self._inner.attempt(call)
        cost = charged(priced(ROW), tokens(seen.tokens_in, seen.tokens_out)) if seen.answered else 0
        return replace(seen, cost_microusd=cost)


class Provider:
    """The stand-in's service. `asked`: the headers and bodies of all requests.

    `down`: so many requests it hangs up on before it answers again. `user`: what tells a request
    for the user's words; only with a single task.
    """

    def __init__(self):
        self.asked = []
        self.down = 0
        self.user = b""
        self._tasks, self._desk = {}, None
        self._count = itertools.count(1)
        self._loop = LoopThread("provider")
        self._runner, port = self._loop.call(listen(self._handle), 10)
        self.url = f"http://127.0.0.1:{port}/v1"

    def learn(self, bench):
        """The solutions of all of a bench's tasks, found again by what their users say first."""
        sealed = {key: bench.sealed(*key) for key in bench.tasks}
        self._tasks = {one.opening: key for key, one in sealed.items()}
        tier = Tier(model=MODEL, success_rate=1.0, cost_microusd=0, latency_us=0)
        self._desk = Desk({MODEL: tier}, {key: cut(one) for key, one in sealed.items()})

    def _as_user(self, messages, number):
        """The task's opening, said otherwise each time; then goodbye."""
        (opening,) = self._tasks
        told = sum(message["role"] == "assistant" for message in messages)
        text = "###STOP###" if told else f"{opening}~{number}"
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response({"model": MODEL, "choices": [choice], "usage": {}})

    def close(self):
        if self._runner is not None:
            self._loop.call(self._runner.cleanup(), 5)
            self._loop.close()
            self._runner = None

    async def _handle(self, request):
        body = await request.content.read()
        self.asked.append(({name.lower(): v for name, v in request.headers.items()}, body))
        if self.down:
            self.down -= 1
            request.transport.abort()
            return web.Response()
        number = next(self._count)
        if self.user and self.user in body:
            return self._as_user(json.loads(body)["messages"], number)
        plain = re.sub(rb"~\d+", b"", body)
        opening = next(m["content"] for m in json.loads(plain)["messages"] if m["role"] == "user")
        suite, task = self._tasks[opening]
        at = {"suite": suite, "task": task, "seed": "1", "point": "model:agent"}
        at |= {"occurrence": "1", "attempt": "1"}
        reply = self._desk.answer({f"x-hfr-{name}": value for name, value in at.items()}, plain)
        said = re.sub(rb'"call_(\w+)"', rb'"call_\1~%d"' % number, reply.body)
        said = b'{"system_fingerprint":"answer~%d",' % number + said.removeprefix(b"{")
        return web.Response(status=reply.status, body=said, content_type="application/json")
