"""A trial's trace read as a conversation: messages, and the agent's steps with all their attempts.

Texts are not in traces. Where a format wants one, it gets a line that says so, with digest and
length. All words that are in a trace (reasons, evidence, exceptions) pass the redactor here, once.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from hfr_bench.lab.decode import full
from hfr_bench.lab.redact import Redactor
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.terms import Channel
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.trial import TrialResult
from hfr_bench.recovery.telemetry import decision_events

_IDENTITY: Final = (
    "origin",
    "prereg_digest",
    "schedule_digest",
    "suite",
    "task_id",
    "seed",
    "profile",
    "rate",
    "arm",
    "pair_group",
    "round",
    "clock",
    "sandbox",
    "injected",
)
_ENDING: Final = (
    "official",
    "goal_met",
    "accepted",
    "in_time",
    "succeeded",
    "escalated",
    "effects",
    "duplicates",
    "unwanted",
    "partial",
    "harm",
    "duplicate_dispatches",
    "packet_true",
    "degraded_steps",
    "ambiguous_writes",
    "lost_effects",
)


class Call(NamedTuple):
    """One attempt. `ended` None: it never came back. `fault`: kind and injection id, or empty.

    `target`, `point`: those of `started`, past the redactor: an agent may call what it likes.
    `error`: why there was no answer; empty if there was one.
    """

    number: int
    at_us: int
    until_us: int
    started: Any
    ended: Any
    fault: dict[str, Any]
    effects: tuple[dict[str, Any], ...]
    target: str
    point: str
    error: str

    def plain(self) -> dict[str, Any]:
        """As a JSON object: what was seen, and beside it what was done to it and what it did."""
        sent, back = self.started, self.ended
        found = {
            "attempt": self.number,
            "purpose": sent.purpose,
            "point": self.point,
            "target": self.target,
            "level": str(sent.level),
            "operation_id": sent.operation_id,
            "request_digest": sent.request_digest,
            "t_us": self.at_us,
            "until_us": self.until_us,
            "error": self.error,
            "status": back.status if back is not None else None,
            "response_digest": back.response_digest if back is not None else "",
            "cost_microusd": back.cost_microusd if back is not None else None,
            "fault": self.fault,
            "effects": list(self.effects),
        }
        return {key: value for key, value in found.items() if value not in (None, "", {}, [])}


class Step(NamedTuple):
    """A logical step. `calls` with those made for the strategy; `decisions` as JSON objects."""

    number: int
    at_us: int
    channel: Channel
    target: str
    calls: tuple[Call, ...]
    decisions: tuple[dict[str, Any], ...]

    @property
    def own(self) -> tuple[Call, ...]:
        """The attempts of the agent's own call."""
        return tuple(call for call in self.calls if call.started.purpose == "agent")

    @property
    def last(self) -> Call:
        return (self.own or self.calls)[-1]


class Message(NamedTuple):
    """Somebody spoke; `who` is agent or user."""

    who: str
    at_us: int
    text: str


class Outline(NamedTuple):
    """A trial. `result` None: the trace was cut off. `end_ns`: since 1970, when it ended."""

    trial_id: str
    started: Any
    result: TrialResult | None
    moments: tuple[Step | Message, ...]
    packet: dict[str, Any] | None
    decisions: tuple[dict[str, Any], ...]
    end_us: int
    end_ns: int

    def when(self, t_us: int) -> str:
        """A moment of the trial's clock as ISO 8601, laid so that the trial ends at `end_ns`."""
        since = (self.end_ns // 1000 - (self.end_us - t_us)) / 1e6
        return datetime.fromtimestamp(since, UTC).isoformat(timespec="microseconds")

    @property
    def steps(self) -> Iterator[Step]:
        return (one for one in self.moments if isinstance(one, Step))

    def identity(self) -> dict[str, Any]:
        """What the trial was registered as, for whoever gets it alone."""
        own = {name: getattr(self.started, name) for name in _IDENTITY}
        return {"trial_id": self.trial_id, **own, "origin": str(self.started.origin)}

    def ending(self) -> dict[str, Any]:
        """How it ended, as a flat JSON object; {} if it was cut off."""
        if self.result is None:
            return {}
        graded: Any = self.result.outcome
        if graded is None:
            return {"void": str(self.result.void)}
        return {"end": str(graded.end), **{name: getattr(graded, name) for name in _ENDING}}


def outline(events: Sequence[TraceEvent], redactor: Redactor, end_ns: int = 0) -> Outline:
    """Read a whole trace.

    Args:
        events: records or their like.
        redactor: runs over every string that is not an id or a digest.
        end_ns: when the trial ended; nanoseconds since 1970.

    Raises:
        ValueError: the trace does not begin with `trial_started`.
    """
    if not events or events[0].body.type != "trial_started":
        raise ValueError("the trace does not begin with trial_started")
    last: Any = events[-1].body
    decided = _decisions(events, redactor)
    escalated: Any = next((e.body for e in events if e.body.type == "escalated"), None)
    packet = None
    if escalated is not None:
        packet = full(EscalationPacket, escalated.packet).model_dump(mode="json")
    return Outline(
        events[0].trial_id,
        events[0].body,
        last.result if last.type == "trial_ended" else None,
        tuple(_moments(events, decided, redactor)),
        redactor.value(packet),
        tuple(decided.get(0, ())),
        events[-1].t_us,
        end_ns,
    )


def _decisions(events: Sequence[TraceEvent], redactor: Redactor) -> dict[int, list[dict[str, Any]]]:
    """Every decision by its step, each with its moment."""
    times = [event.t_us for event in events if event.body.type == "decided"]
    found: dict[int, list[dict[str, Any]]] = {}
    for at_us, one in zip(times, decision_events(events), strict=True):
        plain = {key: value for key, value in one.plain().items() if value not in (None, "")}
        plain = {k: str(v) if isinstance(v, str) else v for k, v in plain.items()}
        plain.pop("task_id"), plain.pop("step_id")
        found.setdefault(one.step_id, []).append({"t_us": at_us, **redactor.value(plain)})
    return found


def _moments(
    events: Sequence[TraceEvent],
    decided: dict[int, list[dict[str, Any]]],
    redactor: Redactor,
) -> Iterator[Step | Message]:
    """Messages and steps in order; a step stands where it began."""
    held: list[TraceEvent] = []
    for event in events:
        if held and event.step != held[0].step:
            yield from _step(held, decided, redactor)
            held = []
        body: Any = event.body
        if event.step:
            held.append(event)
        elif body.type == "said":
            text = f"[not in the trace: sha256 {body.text_digest}, {body.length} characters]"
            yield Message(body.who, event.t_us, text)
    if held:
        yield from _step(held, decided, redactor)


def _step(
    events: Sequence[TraceEvent],
    decided: dict[int, list[dict[str, Any]]],
    redactor: Redactor,
) -> Iterator[Step]:
    calls = tuple(_calls(events, redactor))
    if calls:  # else it was decided not to call at all
        first = (next((c for c in calls if c.started.purpose == "agent"), calls[0])).started
        number = events[0].step
        yield Step(
            number,
            calls[0].at_us,
            first.channel,
            redactor.text(first.target),
            calls,
            tuple(decided.get(number, ())),
        )


def _calls(events: Sequence[TraceEvent], redactor: Redactor) -> Iterator[Call]:
    begun: TraceEvent | None = None
    held: list[TraceEvent] = []
    for event in events:
        if event.body.type == "attempt_started":
            if begun is not None:
                yield _call(begun, None, held, redactor)
            begun, held = event, []
        elif begun is not None:
            held.append(event)
            if event.body.type == "attempt_ended":
                yield _call(begun, event, held, redactor)
                begun = None
    if begun is not None:
        yield _call(begun, None, held, redactor)


def _call(
    begun: TraceEvent, ended: TraceEvent | None, between: Sequence[TraceEvent], redactor: Redactor
) -> Call:
    fault: dict[str, Any] = {}
    effects: list[dict[str, Any]] = []
    for event in between:
        body: Any = event.body
        if body.type in ("fault_injected", "upstream_hit") and body.injection_id:
            fault = {"kind": body.kind, "injection_id": body.injection_id}
        elif body.type == "effect":
            effects.append(
                {
                    "tool": redactor.text(body.tool),
                    "actor": body.actor,
                    "level": str(body.level),
                    "natural_key": body.natural_key,
                    "changed": redactor.value(body.changed),
                }
            )
    sent: Any = begun.body
    back: Any = None if ended is None else ended.body
    return Call(
        begun.attempt,
        begun.t_us,
        ended.t_us if ended is not None else begun.t_us,
        sent,
        back,
        fault,
        tuple(effects),
        redactor.text(sent.target),
        redactor.text(sent.point),
        redactor.text(_error(back)),
    )


def _error(back: Any) -> str:
    if back is None:
        return "cut off"
    if back.answered:
        return ""
    return back.exception or (str(back.status) if back.status is not None else "no answer")
