"""Traces as GenAI spans: what each span says, that it is redacted, and that it can be sent."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.lab import decode, spans
from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.spans import TrialIds, TrialSpans, export, send, trial_spans
from hfr_bench.model.terms import Action, End, FaultClass, Rung, SideEffect, VoidCause
from hfr_bench.model.trace import Decided
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import At, answered, ended, events, outcome, sent, started, timed_out

TRIAL = planned().rows[0].trial
PLAIN = Redactor()
END_NS = 1_800_000_000_000_000_000
MODEL = "openai/gpt-4o-mini"
TRACE = events(
    TRIAL.trial_id,
    [
        started(TRIAL),
        At(Decided(on="Proposed", action=Action.DISPATCH), t_us=0),
        At(sent(target=MODEL), t_us=0),
        At(timed_out(cost_microusd=None), t_us=10_000_000),
        At(
            Decided(
                on="Attempted",
                action=Action.DEGRADE_MODEL,
                reason="ask ops@example.org",
                rung=Rung.SAME_TIER,
                fault_class=FaultClass.TIMEOUT,
                confidence=0.9,
                task_left=9,
            ),
            t_us=10_000_000,
        ),
        At(sent(target="m"), attempt=2, t_us=10_000_000),
        At(
            answered(
                returned_model="m-2026",
                finish_reason="tool_calls",
                tokens_in=120,
                tokens_out=8,
                cost_microusd=90,
            ),
            attempt=2,
            t_us=11_000_000,
        ),
        At(
            sent("tool:book", target="book", operation_id="t.1", level=SideEffect.QUERYABLE),
            2, t_us=11_000_000,
        ),
        At(answered(latency_us=400_000), 2, t_us=11_400_000),
        At(sent("tool:book", target="book", operation_id="t.2"), 3, t_us=11_400_000),
        ended(TRIAL, steps=3, attempts=4, tokens_in=120)._replace(t_us=12_000_000),
    ],
)  # fmt: skip


def made(trace: Any = TRACE, **more: Any) -> TrialSpans:
    return trial_spans(trace, PLAIN, provider="rehearsal", end_ns=END_NS, **more)


def test_the_agent_is_the_root_and_every_attempt_that_came_back_a_child():
    one = made()
    assert one.root.name == f"invoke_agent {TRIAL.arm}"
    assert (one.root.start_us, one.root.end_us, one.root.error) == (1000, 12_000_000, "")
    assert [(s.name, s.kind) for s in one.children] == [
        (f"chat {MODEL}", "client"), ("chat m", "client"), ("execute_tool book", "internal"),
    ]  # fmt: skip
    attributes = one.root.attributes
    assert attributes["gen_ai.operation.name"] == "invoke_agent"
    assert attributes["gen_ai.agent.name"] == TRIAL.arm
    assert attributes["gen_ai.conversation.id"] == TRIAL.trial_id
    assert (attributes["hfr.origin"], attributes["hfr.end"]) == ("rehearsal", "accepted")
    assert attributes["gen_ai.usage.input_tokens"] == 120


def test_a_chat_says_what_the_conventions_ask_for():
    lost, good, _ = made().children
    assert good.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "rehearsal",
        "gen_ai.request.model": "m",
        "gen_ai.response.model": "m-2026",
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 8,
        "http.response.status_code": 200,
        "hfr.step": 1,
        "hfr.attempt": 2,
        "hfr.point": "model:agent",
        "hfr.purpose": "agent",
        "hfr.cost_microusd": 90,
    }
    assert (lost.attributes["gen_ai.provider.name"], lost.error) == ("openai", "Timeout")
    assert lost.attributes["error.type"] == "Timeout"
    assert not {key for key in lost.attributes if "usage" in key or "cost" in key}
    assert (lost.start_us, lost.end_us) == (0, 10_000_000)


def test_a_tool_call_says_what_the_conventions_ask_for():
    tool = made().children[2].attributes
    assert {key: tool[key] for key in tool if key.startswith("gen_ai.")} == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "book",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "t.1",
    }


def test_decisions_are_events_with_what_is_known_and_redacted():
    first, second = made().root.events
    assert (first.name, first.at_us, second.at_us) == ("hfr.decision", 0, 10_000_000)
    assert second.attributes == {
        "hfr.task_id": TRIAL.task_id,
        "hfr.step_id": 1,
        "hfr.fault_class": "T3",
        "hfr.confidence": 0.9,
        "hfr.action": "DEGRADE_MODEL",
        "hfr.task_left": 9,
        "hfr.delay_us": 0,
        "hfr.rung": "L2",
        "hfr.escalated": False,
        "hfr.elapsed_us": 10_000_000,
        "hfr.reason": "ask [e-mail]",
    }


def test_every_string_goes_through_the_redactor():
    secret = "sk-" + "abcdefghijklmnopqrstuvwxyz0123456789"
    trace = [
        event.model_copy(update={"body": event.body.model_copy(update={"target": secret})})
        if event.body.type == "attempt_started"
        else event
        for event in TRACE
    ]
    one = made(trace)
    assert secret not in repr(one)
    assert one.children[0].name == "chat [key]"


def test_records_and_their_like_make_the_same_spans():
    like = decode.trace_events([event.dumps().encode() for event in TRACE])
    assert like is not None
    assert made(like) == made()


@pytest.mark.parametrize(
    ("last", "error"),
    [
        ({"void": VoidCause.SANDBOX}, "void: sandbox"),
        ({"of": outcome(success=False, end=End.ESCALATED)}, "escalated"),
        (None, "cut off"),
    ],
)
def test_a_trial_that_went_wrong_is_an_error(last, error):
    end = [] if last is None else [ended(TRIAL, **last)]
    assert made(events("t", [started(TRIAL), *end])).root.error == error


@pytest.mark.parametrize("trace", [[], TRACE[1:]])
def test_a_trace_without_a_beginning(trace):
    with pytest.raises(ValueError, match="does not begin with trial_started"):
        made(trace)


def test_ids_follow_from_the_trial():
    ids, again = TrialIds(), TrialIds()
    for one in (ids, again):
        one.begin("trial")
    drawn = [ids.generate_trace_id(), *(ids.generate_span_id() for _ in range(3))]
    assert drawn == [again.generate_trace_id(), *(again.generate_span_id() for _ in range(3))]
    assert len(set(drawn)) == 4
    assert 0 < drawn[1] < 2**64
    ids.begin("other")
    assert ids.generate_trace_id() != drawn[0]


def test_without_opentelemetry_the_extra_is_named():
    with pytest.raises(BadInputError, match=r"spans need .*: pip install 'hfr-bench\[otel\]'"):
        spans._import("opentelemetry.no_such_part")


# -- with the real library, where it is installed ---------------------------------------------


@pytest.fixture
def sdk():
    return pytest.importorskip(
        "opentelemetry.sdk.trace", reason="needs the extra: pip install 'hfr-bench[otel]'"
    )


@pytest.fixture
def taken(sdk):
    """The spans of TRACE as the SDK would export them."""
    kept = spans._Held()
    exporting = pytest.importorskip("opentelemetry.sdk.trace.export")
    ids = TrialIds()
    provider = sdk.TracerProvider(id_generator=ids, shutdown_on_exit=False)
    provider.add_span_processor(exporting.SimpleSpanProcessor(kept))
    assert list(send([made()], provider.get_tracer("test"), ids)) == [4]
    return kept.take()


def test_the_sdk_takes_them_as_they_are(taken):
    *children, root = taken
    one = made()
    assert [span.name for span in children] == [span.name for span in one.children]
    assert {span.context.trace_id for span in taken} == {root.context.trace_id}
    assert {span.parent.span_id for span in children} == {root.context.span_id}
    assert root.parent is None
    for span, wanted in zip((*children, root), (*one.children, one.root), strict=True):
        assert dict(span.attributes) == {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in wanted.attributes.items()
        }
        assert span.end_time - span.start_time == (wanted.end_us - wanted.start_us) * 1000
    assert root.end_time == END_NS
    assert [event.name for event in root.events] == ["hfr.decision"] * 2
    assert [span.status.is_ok for span in taken] == [False, True, True, True]


def test_sent_again_they_are_the_same_spans(sdk, capsys):
    for _ in range(2):
        assert export([made(), made()], "console") == 8
    out = capsys.readouterr().out
    assert out.count('"name": "execute_tool book"') == 4
    found = [line for line in out.splitlines() if '"span_id"' in line]
    assert len(found) == 16
    assert len(set(found)) == 4


def test_a_collector_is_sent_a_trial_at_a_time(sdk, monkeypatch):
    asked = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        assert export([made(), made()], "otlp") == 8
        server.shutdown()
        serving.join()
    assert asked == ["/v1/traces"] * 2


def test_a_collector_that_is_not_there(sdk, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with pytest.raises(InfrastructureError, match=r"after 0 that were\): is a collector listening"):
        export([made()], "otlp")


def test_the_names_are_those_of_the_conventions(sdk, taken):
    """As the library's own list of attributes has them."""
    known = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    names = {value for key, value in vars(known).items() if key.startswith("GEN_AI_")}
    used = {key for span in taken for key in span.attributes if key.startswith("gen_ai.")}
    assert used <= names
    operations = {one.value for one in known.GenAiOperationNameValues}
    assert {span.attributes["gen_ai.operation.name"] for span in taken} <= operations
    assert json.dumps(sorted(used))
