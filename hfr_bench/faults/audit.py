"""The delivery audit: did every attempt meet what the plan says, and nothing else (DESIGN §5)?

Recomputed from the plan, from what the outer recorder logged, and from the truth beneath the
injectors: executions of the world, and requests that reached the gateway. `expect` says which
event must have been live at each attempt. There, the answer must have the event's declared shape,
and the request must have landed exactly if the event says so; everywhere else, the answer must be
the one that the world (or the model server) gave to this very attempt. The injectors' marks
(`fault_injected`, names and kinds in `upstream_hit`) are never read: they would prove intentions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hfr_bench.faults.expect import Place, expected
from hfr_bench.faults.shape import Shape, declared, wire
from hfr_bench.model.report import AuditRow
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, KindSpec, Respond
from hfr_bench.model.terms import Channel, ClockKind, Layer
from hfr_bench.model.trace import (
    AttemptEnded,
    AttemptStarted,
    EffectExecuted,
    TraceEvent,
    TrialStarted,
    UpstreamHit,
)

DIALECTS = {Channel.MODEL: "openai_chat", Channel.TOOL: "tool"}
LAYERS = {Channel.MODEL: Layer.MODEL, Channel.TOOL: Layer.TOOL}
AUDITED = frozenset({"trial_started", "attempt_started", "attempt_ended", "effect", "upstream_hit"})
"""The bodies that the audit reads; a store may leave out all others."""

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Delivery:
    """One planned event in one trial. `mismatch`: what was seen instead; "" if delivered.

    `reached`: an attempt met it. `delivered`: every attempt that met it saw it as declared.
    """

    event: FaultEvent
    reached: bool
    delivered: bool
    mismatch: str = ""


@dataclass(frozen=True, slots=True)
class TrialAudit:
    """The audit of one trial. Both others are about attempts at which no event was live.

    `failed`: got no answer; a live service does that by itself. `untrue`: what was seen is not
    what the world or the model server did; nothing excuses that.
    """

    arm: str
    deliveries: tuple[Delivery, ...]
    failed: tuple[str, ...] = ()
    untrue: tuple[str, ...] = ()


@dataclass(slots=True)
class _Attempt:
    """One attempt as the outer recorder saw it, and the truths between its two lines."""

    start: TraceEvent
    sent: AttemptStarted
    end: TraceEvent | None = None
    seen: AttemptEnded | None = None
    effects: list[EffectExecuted] = field(default_factory=list)
    hits: list[UpstreamHit] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.sent.point} #{self.sent.occurrence} attempt {self.start.attempt}"

    @property
    def place(self) -> Place:
        sent, start = self.sent, self.start
        return Place(sent.point, sent.occurrence, start.attempt, sent.target, start.t_us)


class _Read(NamedTuple):
    """A trace, sorted: its attempts, truths that belong to none, and whether time was virtual."""

    attempts: list[_Attempt]
    stray: list[str]
    virtual: bool


class _Terms(NamedTuple):
    """What else the attempts are held to: the kinds, injectors in place, and declared times."""

    kinds: Mapping[str, KindSpec]
    injected: bool
    virtual: bool
    tool_latency_us: int | None


def audit(
    events: Iterable[TraceEvent],
    schedule: FaultSchedule,
    kinds: Mapping[str, KindSpec],
    *,
    arm: str = "",
    injected: bool = True,
    tool_latency_us: int | None = None,
) -> TrialAudit:
    """Audit one trial from its trace, in order, and its schedule.

    Args:
        events: the trial's trace; bodies outside AUDITED are ignored.
        schedule: what was planned.
        kinds: fault kinds by name.
        arm: kept in the result, for the tables.
        injected: False where the injectors were taken out: nothing can be reached then, and
            without a gateway there is no truth of the model layer.
        tool_latency_us: what a tool attempt takes on a virtual clock; None = not checked.
    """
    read = _read(events)
    terms = _Terms(kinds, injected, read.virtual, tool_latency_us if read.virtual else None)
    planned = schedule.events if injected else ()
    problems: dict[str, str] = {}
    failed, untrue = [], read.stray
    for attempt, live in _met(read.attempts, planned):
        if live is not None:
            problem = _mismatch(attempt, live, terms)
            problems[live.injection_id] = problems.get(live.injection_id) or problem
        elif attempt.seen is not None and not attempt.seen.answered:
            failed.append(f"{attempt.name}: {_seen(attempt.seen)}")
        elif attempt.seen is not None and (problem := _untrue(attempt, attempt.seen, terms)):
            untrue.append(f"{attempt.name}: {problem}")
    deliveries = tuple(_delivery(event, problems) for event in planned)
    return TrialAudit(arm, deliveries, tuple(failed), tuple(untrue))


def rows(audits: Sequence[TrialAudit]) -> tuple[AuditRow, ...]:
    """Deliveries summed by layer, kind and arm, in that order; at most five mismatches a row."""
    sums: dict[tuple[str, str, str], list[Delivery]] = {}
    for trial in audits:
        for one in trial.deliveries:
            key = (one.event.layer.value, one.event.kind, trial.arm)
            sums.setdefault(key, []).append(one)
    return tuple(
        AuditRow(
            kind=kind,
            layer=layer,
            arm=arm,
            scheduled=len(found),
            reached=sum(one.reached for one in found),
            delivered=sum(one.delivered for one in found),
            mismatched=tuple(one.mismatch for one in found if one.mismatch)[:_SHOWN],
        )
        for (layer, kind, arm), found in sorted(sums.items())
    )


def _read(events: Iterable[TraceEvent]) -> _Read:
    """Pair the lines of each attempt (attempts of a trial never overlap), with truths between."""
    attempts: list[_Attempt] = []
    stray: list[str] = []
    virtual = False
    for event in events:
        body = event.body
        inside = attempts[-1] if attempts and attempts[-1].end is None else None
        match body:
            case TrialStarted():
                virtual = body.clock == ClockKind.VIRTUAL
            case AttemptStarted():
                attempts.append(_Attempt(event, body))
            case AttemptEnded() if inside is not None:
                inside.end, inside.seen = event, body
            case EffectExecuted() if inside is not None:
                inside.effects.append(body)
            case UpstreamHit() if inside is not None:
                inside.hits.append(body)
            case EffectExecuted() if body.actor != "user":
                stray.append(f"{body.point}: a tool ran outside any attempt")
            case UpstreamHit() if virtual and body.point.startswith("model:"):
                stray.append(f"{body.point}: a request reached the gateway outside any attempt")
            case _:
                pass
    return _Read(attempts, stray, virtual)


def _met(
    attempts: Sequence[_Attempt], planned: Sequence[FaultEvent]
) -> list[tuple[_Attempt, FaultEvent | None]]:
    """Each attempt with the event that must be live there; every layer has events of its own."""
    live: dict[int, FaultEvent | None] = {}
    for channel, layer in LAYERS.items():
        own = [n for n, attempt in enumerate(attempts) if attempt.sent.channel is channel]
        events = [event for event in planned if event.layer is layer]
        live.update(zip(own, expected(events, [attempts[n].place for n in own]), strict=True))
    return [(attempt, live.get(n)) for n, attempt in enumerate(attempts)]


def _mismatch(attempt: _Attempt, event: FaultEvent, terms: _Terms) -> str:
    """What speaks against delivery, in words; "" if nothing does."""
    kind, dialect = terms.kinds.get(event.kind), DIALECTS[attempt.sent.channel]
    where = f"{event.injection_id} {event.kind} at {attempt.name}"
    if kind is None:
        return f"{where}: unknown kind"
    if dialect not in kind.wire:
        return f"{where}: the kind does not speak {dialect}"
    if attempt.end is None or attempt.seen is None:
        return f"{where}: the attempt has no end"
    if (attempt.end.step, attempt.end.attempt) != (attempt.start.step, attempt.start.attempt):
        return f"{where}: the next end belongs to another attempt"
    effect = wire(event, kind, dialect)
    lands = not isinstance(effect, Respond) and effect.forward
    wanted = declared(event, kind, dialect, attempt.sent.timeout_us)
    problem = _misshapen(attempt.seen, wanted, terms)
    if not problem and attempt.sent.channel is Channel.TOOL:
        problem = _effect_mismatch(attempt, lands=lands)
    elif not problem:
        problem = _hit_mismatch(attempt, lands=lands)
    return f"{where}: {problem}" if problem else ""


def _misshapen(seen: AttemptEnded, wanted: Shape, terms: _Terms) -> str:
    """Where an answer differs from the declared shape."""
    shape = wanted.exception or f"status {wanted.status} body {wanted.response_digest[:8]}"
    same = (
        seen.exception == wanted.exception
        if wanted.exception is not None
        else (seen.status, seen.response_digest, seen.exception)
        == (wanted.status, wanted.response_digest, None)
    )
    if not same:
        return f"declared {shape}, seen {_seen(seen)}"
    if seen.answered:
        return f"declared {shape}, seen as an answer"
    if seen.retry_after != wanted.retry_after:
        return f"declared Retry-After {wanted.retry_after}, seen {seen.retry_after}"
    if terms.virtual and wanted.latency_us not in (None, seen.latency_us):
        return f"declared {wanted.latency_us} µs, took {seen.latency_us} µs"
    return ""


def _effect_mismatch(attempt: _Attempt, *, lands: bool) -> str:
    """A tool ran under the fault exactly if the event lets the request through, and once."""
    ran = [one.operation_id for one in attempt.effects]
    own = ran.count(attempt.sent.operation_id)
    if lands and not own:
        return "should have reached the world, but the tool did not run"
    if ran and not lands:
        return "should have been lost, but the tool ran"
    if len(ran) > 1:
        return f"the tool ran {len(ran)} times"
    return ""


def _hit_mismatch(attempt: _Attempt, *, lands: bool) -> str:
    """One request reached the gateway, and the model server exactly if the event says so."""
    if len(attempt.hits) != 1:
        return f"{len(attempt.hits)} requests reached the gateway"
    forwarded = attempt.hits[0].forwarded
    if forwarded and not lands:
        return "should have been kept back, but the model server got it"
    if lands and not forwarded:
        return "should have reached the model server, but did not"
    return ""


def _untrue(attempt: _Attempt, seen: AttemptEnded, terms: _Terms) -> str:
    """Where an attempt without a fault saw something else than what really happened."""
    if attempt.sent.channel is Channel.MODEL:
        if not terms.injected:
            return ""
        if problem := _hit_mismatch(attempt, lands=True):
            return problem
        true_digest = attempt.hits[0].response_digest
    else:
        if problem := _effect_mismatch(attempt, lands=True):
            return problem
        true_digest = attempt.effects[0].response_digest
        if terms.tool_latency_us not in (None, seen.latency_us):
            return f"a tool takes {terms.tool_latency_us} µs, it took {seen.latency_us} µs"
    if seen.response_digest != true_digest:
        return f"the true answer is {true_digest[:8]}, seen {_seen(seen)}"
    return ""


def _delivery(event: FaultEvent, problems: Mapping[str, str]) -> Delivery:
    if event.injection_id not in problems:
        return Delivery(event, reached=False, delivered=False)
    mismatch = problems[event.injection_id]
    return Delivery(event, reached=True, delivered=not mismatch, mismatch=mismatch)


def _seen(ended: AttemptEnded) -> str:
    if ended.exception is not None:
        return ended.exception
    return f"status {ended.status} body {ended.response_digest[:8]}"
