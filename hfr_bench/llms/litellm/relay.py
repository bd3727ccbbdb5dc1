"""The relay: OpenAI's wire on loopback, litellm behind it, the provider's own errors absorbed.

    client -> gateway (injects) -> relay -> litellm -> provider

An organic error is tried again up to registered bounds; when they are used up the relay hangs up,
which is what the gateway tells as organic and what makes the trial a void.
"""

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from hfr_bench.llms.litellm.passage import REQUEST_ID, Passage, Passages
from hfr_bench.llms.litellm.provider import Answer, OrganicError
from hfr_bench.loopback import Served
from hfr_bench.model.price import Price, charged
from hfr_bench.ports.llm import ABSORBED

PATH = "/v1/chat/completions"
ORGANIC_WAIT = "x-hfr-organic-wait-us"
TIMEOUT_S = 600.0  # of a foreign agent's request, which does not tell its own
_THREADS = 64
_LOG = logging.getLogger(__name__)

Complete = Callable[[Mapping[str, Any], float], Answer]


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far organic errors are absorbed: tries after the first; back-off from, to (seconds).

    A Retry-After longer than `wait_max_s` is not waited for.
    """

    retries: int = 4
    wait_s: float = 1.0
    wait_max_s: float = 30.0

    def wait(self, failed: int, after_s: float) -> float | None:
        """How long to wait after so many failures; None = no more."""
        if failed > self.retries or after_s > self.wait_max_s:
            return None
        return float(max(after_s, min(self.wait_s * 2 ** (failed - 1), self.wait_max_s)))


class Relay:
    """Serves from construction to `close`. Raises OSError if no port can be bound."""

    def __init__(
        self,
        complete: Complete,
        prices: Mapping[str, Price | None],
        passages: Passages,
        bounds: Bounds,
    ) -> None:
        self._complete = complete
        self._prices = prices
        self._passages = passages
        self._bounds = bounds
        self._closing = threading.Event()
        self._threads = ThreadPoolExecutor(_THREADS, "hfr-litellm")
        self._served = Served(self._handle, "hfr-relay")
        self.port = self._served.port

    def close(self) -> None:
        """Stop waiting, hang up on what is under way, end the threads."""
        self._closing.set()
        try:
            self._served.close()
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def carry(self, request: Mapping[str, Any], passage: Passage) -> Answer | None:
        """The provider's answer, after as many tries as the bounds allow; None = none came."""
        began = last = time.monotonic_ns()
        while True:
            try:
                answer = self._complete(request, passage.timeout_s or TIMEOUT_S)
            except OrganicError as error:
                passage.organic += 1
                self._passages.organic += 1
                passage.why = str(error)
                wait = self._bounds.wait(passage.organic, error.after_s) if error.again else None
                if wait is None or self._closing.wait(wait):
                    self._passages.exhausted += 1
                    _LOG.warning("no answer from %s: %s", request["model"], error)
                    return None
                _LOG.info("organic error of %s: %s", request["model"], error)
                last = time.monotonic_ns()
                continue
            passage.organic_us = (last - began) // 1000
            passage.cost_microusd = self._cost(request["model"], answer)
            passage.answered = True
            return answer

    def _cost(self, model: str, answer: Answer) -> int | None:
        if answer.status != 200:
            return 0  # providers charge nothing for what they refuse
        return charged(self._prices[model], answer.tokens)

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        if request.method != "POST" or request.path != PATH:
            return _send(_refuse(404, f"the relay takes POST {PATH} only"))
        try:
            asked = json.loads(await request.content.read())
            model, streamed = asked["model"], asked.get("stream")
            if not isinstance(asked["messages"], list):
                raise TypeError("messages must be a list")
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            return _send(_refuse(400, f"not a chat completion request: {error!r}"))
        if streamed:
            return _send(_refuse(400, "streaming is not offered here"))
        if model not in self._prices:
            offered = ", ".join(self._prices)
            return _send(_refuse(404, f"{model!r} is not registered; there are: {offered}"))
        passage = self._passages.find(request.headers.get(REQUEST_ID, ""))
        passage.reached = True
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._threads, self.carry, asked, passage)
        if answer is None:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        told = {ORGANIC_WAIT: str(passage.organic_us), ABSORBED: str(passage.organic)}
        return _send(answer, told if passage.organic else {})


def _refuse(status: int, message: str) -> Answer:
    error = {"message": f"hfr-bench relay: {message}", "type": "invalid_request_error"}
    return Answer(status, {"error": error | {"param": None, "code": None}})


def _send(answer: Answer, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.json_response(answer.body, status=answer.status, headers=headers)
