"""The live backend against a provider of our own on loopback: wire, price, organic errors, key."""

import importlib.util
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.llms.litellm import LiteLlm
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.task import SealedTask
from hfr_bench.model.terms import ClockKind, Origin
from hfr_bench.ports.llm import ModelScope

if importlib.util.find_spec("litellm") is None:
    pytest.skip("litellm is not installed (the extra `litellm`)", allow_module_level=True)

# litellm's own dependencies warn in their own code; that is not ours to answer for.
pytestmark = pytest.mark.filterwarnings("default")

KEY = "test-key-3141592653"
PRICED, UNPRICED = "openai/gpt-4o-mini", "openai/test"
ASK = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}
CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"a":1}'}}
    ],
}
Answer = tuple[int, dict[str, str], bytes]


def completion(message: dict[str, Any] | None = None, usage: bool = True) -> Answer:
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "test-2026",
        "choices": [
            {
                "index": 0,
                "message": message or {"role": "assistant", "content": "hello"},
                "finish_reason": "tool_calls" if message else "stop",
            }
        ],
    }
    if usage:
        body["usage"] = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}
    return 200, {"content-type": "application/json"}, json.dumps(body).encode()


def refusal(status: int, text: str = "no", **headers: str) -> Answer:
    error = {"error": {"message": text, "type": "x", "param": None, "code": None}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, {"content-type": "application/json"} | named, json.dumps(error).encode()


class WallScopeClock:
    """A wall clock that remembers what it was asked to leave out."""

    kind = ClockKind.WALL

    def __init__(self) -> None:
        self.forgiven_us = 0

    def now_us(self) -> int:
        return time.monotonic_ns() // 1000

    def wait(self, us: int) -> None:
        time.sleep(us / 1e6)

    def forgive(self, us: int) -> None:
        self.forgiven_us += us


class Live:
    """The backend started, a client of it, and the provider behind it."""

    def __init__(self, service: Any, **config: Any) -> None:
        settings = {"models": [PRICED, UNPRICED], "organic_wait_s": 0.01} | config
        self.backend = LiteLlm(api_base=service.url, **settings)
        self.clock = WallScopeClock()
        url = self.backend.start(())
        self.client = self.backend.client(url, ModelScope("s", "t", 1, self.clock, lambda: 0))

    def ask(self, call: Call) -> Observation:
        return self.client.attempt(call)


@pytest.fixture
def live(service: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Live]]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    started: list[Live] = []

    def start(*replies: Answer, **config: Any) -> Live:
        service.replies.extend(replies)
        started.append(Live(service, **config))
        return started[-1]

    yield start
    for one in started:
        one.backend.stop()


@pytest.fixture
def service(service: Any) -> Any:
    """The server of this folder, answering a queue of replies and then the last one again."""
    service.replies = []
    inner = type(service)

    class Queued(inner):  # type: ignore[misc,valid-type]
        @property
        def reply(self) -> Any:
            return self.replies[min(len(self.seen), len(self.replies)) - 1]

        @reply.setter
        def reply(self, _: Any) -> None: ...

    service.__class__ = Queued
    return service


def test_a_completion_with_tools_makes_the_round_trip(
    live: Callable[..., Live], service: Any, call: Callable[..., Call]
) -> None:
    one = live(completion(CALLED), completion())
    first = one.ask(call(target=UNPRICED, payload={"messages": [ASK], "tools": [TOOL]}))
    assert first.answered
    assert first.payload == CALLED
    assert (first.finish_reason, first.tokens_in, first.tokens_out) == ("tool_calls", 1000, 500)
    assert first.returned_model is not None
    assert "test-2026" in first.returned_model
    result = {"role": "tool", "tool_call_id": "c1", "content": "found"}
    asked = [ASK, first.payload, result]
    second = one.ask(call(target=UNPRICED, payload={"messages": asked, "tools": [TOOL]}))
    assert second.payload["content"] == "hello"
    sent = json.loads(service.seen[1][1])
    assert sent["model"] == "test"
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "tool"]
    assert sent["messages"][1]["tool_calls"] == CALLED["tool_calls"]


def test_the_provider_sees_the_key_and_nothing_of_ours(
    live: Callable[..., Live], service: Any, call: Callable[..., Call]
) -> None:
    live(completion()).ask(call(target=UNPRICED))
    headers, _ = service.seen[0]
    assert headers["authorization"] == f"Bearer {KEY}"
    assert not [name for name in headers if name.startswith("x-hfr") or name == "x-request-id"]


@pytest.mark.parametrize(
    ("model", "usage", "cost"), [(PRICED, True, 450), (UNPRICED, True, None), (PRICED, False, None)]
)
def test_a_cost_is_usage_times_price_and_null_when_either_is_unknown(
    live: Callable[..., Live],
    call: Callable[..., Call],
    model: str,
    usage: bool,
    cost: int | None,
) -> None:
    seen = live(completion(usage=usage)).ask(call(target=model))
    assert seen.answered
    assert seen.cost_microusd == cost


def test_a_429_of_the_provider_is_absorbed_and_its_wait_kept_apart(
    live: Callable[..., Live], service: Any, call: Callable[..., Call]
) -> None:
    one = live(refusal(429, retry_after="1"), completion())
    seen = one.ask(call(target=PRICED, timeout_us=20_000_000))
    assert seen.answered
    assert len(service.seen) == 2
    assert one.backend.organic == (1, 0)
    assert 1_000_000 <= one.clock.forgiven_us < 5_000_000
    assert seen.latency_us < 1_000_000
    assert seen.cost_microusd == 450


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_when_the_bounds_are_used_up_the_trial_becomes_a_void(
    live: Callable[..., Live], service: Any, call: Callable[..., Call], status: int
) -> None:
    one = live(refusal(status), organic_retries=2)
    with pytest.raises(InfrastructureError, match="organic error"):
        one.ask(call(target=UNPRICED, timeout_us=20_000_000))
    assert len(service.seen) == 3  # 1 + organic_retries: neither SDK adds tries of its own
    assert one.backend.organic == (3, 1)


def test_without_retries_of_ours_the_provider_is_hit_once(
    live: Callable[..., Live], service: Any, call: Callable[..., Call]
) -> None:
    one = live(refusal(503), organic_retries=0)
    with pytest.raises(InfrastructureError):
        one.ask(call(target=UNPRICED))
    assert len(service.seen) == 1


def test_a_retry_after_past_the_bound_is_not_waited_for(
    live: Callable[..., Live], service: Any, call: Callable[..., Call]
) -> None:
    one = live(refusal(429, retry_after="3600"))
    with pytest.raises(InfrastructureError):
        one.ask(call(target=UNPRICED))
    assert len(service.seen) == 1


def test_a_provider_slower_than_the_timeout_is_organic_too(
    live: Callable[..., Live], service: Any, call: Callable[..., Call]
) -> None:
    one = live(completion())
    service.hold = threading.Event()
    with pytest.raises(InfrastructureError, match="slower than"):
        one.ask(call(target=UNPRICED, timeout_us=300_000))


def test_a_request_that_is_wrong_by_itself_is_answered(
    live: Callable[..., Live], service: Any, call: Callable[..., Call]
) -> None:
    seen = live(refusal(400, f"too long, {KEY}")).ask(call(target=UNPRICED))
    assert (seen.answered, seen.status, seen.cost_microusd) == (False, 400, 0)
    assert "too long" in seen.body
    assert KEY not in seen.body
    assert len(service.seen) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_named_nowhere(
    live: Callable[..., Live],
    service: Any,
    call: Callable[..., Call],
    caplog: pytest.LogCaptureFixture,
    status: int,
) -> None:
    caplog.set_level(logging.DEBUG, "hfr_bench")
    one = live(refusal(status, f"Incorrect API key provided: {KEY}"))
    with pytest.raises(InfrastructureError, match="check the key") as told:
        one.ask(call(target=UNPRICED))
    assert KEY not in str(told.value)
    assert KEY not in caplog.text
    assert len(service.seen) == 1


def test_a_missing_key_is_told_before_anything_is_started(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(BadInputError, match="OPENAI_API_KEY"):
        LiteLlm([UNPRICED], service.url).start(())
    with pytest.raises(BadInputError, match="MY_KEY"):
        LiteLlm([UNPRICED], service.url, key_env="MY_KEY").start(())


def test_an_address_that_nobody_registered_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(BadInputError, match="OPENAI_BASE_URL"):
        LiteLlm([UNPRICED]).start(())


def test_a_wrong_setting_is_told_and_a_pasted_key_not_repeated() -> None:
    with pytest.raises(BadInputError, match="models"):
        LiteLlm()
    with pytest.raises(BadInputError, match="key_env") as told:
        LiteLlm([PRICED], key_env=KEY)
    assert KEY not in str(told.value)
    with pytest.raises(BadInputError, match="api_base"):
        LiteLlm([PRICED], "http://me:secret@host/v1")
    with pytest.raises(BadInputError, match="'api_key'"):
        LiteLlm([PRICED], parameters={"api_key": "x"})


def test_prices_are_pinned_by_the_models_that_are_used() -> None:
    both, one = LiteLlm([PRICED, UNPRICED]), LiteLlm([PRICED])
    assert both.prices_digest == LiteLlm([PRICED, UNPRICED]).prices_digest
    assert both.prices_digest != one.prices_digest
    assert one.notes == ()
    assert [UNPRICED in note for note in both.notes] == [True]
    assert one.origin is Origin.LIVE


def test_a_live_model_is_never_given_the_sealed_half() -> None:
    with pytest.raises(InfrastructureError, match="sealed"):
        LiteLlm([PRICED]).start([SealedTask(task_id="t", suite="s")])
