"""The delivery audit: was every fault that an attempt met really seen there (DESIGN §5)?

Recomputed from the plan and from what the outer recorder logged. A fresh cursor is walked over
the attempts; where it says that an event was live, the answer logged must have the event's
declared shape, and the world must have been touched exactly if the event says so. Marks left by
an injector (`fault_injected`, `upstream_hit`) are never read: they would prove only intentions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.shape import declared, wire
from hfr_bench.model.report import AuditRow
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, KindSpec, Respond
from hfr_bench.model.terms import Channel, Layer
from hfr_bench.model.trace import AttemptEnded, AttemptStarted, EffectExecuted, TraceEvent

DIALECTS = {Channel.MODEL: "openai_chat", Channel.TOOL: "tool"}
AUDITED = frozenset({"attempt_started", "attempt_ended", "effect"})
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
    """The audit of one trial. `unplanned`: attempts that failed where no event was live."""

    arm: str
    deliveries: tuple[Delivery, ...]
    unplanned: tuple[str, ...] = ()


@dataclass(slots=True)
class _Attempt:
    """One attempt as the outer recorder saw it, and the effects between its two lines."""

    start: TraceEvent
    sent: AttemptStarted
    end: TraceEvent | None = None
    seen: AttemptEnded | None = None
    effects: set[str] = field(default_factory=set)

    @property
    def place(self) -> str:
        return f"{self.sent.point} #{self.sent.occurrence} attempt {self.start.attempt}"


def audit(
    events: Iterable[TraceEvent],
    schedule: FaultSchedule,
    kinds: Mapping[str, KindSpec],
    *,
    arm: str = "",
    injected: bool = True,
) -> TrialAudit:
    """Audit one trial from its trace, in order, and its schedule.

    Args:
        events: the trial's trace; bodies outside AUDITED are ignored.
        schedule: what was planned.
        kinds: fault kinds by name.
        arm: kept in the result, for the tables.
        injected: False where the injectors were taken out: nothing can be reached then.
    """
    planned = schedule.events if injected else ()
    # One cursor a layer, as in the trial: the gateway holds the model's, the tool side its own.
    cursors = {layer: Cursor(planned, (layer,)) for layer in (Layer.MODEL, Layer.TOOL)}
    problems: dict[str, str] = {}
    unplanned = []
    for attempt in _attempts(events):
        live = _live(attempt, cursors)
        if live is not None:
            problem = _mismatch(attempt, live, kinds)
            if not problems.get(live.injection_id):
                problems[live.injection_id] = problem
        elif attempt.seen is not None and not attempt.seen.answered:
            unplanned.append(f"{attempt.place}: {_seen(attempt.seen)}")
    deliveries = tuple(_delivery(event, problems) for event in planned)
    return TrialAudit(arm, deliveries, tuple(unplanned))


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


def _attempts(events: Iterable[TraceEvent]) -> list[_Attempt]:
    """Pair the lines of each attempt; attempts of a trial never overlap."""
    attempts: list[_Attempt] = []
    for event in events:
        body = event.body
        if isinstance(body, AttemptStarted):
            attempts.append(_Attempt(event, body))
        elif not attempts or attempts[-1].end is not None:
            continue
        elif isinstance(body, AttemptEnded):
            attempts[-1].end, attempts[-1].seen = event, body
        elif isinstance(body, EffectExecuted):
            attempts[-1].effects.add(body.operation_id)
    return attempts


def _live(attempt: _Attempt, cursors: Mapping[Layer, Cursor]) -> FaultEvent | None:
    layer = Layer.MODEL if attempt.sent.channel is Channel.MODEL else Layer.TOOL
    return cursors[layer].at(
        attempt.sent.point,
        attempt.sent.occurrence,
        attempt.start.attempt,
        target=attempt.sent.target,
        now_us=attempt.start.t_us,
    )


def _mismatch(attempt: _Attempt, event: FaultEvent, kinds: Mapping[str, KindSpec]) -> str:
    """What speaks against delivery, in words; "" if nothing does."""
    kind, dialect = kinds.get(event.kind), DIALECTS[attempt.sent.channel]
    where = f"{event.injection_id} {event.kind} at {attempt.place}"
    if kind is None:
        return f"{where}: unknown kind"
    if dialect not in kind.wire:
        return f"{where}: the kind does not speak {dialect}"
    if attempt.end is None or attempt.seen is None:
        return f"{where}: the attempt has no end"
    if (attempt.end.step, attempt.end.attempt) != (attempt.start.step, attempt.start.attempt):
        return f"{where}: the next end belongs to another attempt"
    wanted = declared(event, kind, dialect, attempt.sent.timeout_us)
    seen = attempt.seen
    same = (
        seen.exception == wanted.exception
        if wanted.exception is not None
        else (seen.status, seen.response_digest, seen.exception)
        == (wanted.status, wanted.response_digest, None)
    )
    if not same:
        shape = wanted.exception or f"status {wanted.status} body {wanted.response_digest[:8]}"
        return f"{where}: declared {shape}, seen {_seen(seen)}"
    if attempt.sent.channel is Channel.TOOL:
        return _effect_mismatch(attempt, event, kind, where)
    return ""


def _effect_mismatch(attempt: _Attempt, event: FaultEvent, kind: KindSpec, where: str) -> str:
    """A tool ran under the fault exactly if the event's wire effect lets the request through."""
    effect = wire(event, kind, DIALECTS[Channel.TOOL])
    lands = not isinstance(effect, Respond) and effect.forward
    ran = attempt.sent.operation_id in attempt.effects
    if lands and not ran:
        return f"{where}: should have reached the world, but the tool did not run"
    if ran and not lands:
        return f"{where}: should have been lost, but the tool ran"
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
