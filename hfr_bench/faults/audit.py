"""The delivery audit: did every attempt meet what the plan says, and nothing else (DESIGN §5)?

Recomputed from the plan, from what the outer recorder logged, and from the truth beneath the
injectors: executions of the world, and requests that reached the gateway. `expect` says which
event must have been live at each attempt. There, the answer must have the event's declared shape,
and the request must have landed exactly if the event says so; everywhere else, the answer must be
the one that the world (or the model server) gave to this very attempt. The injectors' marks
(`fault_injected`, names and kinds in `upstream_hit`) are never read: they would prove intentions.

What needs the real call at the tool boundary (`model.effects`) is held to the same truths: an
altered answer is another than the world's, a stale one is the world's own of an earlier time, a
late call runs once, after its attempt, and a key that is ignored is missing where the tool ran.
What is broken in a tool's container is held to the container's own state as well (`faults.hosts`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hfr_bench.faults import held, hosts, match
from hfr_bench.faults import web as web_part
from hfr_bench.faults.agenda import Agenda, Delivery
from hfr_bench.faults.dialects import CHAT, speaks
from hfr_bench.faults.expect import expected
from hfr_bench.faults.ledgers import announced
from hfr_bench.faults.reading import Attempt, Landing, Looks, Read, read
from hfr_bench.faults.shape import answers, lands, shape, wire
from hfr_bench.model.breakage import DIALECT as HOST
from hfr_bench.model.breakage import Break
from hfr_bench.model.effects import Alter, Altered, Boundary, Forget, Late, Stale
from hfr_bench.model.report import AuditRow
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, KindSpec
from hfr_bench.model.terms import Channel, Layer
from hfr_bench.model.trace import AttemptEnded, TraceEvent

DIALECTS = {Channel.MODEL: CHAT, Channel.TOOL: "tool"}
LAYERS = {
    Channel.MODEL: (Layer.MODEL,),
    Channel.TOOL: (Layer.TOOL, Layer.ENVIRONMENT, Layer.SEMANTIC),
}
AUDITED = frozenset(
    {
        *("trial_started", "attempt_started", "attempt_ended", "effect", "upstream_hit"),
        *("ledger_moved", "decided", "host", "web_hit", "web_seen"),
    }
)
"""The bodies that the audit reads; a store may leave out all others."""

_SHOWN = 5


class Meeting(NamedTuple):
    """An event met by one attempt: the numbers of its first and last line in the trace."""

    event: FaultEvent
    line: int
    last: int


class KindSums(NamedTuple):
    """The events of one kind: planned, met, seen as declared; what was seen instead.

    `observed`: how often its observation points were passed, of how often they could be told
    (`faults.observe`): name, k, n. `masked`: met, and hidden as the arm declares.
    """

    scheduled: int
    reached: int
    delivered: int
    mismatched: tuple[str, ...] = ()
    observed: tuple[tuple[str, int, int], ...] = ()
    masked: int = 0


class TrialAudit(NamedTuple):
    """The audit of one trial: `sums` by (layer, kind); `deliveries` in the schedule's order.

    The others are about attempts at which no event was live. `failed`: got no answer; a live
    service does that by itself. `untrue`: what was seen is not what the world or the model server
    did; nothing excuses that. `meetings`: every attempt that met an event, if it was delivered.
    """

    arm: str
    sums: Mapping[tuple[str, str], KindSums]
    failed: tuple[str, ...] = ()
    untrue: tuple[str, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    meetings: tuple[Meeting, ...] = ()


def audit(
    events: Iterable[TraceEvent],
    schedule: FaultSchedule | Agenda,
    kinds: Mapping[str, KindSpec],
    *,
    arm: str = "",
    injected: bool = True,
    tool_latency_us: int | None = None,
    masks: bool = False,
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
        masks: the arm declares a layer that may hide faults from the outer recorder.
    """
    agenda = schedule if isinstance(schedule, Agenda) else Agenda(schedule)
    events = events if isinstance(events, Sequence) else tuple(events)
    trace = read(events)
    terms = match.Terms(kinds, injected, trace.virtual, tool_latency_us if trace.virtual else None)
    pairs = _met(trace.attempts, agenda if injected else None)
    book = _Book(trace, pairs, terms)
    met: dict[str, Delivery] = {}
    web = web_part.found_in(events, agenda, terms)
    failed, untrue = [], [*trace.stray, *book.stray, *web.untrue]
    for attempt, live in web.but_for(book.attempts()):
        if live is not None:
            before = met.get(live.injection_id)
            problem = _mismatch(attempt, live, book)
            hidden = masks and bool(problem) and _hidden(attempt, live, book)
            if before is None or not before.mismatch:
                masked = hidden or (before is not None and before.masked)
                met[live.injection_id] = Delivery(live, "" if hidden else problem, masked)
        elif attempt.seen is not None and not attempt.seen.answered:
            failed.append(f"{attempt.name}: {match.told(attempt.seen)}")
        elif attempt.seen is not None and (problem := match.untrue(attempt, attempt.seen, terms)):
            untrue.append(f"{attempt.name}: {problem}")
    if agenda.of_the_ledger and injected:
        failed += _of_the_ledger(events, agenda, met, book.meetings, _forked(pairs, agenda))
    _add_web(web, trace.attempts, met, book.meetings)
    deliveries = agenda.ordered(met.values())
    sums = _sums(agenda.counts, deliveries) if injected else {}
    good = tuple(one for one in book.meetings if met[one.event.injection_id].delivered)
    return TrialAudit(arm, sums, tuple(failed), tuple(untrue), deliveries, good)


def _forked(pairs: Iterable[tuple[Attempt, FaultEvent | None]], agenda: Agenda) -> int | None:
    """The line at which the event was live that all others wait for."""
    return next((one.line for one, event in pairs if _is(event, agenda.fork)), None)


def _add_web(
    web: web_part.Found,
    attempts: Sequence[Attempt],
    met: dict[str, Delivery],
    meetings: list[Meeting],
) -> None:
    """Adds what was met on the way to sites."""
    met |= web.deliveries
    meetings.extend(_of_its_call(one, attempts) for one in web.met)


def _of_its_call(met: web_part.Met, attempts: Sequence[Attempt]) -> Meeting:
    """The meeting of a web request, as one of the tool's call that led to it."""
    for one in attempts:
        if one.line < met.line and one.last is not None and met.line < one.last:
            return Meeting(met.event, one.line, one.last)
    return Meeting(met.event, met.line, met.line)


class _Book:
    """The attempts of a trial with their events, and what is kept from one to the next.

    `stray`: tools that ran outside any attempt, and that no late call explains.
    """

    def __init__(
        self,
        trace: Read,
        met: Sequence[tuple[Attempt, FaultEvent | None]],
        terms: match.Terms,
    ) -> None:
        self.terms = terms
        self.meetings: list[Meeting] = []
        self.first: dict[str, Attempt] = {}
        self._met = met
        self._history = held.History()
        faulty = [(attempt, event) for attempt, event in met if event is not None]
        late = [a.sent.operation_id for a, event in faulty if self._is_late(a, event)]
        self.landed: Mapping[str, Sequence[Landing]] = trace.set_aside(late)
        self._looks = trace.looks
        self.behind = held.next_of_its_write(trace.attempts) if late else {}
        self._stale = any(isinstance(self._of(event), Stale) for _, event in faulty)
        self.stray = [
            f"{one.body.point}: a tool ran outside any attempt"
            for one in trace.ran
            if one.inside is None and one.body.operation_id not in self.landed
        ]

    def attempts(self) -> Iterator[tuple[Attempt, FaultEvent | None]]:
        """Each attempt in turn, with the event that it met: one that could take effect."""
        for attempt, event in self._met:
            live = event if event is None else self._live(attempt, event)
            if live is not None:
                self.first.setdefault(live.injection_id, attempt)
                last = attempt.line if attempt.last is None else attempt.last
                self.meetings.append(Meeting(live, attempt.line, last))
            yield attempt, live
            if self._stale:
                self._history.passed(attempt)

    def _live(self, attempt: Attempt, event: FaultEvent) -> FaultEvent | None:
        """The event, if it could take effect at an attempt that met it."""
        effect, can = self._of(event), True
        if isinstance(effect, Stale):
            can = event.effect_lands is not False and self.old(attempt) is not None
        elif isinstance(effect, Break):
            can = not hosts.untouched(effect, attempt, self.looks(attempt))
        return event if can else None

    def old(self, attempt: Attempt) -> str | None:
        """What a stale answer must be; None where none can be."""
        return self._history.old(attempt)

    def looks(self, attempt: Attempt) -> Looks:
        """How its container was found."""
        return self._looks.get(attempt.sent.operation_id) or Looks()

    def _is_late(self, attempt: Attempt, event: FaultEvent) -> bool:
        """Whether its call runs, if at all, outside its attempt: held back, or halted."""
        effect, seen = self._of(event), attempt.seen
        halted = isinstance(effect, Break) and seen is not None and not seen.answered
        return halted or isinstance(effect, Late)

    def _of(self, event: FaultEvent) -> object:
        kind = self.terms.kinds.get(event.kind)
        return None if kind is None else kind.wire.get(_dialect(kind, Channel.TOOL))


def _of_the_ledger(
    events: Sequence[TraceEvent],
    agenda: Agenda,
    met: dict[str, Delivery],
    meetings: list[Meeting],
    forked: int | None,
) -> Iterator[str]:
    """Adds the ledger's own events to what was met; tells of failures that nobody planned.

    `forked`: the line at which the event was live that all others wait for.
    """
    found = announced(events)
    places = [one.place for one in found]
    opened = {} if forked is None else {agenda.fork: sum(one.line < forked for one in found)}
    live = expected(agenda.within(Layer.TOOL, places), places, opened)
    for one, event in zip(found, live, strict=True):
        where = f"{one.place.point} #{one.place.occurrence}"
        if event is not None:
            problem = "" if one.failed else f"{event.injection_id} at {where}: the ledger moved"
            met[event.injection_id] = Delivery(event, problem)
            meetings.append(Meeting(event, one.line, one.line))
        elif one.failed:
            yield f"{where}: the ledger failed"


def _sums(
    planned: Mapping[tuple[str, str], int], deliveries: Iterable[Delivery]
) -> dict[tuple[str, str], KindSums]:
    sums = {key: KindSums(count, 0, 0) for key, count in planned.items()}
    for one in deliveries:
        key = (one.event.layer.value, one.event.kind)
        so_far = sums[key]
        found = (one.mismatch,) if one.mismatch else ()
        sums[key] = KindSums(
            so_far.scheduled,
            so_far.reached + 1,
            so_far.delivered + one.delivered,
            (*so_far.mismatched, *found),
            masked=so_far.masked + (one.masked and not one.mismatch),
        )
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
            scheduled=sum([one.scheduled for one in sums]),
            reached=sum([one.reached for one in sums]),
            delivered=sum([one.delivered for one in sums]),
            masked=sum([one.masked for one in sums]),
            mismatched=tuple(text for one in sums for text in one.mismatched)[:_SHOWN],
        )
        for (layer, kind, arm), sums in sorted(found.items())
    )


def _met(
    attempts: Sequence[Attempt], agenda: Agenda | None
) -> list[tuple[Attempt, FaultEvent | None]]:
    """Each attempt with the event that must be live there; every layer has events of its own."""
    live: dict[int, FaultEvent | None] = {}
    if agenda is None or not agenda.counts:  # nothing can be met
        return [(attempt, None) for attempt in attempts]
    forked: int | None = None
    # The layer of the fork first: events of the others wait for it.
    for channel, layers in sorted(LAYERS.items(), key=lambda one: not agenda.forks_in(one[1])):
        own = [n for n, attempt in enumerate(attempts) if attempt.sent.channel is channel]
        places = [attempts[n].place for n in own]
        opened = {} if forked is None else {agenda.fork: sum(n <= forked for n in own)}
        if events := [event for layer in layers for event in agenda.within(layer, places)]:
            live.update(zip(own, expected(events, places, opened), strict=True))
        if agenda.forks_in(layers):
            forked = next((n for n in own if _is(live.get(n), agenda.fork)), None)
    return [(attempt, live.get(n)) for n, attempt in enumerate(attempts)]


def _is(event: FaultEvent | None, injection_id: str) -> bool:
    return event is not None and event.injection_id == injection_id


def _dialect(kind: KindSpec, channel: Channel) -> str:
    return HOST if channel == Channel.TOOL and HOST in kind.wire else DIALECTS[channel]


def _mismatch(attempt: Attempt, event: FaultEvent, book: _Book) -> str:
    """What speaks against delivery, in words; "" if nothing does."""
    terms = book.terms
    kind, where = (
        terms.kinds.get(event.kind),
        f"{event.injection_id} {event.kind} at {attempt.name}",
    )
    if kind is None:
        return f"{where}: unknown kind"
    dialect = _dialect(kind, attempt.sent.channel)
    if not speaks(kind, dialect):
        return f"{where}: the kind does not speak {dialect}"
    if attempt.end is None or attempt.seen is None:
        return f"{where}: the attempt has no end"
    if (attempt.end.step, attempt.end.attempt) != (attempt.start.step, attempt.start.attempt):
        return f"{where}: the next end belongs to another attempt"
    effect = wire(event, kind, dialect)
    if isinstance(effect, Boundary | Altered | Break):
        problem = _held(effect, attempt, attempt.seen, book, event)
        return f"{where}: {problem}" if problem else ""
    wanted = shape(effect, kind, attempt.sent.timeout_us)
    problem = match.misshapen(attempt, attempt.seen, wanted, terms, silent=answers(effect))
    if not problem and attempt.sent.channel is Channel.TOOL:
        problem = match.effect_mismatch(attempt, lands=lands(effect))
    elif not problem:
        problem = match.hit_mismatch(attempt, lands=lands(effect))
    return f"{where}: {problem}" if problem else ""


def _hidden(attempt: Attempt, event: FaultEvent, book: _Book) -> bool:
    """Whether an answer was seen where the kind gives none: something hid the fault."""
    kind, dialect = book.terms.kinds.get(event.kind), DIALECTS[attempt.sent.channel]
    if kind is None or not speaks(kind, dialect) or attempt.seen is None:
        return False
    return attempt.seen.answered and not answers(wire(event, kind, dialect))


def _held(
    effect: Boundary | Altered | Break,
    attempt: Attempt,
    seen: AttemptEnded,
    book: _Book,
    event: FaultEvent,
) -> str:
    """What speaks against an effect that needs the real call."""
    tool_us, virtual = book.terms.tool_latency_us, book.terms.virtual
    match effect:
        case Break():
            ran = len(book.landed.get(attempt.sent.operation_id, ()))
            left_us = None
            if event.lasts.unit == "seconds":
                since_us = attempt.start.t_us - book.first[event.injection_id].start.t_us
                left_us = event.lasts.n * 1_000_000 - since_us
            more = hosts.Terms(left_us, virtual, tool_us)
            return hosts.problem(effect, attempt, seen, book.looks(attempt), ran, more)
        case Forget():
            first = book.first[event.injection_id]
            return held.forgotten(effect, attempt, seen, first, virtual=virtual)
        case Late():
            landed = book.landed[attempt.sent.operation_id]
            return (
                held.silent_for(effect.stall_s, attempt, seen, virtual=virtual)
                or match.effect_mismatch(attempt, lands=False)
                or held.late(effect, attempt, landed, book.behind.get(attempt.line))
            )
        case Alter() | Altered():
            found = held.altered(attempt, seen, tool_us)
        case Stale():
            found = held.stale(seen, book.old(attempt) or "", tool_us)
    return match.effect_mismatch(attempt, lands=True) or found
