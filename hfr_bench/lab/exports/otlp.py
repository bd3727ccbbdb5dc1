"""Trials as OTLP/JSON: a line of `ExportTraceServiceRequest` a trial, as a collector's file has it.

The spans are `lab.spans`', under OpenTelemetry's GenAI conventions, with the same ids as if they
were sent. No library of OpenTelemetry's is needed.
"""

from typing import Any, Final

from hfr_bench import __version__
from hfr_bench.lab.spans import SCOPE, Attribute, Span, TrialIds, TrialSpans

_KINDS: Final = {"internal": 1, "client": 3}  # SpanKind
_ERROR: Final = 2  # StatusCode


def request(trial: TrialSpans) -> dict[str, Any]:
    """The trial as one request; every span of it is in one trace."""
    ids = TrialIds()
    ids.begin(trial.trial_id)
    base_ns = trial.end_ns - trial.root.end_us * 1000
    trace = f"{ids.generate_trace_id():032x}"
    names = [f"{ids.generate_span_id():016x}" for _ in range(1 + len(trial.children))]
    spans = [_span(trial.root, trace, names[0], "", base_ns)]
    spans += [
        _span(child, trace, name, names[0], base_ns)
        for child, name in zip(trial.children, names[1:], strict=True)
    ]
    resource = {"attributes": _attributes({"service.name": SCOPE})}
    scope = {"name": SCOPE, "version": __version__}
    return {
        "resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": spans}]}]
    }


def _span(span: Span, trace: str, name: str, parent: str, base_ns: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "traceId": trace,
        "spanId": name,
        "name": span.name,
        "kind": _KINDS[span.kind],
        "startTimeUnixNano": str(base_ns + span.start_us * 1000),
        "endTimeUnixNano": str(base_ns + span.end_us * 1000),
        "attributes": _attributes(span.attributes),
    }
    if parent:
        made["parentSpanId"] = parent
    if span.events:
        made["events"] = [
            {
                "timeUnixNano": str(base_ns + event.at_us * 1000),
                "name": event.name,
                "attributes": _attributes(event.attributes),
            }
            for event in span.events
        ]
    if span.error:
        made["status"] = {"code": _ERROR, "message": span.error}
    return made


def _attributes(values: dict[str, Attribute]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: Attribute) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}  # 64 bits are a string in protobuf's JSON
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case _:
            return {"arrayValue": {"values": [_value(one) for one in value]}}
