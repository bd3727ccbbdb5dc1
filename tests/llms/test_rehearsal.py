"""The rehearsal server over real sockets: it follows a solution, errs by draws, repeats itself."""

import json

import httpx
import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.llms.rehearsal import Rehearsal
from hfr_bench.model.task import OracleStep, SealedTask
from hfr_bench.model.terms import Origin
from hfr_bench.ports.llm import ModelScope

MODELS = ("rehearsal-primary", "rehearsal-backup", "rehearsal-cheap")
TASK = SealedTask(
    task_id="t1",
    suite="made-up",
    oracle=(
        OracleStep(actor="agent", tool="find", arguments={"name": "Ada"}),
        OracleStep(actor="agent", tool="pay", arguments={"order": "#W12", "cents": 990}),
        OracleStep(actor="user", tool="reboot"),
        OracleStep(actor="user", tool="look"),
        OracleStep(actor="agent", tool="check", arguments={"order": "#W12"}),
    ),
    say=("9.90", "Tuesday"),
)
HEADERS = {
    "x-hfr-suite": "made-up",
    "x-hfr-task": "t1",
    "x-hfr-seed": "1",
    "x-hfr-point": "model:agent",
    "x-hfr-occurrence": "1",
    "x-hfr-attempt": "1",
}
ASK = {"model": MODELS[0], "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def backends():
    made = []

    def make(rate=None):
        backend = Rehearsal(None if rate is None else dict.fromkeys(MODELS, rate))
        made.append(backend)
        return backend, backend.start([TASK])

    yield make
    for backend in made:
        backend.stop()


@pytest.fixture
def http():
    with httpx.Client(trust_env=False, timeout=20) as client:
        yield client


def converse(http, base, model=MODELS[0], seed=1, turns=12):
    """Play a conversation: tools answer `ok`, the user says `done`. Returns what the model did."""
    messages, done = [{"role": "user", "content": "hi"}], []
    for occurrence in range(1, turns + 1):
        headers = HEADERS | {"x-hfr-occurrence": str(occurrence), "x-hfr-seed": str(seed)}
        answer = http.post(
            f"{base}/chat/completions", headers=headers, json={"model": model, "messages": messages}
        )
        message = answer.json()["choices"][0]["message"]
        messages.append(message)
        if calls := message.get("tool_calls"):
            done.append((calls[0]["function"]["name"], calls[0]["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": calls[0]["id"], "content": "ok"})
            continue
        done.append(message["content"])
        if message["content"].startswith("All done"):
            break
        messages.append({"role": "user", "content": "done"})
    return done


def test_an_all_right_tier_follows_the_solution_to_the_end(backends, http):
    _, base = backends(1.0)
    assert converse(http, base) == [
        ("find", '{"name": "Ada"}'),
        ("pay", '{"order": "#W12", "cents": 990}'),
        "Please do the following now: reboot, look",
        ("check", '{"order": "#W12"}'),
        "All done. 9.90 Tuesday",
    ]


def test_an_all_wrong_tier_never_does(backends, http):
    _, base = backends(0.0)
    right = converse(http, backends(1.0)[1])
    for seed in range(20):
        done = converse(http, base, seed=seed)
        assert done != right
        assert done[-1] in ("All done. 9.90", "All done. Tuesday", "All done. 9.90 Tuesday")


def test_tiers_err_about_as_often_as_their_table_says(backends, http):
    _, base = backends()
    url, right = f"{base}/chat/completions", '{"name": "Ada"}'
    for model, rate in zip(MODELS, (0.94, 0.86, 0.74), strict=True):
        good = 0
        for seed in range(400):
            headers = HEADERS | {"x-hfr-seed": str(seed)}
            answer = http.post(url, headers=headers, json=ASK | {"model": model})
            calls = answer.json()["choices"][0]["message"].get("tool_calls")
            good += bool(calls) and calls[0]["function"]["arguments"] == right
        assert abs(good / 400 - rate) < 0.07


def test_two_servers_say_the_same_bytes(backends, http):
    (_, one), (_, two) = backends(), backends()
    for attempt in range(1, 30):
        headers = HEADERS | {"x-hfr-attempt": str(attempt)}
        answers = [http.post(f"{base}/chat/completions", headers=headers, json=ASK)
                   for base in (one, two, one)]  # fmt: skip
        assert len({answer.content for answer in answers}) == 1
        assert len({answer.headers["x-hfr-latency-us"] for answer in answers}) == 1


def test_the_answer_is_a_chat_completion(backends, http):
    _, base = backends(1.0)
    answer = http.post(f"{base}/chat/completions", headers=HEADERS, json=ASK)
    got = answer.json()
    choice = got["choices"][0]
    assert (got["model"], got["created"], choice["finish_reason"]) == (MODELS[0], 0, "tool_calls")
    assert choice["message"]["tool_calls"][0]["id"] == "call_0_1"
    usage = got["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
    assert 960_000 <= int(answer.headers["x-hfr-latency-us"]) <= 1_440_000


@pytest.mark.parametrize(
    ("headers", "body", "status", "code"),
    [
        ({"x-hfr-task": "t9"}, ASK, 404, "unknown_task"),
        ({"x-hfr-seed": ""}, ASK, 400, "missing_coordinates"),
        ({}, ASK | {"model": "gpt-9"}, 404, "model_not_found"),
        ({}, b"{", 400, "invalid_json"),
        ({}, [], 400, "invalid_json"),
        ({}, {"model": MODELS[0]}, 400, "invalid_json"),
        ({}, {"model": MODELS[0], "messages": ["hi"]}, 400, "invalid_json"),
    ],
)
def test_what_it_cannot_answer_it_refuses_by_name(headers, body, status, code, backends, http):
    _, base = backends()
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = http.post(f"{base}/chat/completions", headers=HEADERS | headers, content=content)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["code"] == code
    assert set(error) == {"message", "type", "param", "code"}
    assert "x-hfr-latency-us" not in answer.headers


def test_other_addresses_are_refused(backends, http):
    _, base = backends()
    assert http.get(f"{base}/models").status_code == 404
    assert http.get(f"{base}/chat/completions").status_code == 405


def test_the_backend_names_its_origin_and_prices(backends):
    backend, base = backends()
    assert backend.origin is Origin.REHEARSAL
    assert backend.start([]) == base
    assert backend.prices_digest == Rehearsal().prices_digest
    assert backend.prices_digest != Rehearsal({MODELS[0]: 1.0}).prices_digest
    with pytest.raises(BadInputError, match="rehearsal-cheap"):
        Rehearsal({"gpt-9": 1.0})


def test_the_client_is_charged_by_the_table(backends, call, clock):
    backend, base = backends(1.0)
    client = backend.client(base, ModelScope("made-up", "t1", 1, clock, lambda: 0))
    seen = [client.attempt(call(target=model, timeout_us=5_000_000)) for model in MODELS]
    assert [observation.cost_microusd for observation in seen] == [10_000, 4_500, 1_800]
    assert all(observation.answered for observation in seen)
    assert clock.us == sum(observation.latency_us for observation in seen)
