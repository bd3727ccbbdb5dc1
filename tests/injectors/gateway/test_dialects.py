"""Every kind in every dialect, whole and streamed: what a client that knows none of us meets."""

import json

import httpx
import pytest

from hfr_bench import content
from hfr_bench.errors import InfrastructureError
from hfr_bench.faults.dialects import CHAT, GEMINI, MESSAGES, MODEL_DIALECTS, RESPONSES
from hfr_bench.faults.shape import wire
from hfr_bench.injectors.gateway import GatewayInjector, edits, sse
from hfr_bench.model.effects import Alter
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import KindSpec, Respond, Rewrite
from hfr_bench.model.terms import Layer

from .answers import PATHS, STREAMED_PATHS, TEXT, ModelServer, request

KINDS = sorted(name for name, kind in content.kinds().items() if kind.layer is Layer.MODEL)
PATIENCE_S = 20


@pytest.fixture
def http():
    with httpx.Client(trust_env=False, timeout=PATIENCE_S) as client:
        yield client


@pytest.fixture
def server(upstream):
    upstream.answer = ModelServer(upstream)
    return upstream.answer


def ask(http, stage, dialect, *, streamed=False):
    path = (STREAMED_PATHS if streamed else PATHS)[dialect]
    url = f"{stage.url.removesuffix('/v1')}/{path}"
    return http.post(url, json=request(dialect, streamed=streamed))


def params_of(name):
    return {key: values[0] for key, values in content.kinds()[name].params.items()}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("dialect", MODEL_DIALECTS)
@pytest.mark.parametrize("name", KINDS)
def test_a_kind_is_what_it_says_in_every_dialect(
    name, dialect, streamed, stages, event, server, http
):
    planned = event(name, params=params_of(name))
    stage = stages(planned)
    effect = wire(planned, stage.scene.kinds[name], dialect)
    if effect.type in ("close", "stall", "drip", "cut"):
        with pytest.raises(httpx.TransportError):
            ask(http, stage, dialect, streamed=streamed)
    else:
        answer = ask(http, stage, dialect, streamed=streamed)
        if isinstance(effect, Respond):
            assert answer.status_code == effect.status
            said = effect.body.encode()
            if streamed and effect.status < 400 and said[:1] == b"{":
                said = sse.error_stream(dialect, said)
            assert answer.content == said
            assert set(map(str.lower, effect.headers)) <= set(answer.headers)
        else:
            assert isinstance(effect, Rewrite)
            (true,) = server.sent
            named = effect.edits
            wanted = edits.edited(named, true, dialect, ["order"], streamed=streamed)
            assert answer.content == wanted != true
            assert stage.hits[0].response_digest == text_digest(wanted)
            assert stage.hits[0].upstream_digest == text_digest(true)
    (hit,) = stage.hits
    assert (hit.kind, hit.told) == (name, False)
    assert hit.forwarded is (len(server.sent) == 1)
    # The next request is as if nothing had been.
    again = ask(http, stage, dialect, streamed=streamed)
    if planned.lasts.unit == "attempts":
        assert (again.status_code, again.content) == (200, server.sent[-1])
        assert stage.hits[1].injection_id is None


def until_it_breaks(http, stage, dialect, *, streamed):
    """The bytes of an answer until the connection ends before it does."""
    path = (STREAMED_PATHS if streamed else PATHS)[dialect]
    url, asked = f"{stage.url.removesuffix('/v1')}/{path}", request(dialect, streamed=streamed)
    came = b""
    with http.stream("POST", url, json=asked) as answer:
        assert answer.status_code == 200
        try:
            for piece in answer.iter_raw():
                came += piece
        except httpx.TransportError:
            return came
    raise AssertionError("the answer came to its end")


@pytest.mark.parametrize("dialect", MODEL_DIALECTS)
@pytest.mark.parametrize("streamed", [False, True])
def test_what_came_before_the_break_is_real(dialect, streamed, stages, event, server, http):
    stage = stages(event("model_stream_cut"))
    came = until_it_breaks(http, stage, dialect, streamed=streamed)
    (true,) = server.sent
    assert true.startswith(came)
    assert b"order" in came
    assert len(came) < len(true)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_drip_is_a_byte_at_a_time(streamed, stages, event, server, http, wall):
    stage = stages(event("made_drip"), clock=wall)
    came = until_it_breaks(http, stage, CHAT, streamed=streamed)
    assert server.sent[0].startswith(came)
    assert 2 <= len(came) <= 6  # 0.2 s in all, a byte each 0.05 s, and the first at once


def test_a_kind_of_one_dialect_is_told_in_the_words_of_the_others(stages, event, http):
    limits = {
        dialect: ask(http, stages(event("model_429", params={"retry_after_s": 5})), dialect)
        for dialect in MODEL_DIALECTS
    }
    assert {answer.status_code for answer in limits.values()} == {429}
    for dialect in (CHAT, RESPONSES, MESSAGES):
        assert limits[dialect].headers["retry-after"] == "5"
    assert limits[RESPONSES].content == limits[CHAT].content
    limited = limits[MESSAGES].json()
    assert limited["error"]["type"] == "rate_limit_error"
    assert limits[MESSAGES].headers["request-id"] == limited["request_id"]
    assert limited["request_id"].startswith("req_")
    limited = limits[GEMINI].json()["error"]
    assert limited["details"][0]["retryDelay"] == "5s"
    assert limited["status"] == "RESOURCE_EXHAUSTED"
    busy = ask(http, stages(event("model_529")), GEMINI)  # Google knows no 529
    assert (busy.status_code, busy.json()["error"]["status"]) == (503, "UNAVAILABLE")


def test_a_fault_that_a_dialect_cannot_say_is_refused_loudly(stages, event, server, http):
    stage = stages(event("made_page"))
    answer = ask(http, stage, MESSAGES)
    assert answer.status_code == 501
    assert answer.json()["type"] == "error"
    assert "'made_page' has no wire for the dialect 'anthropic'" in answer.text
    (hit,) = stage.hits
    assert hit.organic
    assert server.sent == []


@pytest.mark.parametrize(
    ("spec", "dialects", "why"),
    [
        ({CHAT: Respond(status=200)}, MODEL_DIALECTS, "no wire for the dialect 'openai_responses'"),
        ({"tool": Respond(status=500)}, (CHAT,), "no wire for the dialect 'openai_chat'"),
        ({CHAT: Rewrite(edits=("melt",))}, (CHAT,), "no edit 'melt' of a model's answer"),
        ({CHAT: Alter(edit="number")}, (CHAT,), "'alter' is an effect of the tool boundary"),
    ],
)
def test_a_trial_with_a_fault_that_cannot_be_played_may_not_enter(
    spec, dialects, why, upstream, gateways, event, stages
):
    kinds = {"odd": KindSpec(kind="odd", layer=Layer.MODEL, wire=spec)}
    gateway = gateways(upstream.url, kinds=kinds, dialects=dialects)
    assert gateway.kinds() == set()
    with pytest.raises(InfrastructureError, match=why):
        stages(event("odd"), gateway=gateway, kinds=kinds)
    with pytest.raises(InfrastructureError, match="'even': no such kind"):
        stages(event("even"), gateway=gateway, kinds=kinds)


def test_all_built_in_kinds_speak_every_dialect():
    assert GatewayInjector(dialects=MODEL_DIALECTS).kinds() == set(KINDS)
    with pytest.raises(ValueError, match="no dialect 'klingon'"):
        GatewayInjector(dialects=["klingon"])


@pytest.mark.parametrize(
    ("dialect", "named"),
    [(CHAT, "not_found"), (MESSAGES, "not_found_error"), (GEMINI, "NOT_FOUND")],
)
def test_a_refusal_of_ours_is_in_the_providers_shape(dialect, named, stages, http):
    stage = stages()
    origin = stage.url.split("/t/")[0]
    answer = http.post(f"{origin}/t/nobody/{PATHS[dialect]}", json={})
    assert answer.status_code == 404
    assert named in answer.text or "unknown_trial" in answer.text


def test_the_model_is_read_where_the_dialect_says_it(stages, server, http):
    stage = stages()
    for dialect in MODEL_DIALECTS:
        assert ask(http, stage, dialect).status_code == 200
    assert [hit.target for hit in stage.hits] == ["m"] * 4
    assert {hit.point for hit in stage.hits} == {"model:agent"}
    assert [hit.occurrence for hit in stage.hits] == [1, 2, 3, 4]


def test_what_a_client_may_take_for_an_answer_ends_its_step(stages, event, server, http):
    stage = stages(event("model_unknown_tool", 1), event("model_truncated_body", 2))
    for _ in range(4):
        ask(http, stage, CHAT)
    assert [(h.occurrence, h.attempt) for h in stage.hits] == [(1, 1), (2, 1), (2, 2), (3, 1)]


def test_an_error_of_the_model_server_is_not_altered(stages, event, upstream, http):
    upstream.answer = lambda handler, _: upstream.send(handler, 503, b"busy")
    for name in ("model_unknown_tool", "model_stream_cut", "model_slow_drip"):
        answer = ask(http, stages(event(name)), CHAT)
        assert (answer.status_code, answer.content) == (503, b"busy")


def test_an_answer_that_is_none_cannot_be_altered(stages, event, upstream, http):
    upstream.answer = lambda handler, _: upstream.send(handler, 200, b'{"hello": 1}')
    stage = stages(event("model_unknown_tool"))
    assert ask(http, stage, CHAT).content == b'{"hello": 1}'
    told = stage.hits[0]  # the audit sees that nothing was altered
    assert told.response_digest == told.upstream_digest == text_digest(b'{"hello": 1}')


def test_a_dead_model_server_is_an_organic_error_under_a_fault_too(gateways, stages, event):
    stage = stages(event("model_unknown_tool"), gateway=gateways("http://127.0.0.1:9/v1"))
    assert stage.attempt().status == 502
    assert stage.hits[0].organic


def test_a_text_can_be_spoiled_as_well(stages, event, upstream, http):
    upstream.answer = ModelServer(upstream, calls=False)
    answer = ask(http, stages(event("model_malformed_tool_call")), CHAT).json()
    message = answer["choices"][0]["message"]
    assert message["content"] == TEXT
    with pytest.raises(json.JSONDecodeError):
        json.loads(message["tool_calls"][0]["function"]["arguments"])
