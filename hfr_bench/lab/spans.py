"""A trial's trace as OpenTelemetry spans with GenAI semantic conventions (paper §5.5, [33]).

    invoke_agent ARM
      chat MODEL                one an attempt of a model call
      execute_tool NAME         one an attempt of a tool call

Made after the fact from the trace, so that nothing is timed or sent while a trial runs. Texts are
not in traces; every string that is goes through the redactor first. Times are of the trial's own
clock, laid so that the trial ends when its file was written. Decisions are events of the root span.

OpenTelemetry is an extra and is imported only here, when spans are sent.
"""

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, Final, Literal, NamedTuple

from hfr_bench import __version__
from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.lab.redact import Redactor
from hfr_bench.model.terms import Channel
from hfr_bench.model.trace import TraceEvent
from hfr_bench.recovery.telemetry import decision_events

SCOPE: Final = "hfr_bench"
EXTRA: Final = "pip install 'hfr-bench[otel]'"
_OTLP = "opentelemetry.exporter.otlp.proto.http"

Attribute = str | bool | int | float | Sequence[str]
Attributes = dict[str, Attribute]


class SpanEvent(NamedTuple):
    """Something at one moment of a span; trial clock."""

    name: str
    at_us: int
    attributes: Attributes


class Span(NamedTuple):
    """A span to be sent; times of the trial clock. `error` "" = it went well."""

    name: str
    kind: Literal["client", "internal"]
    start_us: int
    end_us: int
    attributes: Attributes
    error: str = ""
    events: tuple[SpanEvent, ...] = ()


class TrialSpans(NamedTuple):
    """A trial: its root and the root's children in order. `end_ns`: since 1970, when it ended."""

    trial_id: str
    root: Span
    children: tuple[Span, ...]
    end_ns: int


def trial_spans(
    events: Sequence[TraceEvent],
    redactor: Redactor,
    *,
    provider: str = "",
    end_ns: int = 0,
) -> TrialSpans:
    """The spans of a trial.

    Args:
        events: the whole trace, records or their like; an attempt that never ended has no span.
        redactor: runs over every string.
        provider: who serves the models that name none themselves (`openai/gpt-4o` names openai).
        end_ns: when the trial ended; nanoseconds since 1970.

    Raises:
        ValueError: the trace does not begin with `trial_started`.
    """
    if not events or events[0].body.type != "trial_started":
        raise ValueError("the trace does not begin with trial_started")
    first, last = events[0], events[-1]
    children = tuple(_attempts(events, redactor, provider))
    attributes, error = _root(first.body, last.body)
    start: Any = first.body
    root = Span(
        redactor.text(f"invoke_agent {start.arm}"),
        "internal",
        first.t_us,
        last.t_us,
        # Ids are ours and hold digits: they stay as they are.
        redactor.value(attributes)
        | {"gen_ai.conversation.id": first.trial_id, "hfr.pair_group": start.pair_group},
        redactor.text(error),
        tuple(_decisions(events, redactor)),
    )
    return TrialSpans(first.trial_id, root, children, end_ns)


def _root(start: Any, last: Any) -> tuple[Attributes, str]:
    """Attributes of the whole trial, and how it went wrong, if so."""
    found: Attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": start.arm,
        "hfr.origin": str(start.origin),
        "hfr.suite": start.suite,
        "hfr.task": start.task_id,
        "hfr.seed": start.seed,
        "hfr.fault_rate": start.rate,
        "hfr.round": start.round,
    }
    if last.type != "trial_ended":
        return found, "cut off"
    result = last.result
    found |= {
        "gen_ai.usage.input_tokens": result.tokens_in,
        "gen_ai.usage.output_tokens": result.tokens_out,
        "hfr.steps": result.steps,
        "hfr.attempts": result.attempts,
    }
    if result.cost_microusd is not None:
        found["hfr.cost_microusd"] = result.cost_microusd
    if result.outcome is None:
        return found | {"hfr.void": str(result.void)}, f"void: {result.void}"
    end = str(result.outcome.end)
    found |= {"hfr.end": end, "hfr.duplicates": result.outcome.duplicates}
    return found, "" if end == "accepted" else end


def _decisions(events: Sequence[TraceEvent], redactor: Redactor) -> Iterator[SpanEvent]:
    """Every decision with the paper's twelve fields; what is null is left out."""
    times = [event.t_us for event in events if event.body.type == "decided"]
    for at_us, one in zip(times, decision_events(events), strict=True):
        fields = {
            f"hfr.{key}": str(value) if isinstance(value, str) else value
            for key, value in one.plain().items()
            if value not in (None, "")
        }
        yield SpanEvent("hfr.decision", at_us, redactor.value(fields))


def _attempts(events: Sequence[TraceEvent], redactor: Redactor, provider: str) -> Iterator[Span]:
    """A span for every attempt that came back."""
    sent: TraceEvent | None = None
    for event in events:
        kind = event.body.type
        if kind == "attempt_started":
            sent = event
        elif kind == "attempt_ended" and sent is not None:
            yield _attempt(sent, event, redactor, provider)
            sent = None


def _attempt(sent: TraceEvent, ended: TraceEvent, redactor: Redactor, provider: str) -> Span:
    out: Any = sent.body
    back: Any = ended.body
    model = out.channel == Channel.MODEL
    special = _chat(out, back, provider) if model else _tool(out)
    attributes: Attributes = special | {
        "hfr.step": sent.step,
        "hfr.attempt": sent.attempt,
        "hfr.point": out.point,
        "hfr.purpose": out.purpose,
    }
    error = ""
    if not back.answered:
        error = back.exception or (str(back.status) if back.status is not None else "no answer")
        attributes["error.type"] = error
    if back.status is not None:
        attributes["http.response.status_code"] = back.status
    if back.cost_microusd is not None:
        attributes["hfr.cost_microusd"] = back.cost_microusd
    return Span(
        redactor.text(f"{special['gen_ai.operation.name']} {out.target}"),
        "client" if model else "internal",
        sent.t_us,
        ended.t_us,
        redactor.value(attributes),
        redactor.text(error),
    )


def _chat(out: Any, back: Any, provider: str) -> Attributes:
    maker, slash, _ = out.target.partition("/")
    found: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": out.target,
    }
    if slash or provider:
        found["gen_ai.provider.name"] = maker if slash else provider
    if back.returned_model:
        found["gen_ai.response.model"] = back.returned_model
    if back.finish_reason:
        found["gen_ai.response.finish_reasons"] = [back.finish_reason]
    if back.answered:
        found["gen_ai.usage.input_tokens"] = back.tokens_in
        found["gen_ai.usage.output_tokens"] = back.tokens_out
    return found


def _tool(out: Any) -> Attributes:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": out.target,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": out.operation_id,
    }


# -- sending ----------------------------------------------------------------------------------


class TrialIds:
    """Ids made of the trial and the span's place: what is sent again is the same span again.

    An id generator of the SDK's; `begin` names the trial that spans are made for.
    """

    def __init__(self) -> None:
        self._trial, self._spans = "", 0

    def begin(self, trial_id: str) -> None:
        self._trial, self._spans = trial_id, 0

    def generate_trace_id(self) -> int:
        return self._digest(0, 16)

    def generate_span_id(self) -> int:
        self._spans += 1
        return self._digest(self._spans, 8)

    def is_trace_id_random(self) -> bool:
        return True  # as even as random bits are

    def _digest(self, number: int, size: int) -> int:
        text = f"{self._trial}\0{number}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:size], "big") or 1


def send(trials: Iterable[TrialSpans], tracer: Any, ids: TrialIds | None = None) -> Iterator[int]:
    """Hand trials to a tracer, through OpenTelemetry's API alone; yields each one's span count.

    Raises BadInputError if the API is not installed.
    """
    api, contexts = _import("opentelemetry.trace"), _import("opentelemetry.context")
    for trial in trials:
        if ids is not None:
            ids.begin(trial.trial_id)
        base_ns = trial.end_ns - trial.root.end_us * 1000
        root = _start(api, tracer, trial.root, base_ns, contexts.Context())
        inside = api.set_span_in_context(root, contexts.Context())
        for span in trial.children:
            _start(api, tracer, span, base_ns, inside).end(base_ns + span.end_us * 1000)
        root.end(trial.end_ns)
        yield 1 + len(trial.children)


def _start(api: Any, tracer: Any, span: Span, base_ns: int, context: Any) -> Any:
    """A span that has begun, with all that is known of it."""
    made = tracer.start_span(
        span.name,
        context=context,
        kind=getattr(api.SpanKind, span.kind.upper()),
        attributes=span.attributes,
        start_time=base_ns + span.start_us * 1000,
    )
    for event in span.events:
        made.add_event(event.name, event.attributes, base_ns + event.at_us * 1000)
    if span.error:
        made.set_status(api.Status(api.StatusCode.ERROR, span.error))
    return made


def export(trials: Iterable[TrialSpans], to: Literal["otlp", "console"]) -> int:
    """Send trials through the SDK, one at a time; returns the number of spans.

    `otlp`: over HTTP, to where the usual variables say (OTEL_EXPORTER_OTLP_ENDPOINT, ...; default
    http://localhost:4318). `console`: to standard output, as JSON.

    Raises:
        BadInputError: OpenTelemetry is not installed; the message names the extra.
        InfrastructureError: the collector did not take the spans.
    """
    exporting = _import("opentelemetry.sdk.trace.export")
    if to == "console":
        exporter = exporting.ConsoleSpanExporter(out=sys.stdout)
    else:
        exporter = _import(f"{_OTLP}.trace_exporter").OTLPSpanExporter()
    ids, held, sent = TrialIds(), _Held(), 0
    provider = _import("opentelemetry.sdk.trace").TracerProvider(
        resource=_import("opentelemetry.sdk.resources").Resource.create(
            {"service.name": os.environ.get("OTEL_SERVICE_NAME", SCOPE)}
        ),
        id_generator=ids,
        shutdown_on_exit=False,
    )
    provider.add_span_processor(exporting.SimpleSpanProcessor(held))
    try:
        for count in send(trials, provider.get_tracer(SCOPE, __version__), ids):
            if exporter.export(held.take()) is not exporting.SpanExportResult.SUCCESS:
                raise InfrastructureError(
                    f"the spans were not taken (after {sent} that were): is a collector listening "
                    "at OTEL_EXPORTER_OTLP_ENDPOINT (default http://localhost:4318)? Sent again, "
                    "spans keep their ids"
                )
            sent += count
    finally:
        exporter.shutdown()
    return sent


class _Held:
    """An exporter of the SDK's that holds spans back, so that a trial is sent whole or not."""

    def __init__(self) -> None:
        self._spans: list[Any] = []

    def export(self, spans: Sequence[Any]) -> None:
        self._spans += spans

    def take(self) -> list[Any]:
        taken, self._spans = self._spans, []
        return taken

    def shutdown(self) -> None:
        """Nothing is open."""


def _import(module: str) -> Any:
    """A module of OpenTelemetry's. Raises BadInputError naming the extra."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise BadInputError(f"spans need {error.name}: {EXTRA}") from error
