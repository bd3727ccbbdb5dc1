"""OTLP/JSON: OpenTelemetry's own protobufs take it; it says what would have been sent."""

import base64
import json

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from hfr_bench.lab.exports.otlp import request
from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.spans import TrialIds, trial_spans


def parsed(made):
    """As protobuf's JSON, which has ids in base64 where OTLP's has them in hex."""
    copy = json.loads(json.dumps(made))
    for span in copy["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in span:
                span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return ParseDict(copy, ExportTraceServiceRequest())


def test_opentelemetry_takes_every_trial(traces):
    for trace in traces.values():
        trial = trial_spans(trace, Redactor(), provider="p", end_ns=1_800_000_000_000_000_000)
        message = parsed(request(trial))
        spans = message.resource_spans[0].scope_spans[0].spans
        assert [span.name for span in spans] == [one.name for one in (trial.root, *trial.children)]
        assert {span.trace_id for span in spans} == {spans[0].trace_id}
        assert [span.parent_span_id for span in spans[1:]] == [spans[0].span_id] * (len(spans) - 1)
        assert spans[0].end_time_unix_nano == trial.end_ns
        assert len(spans[0].events) == len(trial.root.events)
        failed = [span.status.code == 2 for span in spans]
        assert failed == [bool(one.error) for one in (trial.root, *trial.children)]


def test_ids_are_those_that_are_sent(traces):
    trial = trial_spans(next(iter(traces.values())), Redactor())
    ids = TrialIds()
    ids.begin(trial.trial_id)
    span = request(trial)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert int(span["traceId"], 16) == ids.generate_trace_id()
    assert int(span["spanId"], 16) == ids.generate_span_id()
