"""The delivery audit: did every attempt meet what the plan says, and nothing else (DESIGN §5)?

Recomputed from the plan, from what the outer recorder logged, and from the truth beneath the
injectors: executions of the world, and requests that reached the gateway. `expect` says which
event must have been live at each attempt. There, the answer must have the event's declared shape,
and the request must have landed exactly if the event says so; everywhere else, the answer must be
the one that the world (or the model server) gave to this very attempt. The injectors' marks
(`fault_injected`, names and kinds in `upstream_hit`) are never read: they would prove intentions.
"""

from collections import Counter
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
    UpstreamHit,
)

DIALECTS = {Channel.MODEL: "openai_chat", Channel.TOOL: "tool"}
LAYERS = {Channel.MODEL: (Layer.MODEL,), Channel.TOOL: (Layer.TOOL, Layer.ENVIRONMENT)}
AUDITED = frozenset({"trial_started", "attempt_started", "attempt_ended", "effect", "upstream_hit"})
"""The bodies that the audit reads; a store may leave out all others."""

_SHOWN = 5


class Delivery(NamedTuple):
    """One planned event that was reached: an attempt of the trial met it.

    `mismatch`: what was seen instead; "" if every attempt that met it saw it as declared.
    """

    event: FaultEvent
    mismatch: str = ""

    @property
    def delivered(self) -> bool:
        return not self.mismatch


class KindSums(NamedTuple):
    """The events of one kind: planned, met, seen as declared; what was seen instead."""

    scheduled: int
    reached: int
    delivered: int
    mismatched: tuple[str, ...] = ()


class TrialAudit(NamedTuple):
    """The audit of one trial: `sums` by (layer, kind); `deliveries` in the schedule's order.

    The others are about attempts at which no event was live. `failed`: got no answer; a live
    service does that by itself. `untrue`: what was seen is not what the world or the model server
    did; nothing excuses that.
    """

    arm: str
    sums: Mapping[tuple[str, str], KindSums]
    failed: tuple[str, ...] = ()
    untrue: tuple[str, ...] = ()
    deliveries: tuple[Delivery, ...] = ()


class Agenda:
    """A schedule sorted by step, once for all trials that run under it.

    An event begins at its own step or never, so a trial meets only events of steps it came to.
    """

    def __init__(self, schedule: FaultSchedule) -> None:
        self.counts = Counter((event.layer.value, event.kind) for event in schedule.events)
        self._order = {event.injection_id: n for n, event in enumerate(schedule.events)}
        self._steps: dict[tuple[Layer, str, int], list[FaultEvent]] = {}
        for event in schedule.events:
            step = (event.layer, event.point, event.occurrence)
            self._steps.setdefault(step, []).append(event)

    def within(self, layer: Layer, places: Iterable[Place]) -> list[FaultEvent]:
        """The events of a layer that some attempts may meet."""
        steps = dict.fromkeys((layer, place.point, place.occurrence) for place in places)
        return [event for step in steps for event in self._steps.get(step, ())]

    def ordered(self, deliveries: Iterable[Delivery]) -> tuple[Delivery, ...]:
        """In the order of the schedule."""
        return tuple(sorted(deliveries, key=lambda one: self._order[one.event.injection_id]))


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
    schedule: FaultSchedule | Agenda,
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
    agenda = schedule if isinstance(schedule, Agenda) else Agenda(schedule)
    read = _read(events)
    terms = _Terms(kinds, injected, read.virtual, tool_latency_us if read.virtual else None)
    met: dict[str, Delivery] = {}
    failed, untrue = [], read.stray
    for attempt, live in _met(read.attempts, agenda if injected else None):
        if live is not None:
            before = met.get(live.injection_id)
            problem = _mismatch(attempt, live, terms)
            met[live.injection_id] = (
                before if before and before.mismatch else Delivery(live, problem)
            )
        elif attempt.seen is not None and not attempt.seen.answered:
            failed.append(f"{attempt.name}: {_seen(attempt.seen)}")
        elif attempt.seen is not None and (problem := _untrue(attempt, attempt.seen, terms)):
            untrue.append(f"{attempt.name}: {problem}")
    deliveries = agenda.ordered(met.values())
    sums = _sums(agenda.counts, deliveries) if injected else {}
    return TrialAudit(arm, sums, tuple(failed), tuple(untrue), deliveries)


def _sums(
    planned: Mapping[tuple[str, str], int], deliveries: Iterable[Delivery]
) -> dict[tuple[str, str], KindSums]:
    sums = {key: KindSums(count, 0, 0) for key, count in planned.items()}
    for one in deliveries:
        key = (one.event.layer.value, one.event.kind)
        scheduled, reached, delivered, mismatched = sums[key]
        mismatched = (*mismatched, one.mismatch) if one.mismatch else mismatched
        sums[key] = KindSums(scheduled, reached + 1, delivered + one.delivered, mismatched)
    return sums


def rows(audits: Iterable[TrialAudit]) -> tuple[AuditRow, ...]:
    """Deliveries summed by layer, kind and arm, in that order; at most five mismatches a row."""
    found: dict[tuple[str, str, str], list[KindSums]] = {}
    for trial in audits:
        for (layer, kind), sums in trial.sums.items():
            found.setdefault((layer, kind, trial.arm), []).append(sums)
    return tuple(
        AuditRow(
            kind=kind,
            layer=layer,
            arm=arm,
            scheduled=sum(one.scheduled for one in sums),
            reached=sum(one.reached for one in sums),
            delivered=sum(one.delivered for one in sums),
            mismatched=tuple(text for one in sums for text in one.mismatched)[:_SHOWN],
        )
        for (layer, kind, arm), sums in sorted(found.items())
    )


def _read(events: Iterable[TraceEvent]) -> _Read:
    """Pair the lines of each attempt (attempts of a trial never overlap), with truths between.

    Bodies are told apart by `type`: readers of many traces bring no records but their like.
    """
    attempts: list[_Attempt] = []
    stray: list[str] = []
    virtual = False
    inside: _Attempt | None = None
    for event in events:
        body = event.body
        if body.type == "attempt_started":
            inside = _Attempt(event, body)
            attempts.append(inside)
        elif body.type == "attempt_ended":
            if inside is not None:
                inside.end, inside.seen = event, body
            inside = None
        elif body.type == "effect":
            if inside is not None:
                inside.effects.append(body)
            elif body.actor != "user":
                stray.append(f"{body.point}: a tool ran outside any attempt")
        elif body.type == "upstream_hit":
            if inside is not None:
                inside.hits.append(body)
            elif virtual and body.point.startswith("model:"):
                stray.append(f"{body.point}: a request reached the gateway outside any attempt")
        elif body.type == "trial_started":
            virtual = body.clock == ClockKind.VIRTUAL
    return _Read(attempts, stray, virtual)


def _met(
    attempts: Sequence[_Attempt], agenda: Agenda | None
) -> list[tuple[_Attempt, FaultEvent | None]]:
    """Each attempt with the event that must be live there; every layer has events of its own."""
    live: dict[int, FaultEvent | None] = {}
    if agenda is None:
        return [(attempt, None) for attempt in attempts]
    for channel, layers in LAYERS.items():
        own = [n for n, attempt in enumerate(attempts) if attempt.sent.channel is channel]
        places = [attempts[n].place for n in own]
        if events := [event for layer in layers for event in agenda.within(layer, places)]:
            live.update(zip(own, expected(events, places), strict=True))
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


def _seen(ended: AttemptEnded) -> str:
    if ended.exception is not None:
        return ended.exception
    return f"status {ended.status} body {ended.response_digest[:8]}"
