"""The thin client: one attempt of one model call over real HTTP, and nothing clever.

It retries nothing, and reports failures as observations. Under a virtual clock the time of an
attempt is what was announced for it; under the wall clock it is what was measured.
"""

import json
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx

from hfr_bench.faults.shape import CLOSED, TIMEOUT
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.terms import ClockKind
from hfr_bench.ports.llm import ModelScope, request_body

PREFIX = "x-hfr-"
LATENCY = "x-hfr-latency-us"
UNREACHED = "ConnectError"
_SOCKET_S = 30.0  # virtual clock only: our own loopback; longer means that it hangs
_IDLE_S = 30.0  # shorter than any server's keep-alive, so that no request meets a closing socket


class ClientPool:
    """One `httpx.Client` a thread, kept alive from trial to trial; closed all together.

    `prices`: micro-dollars of one attempt by requested model. `headers`: sent with every request
    (authorization of a live service).
    """

    def __init__(self, prices: Mapping[str, int], headers: Mapping[str, str] | None = None) -> None:
        self._prices = prices
        self._headers = dict(headers or {})
        self._mine = threading.local()
        self._lock = threading.Lock()
        self._all: list[httpx.Client] = []

    def client(self, base_url: str, scope: ModelScope) -> "OpenAiClient":
        """A client for one trial, to be used by the calling thread only."""
        http: httpx.Client | None = getattr(self._mine, "http", None)
        if http is None or http.is_closed:
            http = self._mine.http = httpx.Client(
                headers=self._headers | {"accept-encoding": "identity"},
                limits=httpx.Limits(keepalive_expiry=_IDLE_S),
                trust_env=False,
                verify=base_url.startswith("https:"),
            )
            with self._lock:
                self._all.append(http)
        return OpenAiClient(http, base_url, scope, self._prices)

    def close(self) -> None:
        """Close every thread's client; call it once the threads are done. Idempotent."""
        with self._lock:
            clients, self._all = self._all, []
        for http in clients:
            http.close()


class _Heard(NamedTuple):
    """What the socket said: a response and its body, or the normalised name of what was raised."""

    response: httpx.Response | None
    body: bytes = b""
    exception: str | None = None
    sent: bool = True


class OpenAiClient:
    """A CallPort that speaks OpenAI chat completions."""

    def __init__(
        self, http: httpx.Client, base_url: str, scope: ModelScope, prices: Mapping[str, int]
    ) -> None:
        self._http = http
        self._url = httpx.URL(base_url.rstrip("/") + "/chat/completions")
        self._scope = scope
        self._prices = prices
        self._virtual = scope.clock.kind is ClockKind.VIRTUAL
        self._headers = {
            "content-type": "application/json",
            "x-hfr-suite": scope.suite,
            "x-hfr-task": scope.task_id,
            "x-hfr-seed": str(scope.seed),
        }

    def attempt(self, call: Call, extra: Mapping[str, str] | None = None) -> Observation:
        """Make one attempt. Every attempt is charged; failures come back as observations.

        `extra`: further headers of this attempt alone.
        """
        began = time.monotonic_ns()
        heard = self._send(call, extra or {})
        measured_us = (time.monotonic_ns() - began) // 1000
        latency_us = self._announced(heard) if self._virtual else measured_us
        if latency_us >= call.timeout_us or heard.exception == TIMEOUT:
            heard = _Heard(None, exception=TIMEOUT, sent=heard.sent)
            if self._virtual:
                latency_us = call.timeout_us
        if self._virtual:
            self._scope.clock.wait(latency_us)
        cost = self._prices.get(call.target)
        if heard.response is None:
            return Observation(
                answered=False,
                exception=heard.exception,
                sent=heard.sent,
                cost_microusd=cost,
                latency_us=latency_us,
            )
        return _observe(heard.response, heard.body, cost, latency_us)

    def _send(self, call: Call, extra: Mapping[str, str]) -> _Heard:
        headers = self._headers | {
            **extra,
            "x-hfr-point": call.point,
            "x-hfr-occurrence": str(call.occurrence),
            "x-hfr-attempt": str(call.attempt),
            "x-hfr-timeout-us": str(call.timeout_us),
        }
        timeout_s = _SOCKET_S if self._virtual else call.timeout_us / 1e6
        try:
            return self._exchange(request_body(call), headers, timeout_s)
        except (httpx.ConnectTimeout, httpx.PoolTimeout):
            return _Heard(None, exception=TIMEOUT, sent=False)
        except httpx.TimeoutException:
            return _Heard(None, exception=TIMEOUT)
        except httpx.ConnectError:
            return _Heard(None, exception=UNREACHED, sent=False)
        except httpx.RequestError:
            return _Heard(None, exception=CLOSED)

    def _exchange(self, content: bytes, headers: Mapping[str, str], timeout_s: float) -> _Heard:
        """Post it and hear all of the answer, or no more once its time is over.

        httpx limits the wait for the next bytes alone: an answer that trickles in has no end.
        """
        body, ends = bytearray(), time.monotonic() + timeout_s
        with self._http.stream(
            "POST", self._url, content=content, headers=dict(headers), timeout=timeout_s
        ) as response:
            for part in response.iter_bytes():
                body += part
                if time.monotonic() >= ends:
                    return _Heard(None, exception=TIMEOUT)
        return _Heard(response, bytes(body))

    def _announced(self, heard: _Heard) -> int:
        """How long the attempt took in trial time, as the servers on the way announced it."""
        if heard.response is not None:
            text = heard.response.headers.get(LATENCY, "")
            return int(text) if text.isdigit() else 0
        return self._scope.announced_us() if heard.exception == CLOSED else 0


def _observe(
    response: httpx.Response, raw: bytes, cost: int | None, latency_us: int
) -> Observation:
    """A response as an observation; answered only if a message can be read from it."""
    found = _completion(raw) if response.is_success else None
    completion, choice = found or ({}, {})
    usage = completion.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Observation(
        answered=found is not None,
        status=response.status_code,
        headers={k: v for k, v in response.headers.items() if not k.startswith(PREFIX)},
        body=raw.decode(errors="replace"),
        payload=choice.get("message"),
        finish_reason=_text(choice.get("finish_reason")),
        returned_model=_text(completion.get("model")),
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        cost_microusd=cost,
        latency_us=latency_us,
    )


def _completion(raw: bytes) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The completion and its first choice, or None if no message can be read from it."""
    try:
        completion = json.loads(raw)
        choice = completion["choices"][0]
        readable = _is_message(choice["message"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return (completion, choice) if readable else None


def _is_message(message: Any) -> bool:
    """A message an agent can go on with: text or none, and whole tool calls or none."""
    if not isinstance(message, dict) or not isinstance(message.get("content"), str | None):
        return False
    calls = message.get("tool_calls")
    return calls is None or (isinstance(calls, list) and all(_is_call(call) for call in calls))


def _is_call(call: Any) -> bool:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(call.get("id"), str):
        return False
    return isinstance(function.get("name"), str) and isinstance(function.get("arguments"), str)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0
