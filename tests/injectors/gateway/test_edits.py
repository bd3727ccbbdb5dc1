"""Edits of real answers: what they alter, what they leave, whole and streamed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.faults.dialects import CHAT, GEMINI, MESSAGES, MODEL_DIALECTS, RESPONSES
from hfr_bench.injectors.gateway import edits, routes, sse
from hfr_bench.injectors.gateway.play import where

from .answers import ARGUMENTS, PATHS, TEXT, answer, request

BOTH = pytest.mark.parametrize("streamed", [False, True])
EACH = pytest.mark.parametrize("dialect", MODEL_DIALECTS)


def body_of(dialect, *, streamed, calls=True):
    found = answer(dialect, calls=calls)
    return sse.stream_of(dialect, found) if streamed else json.dumps(found).encode()


def altered(dialect, edit, *, streamed, calls=True):
    """The answer after an edit, as a client adds it up."""
    body = body_of(dialect, streamed=streamed, calls=calls)
    done = edits.edited([edit], body, dialect, ["order"], streamed=streamed)
    assert done != body
    if streamed and edit == "cut_arguments" and dialect == MESSAGES:
        return done  # its pieces are no JSON any more, as they should be
    return sse.assembled(dialect, done) if streamed else json.loads(done)


def call_in(dialect, found):
    """The first call: name and arguments."""
    if dialect == CHAT:
        function = found["choices"][0]["message"]["tool_calls"][0]["function"]
        return function["name"], function["arguments"]
    if dialect == RESPONSES:
        return next((i["name"], i["arguments"]) for i in found["output"] if "arguments" in i)
    if dialect == MESSAGES:
        return next((b["name"], b["input"]) for b in found["content"] if b["type"] == "tool_use")
    parts = found["candidates"][0]["content"]["parts"]
    return next((p["functionCall"]["name"], p["functionCall"]["args"]) for p in parts
                if "functionCall" in p)  # fmt: skip


@EACH
@pytest.mark.parametrize("calls", [True, False])
def test_a_stream_adds_up_to_the_answer_it_was_made_of(dialect, calls):
    whole = answer(dialect, calls=calls)
    assert sse.assembled(dialect, sse.stream_of(dialect, whole)) == whole


@EACH
@BOTH
@pytest.mark.parametrize("calls", [True, False])
def test_arguments_break_off(dialect, streamed, calls):
    found = altered(dialect, "cut_arguments", streamed=streamed, calls=calls)
    if dialect == GEMINI:
        assert found["candidates"][0]["finishReason"] == "MALFORMED_FUNCTION_CALL"
        return
    if isinstance(found, bytes):
        with pytest.raises(json.JSONDecodeError):
            sse.assembled(dialect, found)
        return
    name, said = call_in(dialect, found)
    assert name == "order"
    text = said[edits.UNREADABLE] if dialect == MESSAGES else said
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
    whole = json.dumps(ARGUMENTS) if calls else "{}"
    assert whole.startswith(text)
    assert text


@EACH
@BOTH
@pytest.mark.parametrize("calls", [True, False])
def test_a_tool_that_there_is_not(dialect, streamed, calls):
    found = altered(dialect, "rename_tool", streamed=streamed, calls=calls)
    name, said = call_in(dialect, found)
    assert name == "order_v2"
    said = json.loads(said) if isinstance(said, str) else said
    assert said == (ARGUMENTS if calls else {})


def test_the_new_name_is_never_one_that_is_offered():
    body = body_of(CHAT, streamed=False)
    done = edits.edited(["rename_tool"], body, CHAT, ["order", "order_v2"], streamed=False)
    assert call_in(CHAT, json.loads(done))[0] == "order_v2_v2"


@EACH
@BOTH
def test_a_refusal_is_told_as_the_provider_tells_it(dialect, streamed):
    found = altered(dialect, "refuse", streamed=streamed)
    assert TEXT not in json.dumps(found)
    if dialect == CHAT:
        choice = found["choices"][0]
        assert choice["message"]["refusal"] == edits.REFUSAL
        assert (choice["message"].get("tool_calls"), choice["finish_reason"]) == (None, "stop")
    elif dialect == RESPONSES:
        assert found["output"][0]["content"][0]["refusal"] == edits.REFUSAL
    elif dialect == MESSAGES:
        assert (found["content"], found["stop_reason"]) == ([], "refusal")
    else:
        assert found["candidates"][0]["finishReason"] == "SAFETY"


@EACH
@BOTH
@pytest.mark.parametrize("edit", ["cut_arguments", "rename_tool", "refuse"])
def test_the_rest_is_real(dialect, streamed, edit):
    found = altered(dialect, edit, streamed=streamed)
    if isinstance(found, bytes):
        assert b"m-1" in found
        return
    true = answer(dialect)
    for name in ("id", "model", "usage", "usageMetadata", "modelVersion"):
        assert found.get(name) == true.get(name)


@EACH
@BOTH
def test_a_body_ends_in_its_middle(dialect, streamed):
    body = body_of(dialect, streamed=streamed)
    done = edits.edited(["truncate_body"], body, dialect, [], streamed=streamed)
    assert done == body[: len(body) // 2]


@EACH
@BOTH
@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b"null", b"\xff", b'{"choices": []}', b"{" * 9]
)
def test_what_is_no_answer_is_left_alone(dialect, streamed, body):
    assert edits.edited(["rename_tool"], body, dialect, [], streamed=streamed) is None


@given(st.binary(max_size=300), st.sampled_from(MODEL_DIALECTS), st.booleans())
def test_no_body_breaks_an_edit(body, dialect, streamed):
    for name in sorted(edits.NAMES):
        edits.edited([name], body, dialect, [], streamed=streamed)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["choices", "message", "tool_calls", "function", "output", "content", "type",
             "candidates", "parts", "name", "arguments", "input", "args", "functionCall"]
        ), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(json_values, st.sampled_from(MODEL_DIALECTS), st.booleans())
def test_nor_does_any_json(value, dialect, streamed):
    body = json.dumps(value).encode()
    body = b"data: " + body + b"\n\n" if streamed else body
    for name in sorted(edits.NAMES):
        edits.edited([name], body, dialect, [], streamed=streamed)


@given(st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=8), max_size=4))
def test_cut_arguments_are_never_arguments(arguments):
    found = answer(CHAT)
    found["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = json.dumps(arguments)
    done = edits.edited(["cut_arguments"], json.dumps(found).encode(), CHAT, [], streamed=False)
    with pytest.raises(json.JSONDecodeError):
        json.loads(call_in(CHAT, json.loads(done))[1])


@EACH
@BOTH
def test_an_answer_breaks_off_inside_its_tool_call(dialect, streamed):
    body = body_of(dialect, streamed=streamed)
    begun = body[: where("tool_call", dialect, body, streamed=streamed)]
    assert b"order" in begun
    if streamed and dialect != GEMINI:
        assert b"green" in begun or b"item" in begun  # some pieces of the arguments came
        assert b'"count' not in begun.replace(b"\\", b"")
    with pytest.raises(json.JSONDecodeError):
        json.loads(begun.rsplit(b"data:", 1)[-1])
    text = body_of(dialect, streamed=streamed, calls=False)
    assert where("tool_call", dialect, text, streamed=streamed) == len(text) // 2
    assert where("half", dialect, body, streamed=streamed) == len(body) // 2


@EACH
def test_a_route_is_told_by_its_path(dialect):
    version, _, tail = PATHS[dialect].partition("/")
    assert version in routes.VERSIONS
    found = routes.route("POST", tail)
    assert (found.dialect, found.point) == (dialect, "model:agent")
    assert routes.route("GET", tail).dialect == ""
    assert routes.route("POST", tail + "/x").dialect == ""
    body = json.dumps(request(dialect)).encode()
    assert routes.tools_of(body) == ("order",)
    assert "m" in (found.model, routes.model_of(body))
    asked = json.dumps(request(dialect, streamed=True)).encode()
    assert routes.streams(asked, tail) is (dialect != GEMINI)
    assert routes.streams(body, tail) is False
    assert routes.streams(body, "models/m:streamGenerateContent?alt=sse") is True


@given(st.binary(max_size=80))
def test_no_request_breaks_the_reading_of_it(body):
    routes.model_of(body), routes.tools_of(body), routes.streams(body, "")


@given(st.text(max_size=60), st.sampled_from(MODEL_DIALECTS), st.booleans())
def test_any_text_survives_its_stream(text, dialect, calls):
    whole = json.dumps(answer(dialect, calls=calls))
    mark, fresh = ("order" if calls else TEXT), json.dumps(f"{text}.")[1:-1]
    found = json.loads(whole.replace(mark, fresh))
    assert sse.assembled(dialect, sse.stream_of(dialect, found)) == found


def events(*found):
    return b"".join(b"data: " + json.dumps(one).encode() + b"\r\n\r\n" for one in found)


def test_streams_as_the_providers_write_them_add_up():
    def chunk(delta, finish=None):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "c", "model": "m", "choices": [choice]}

    def arguments(text, **more):
        part = {"index": 0, "function": {"arguments": text, **more.pop("function", {})}, **more}
        return chunk({"tool_calls": [part]})

    chat = events(
        chunk({"role": "assistant", "content": ""}),
        arguments("", id="a", type="function", function={"name": "f"}),
        arguments('{"x"'),
        arguments(": 1}"),
        chunk({}, "tool_calls"),
        {"id": "c", "model": "m", "choices": [], "usage": {"total_tokens": 3}},
    )
    found = sse.assembled(CHAT, chat + b"data: [DONE]\n\n")
    assert call_in(CHAT, found) == ("f", '{"x": 1}')
    assert found["choices"][0]["finish_reason"] == "tool_calls"
    assert found["usage"] == {"total_tokens": 3}
    said = [{"content": {"parts": [{"text": text}]}} for text in ("Hello, ", "you")]
    gemini = sse.assembled(GEMINI, events(*({"candidates": [one]} for one in said)))
    assert gemini["candidates"][0]["content"]["parts"] == [{"text": "Hello, you"}]


@EACH
def test_an_error_inside_a_success_is_streamed_as_the_provider_streams_it(dialect):
    body = b'{"error": {"message": "no"}}'
    found = list(sse.events(sse.error_stream(dialect, body)))
    told = [one.get("response", one)["error"]["message"] for one in found]
    assert set(told) == {"no"}
    names = ["response.created", "response.failed"] if dialect == RESPONSES else [None]
    assert [one.get("type") for one in found] == names
    assert (b"[DONE]" in sse.error_stream(dialect, body)) is (dialect == CHAT)
    assert (b"event: error" in sse.error_stream(dialect, body)) is (dialect == MESSAGES)
