"""One trial as a readable timeline: what was tried, seen, injected, decided, done. Pure.

Belief and truth stand side by side: `seen` is what the strategy saw, `truth` what the injectors
and the world did. Effects are held against the task's expected ones as the judge does.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hfr_bench.lab.recorder import is_effect
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.record import Record
from hfr_bench.model.schedule import FaultEvent, FaultSchedule
from hfr_bench.model.task import OPEN
from hfr_bench.model.trace import (
    AttemptEnded,
    AttemptStarted,
    CircuitMoved,
    Decided,
    EffectExecuted,
    Escalated,
    FaultInjected,
    HostLooked,
    LedgerMoved,
    ReconcileAnswered,
    Said,
    StepEnded,
    TraceEvent,
    TrialEnded,
    TrialStarted,
    UpstreamHit,
    VerifyAnswered,
    Withheld,
)
from hfr_bench.model.trial import TrialResult

What = Literal[
    "try", "seen", "fault", "decide", "ledger", "effect", "answer", "wait", "said", "tape"
]


class Line(Record):
    """Something that happened. `mark`: duplicate, unwanted or injected, where a reader must look.

    `attempt` 0: outside any attempt.
    """

    t_us: int
    attempt: int
    what: What
    text: str
    mark: str = ""


class StepLines(Record):
    """A logical step, or (number 0) what happened between steps. `title`: point and occurrence."""

    number: int
    title: str
    lines: tuple[Line, ...]
    end: str = ""


class Timeline(Record):
    """A trial from its first line to its last.

    `planned`: the schedule's events at coordinates that the trial came to; `scheduled`: all of
    them. `result` is None where the trace does not end.
    """

    trial_id: str
    start: TrialStarted
    scheduled: int
    planned: tuple[FaultEvent, ...]
    steps: tuple[StepLines, ...]
    packet: EscalationPacket | None = None
    result: TrialResult | None = None
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Open:
    """The step being told."""

    number: int
    title: str = ""
    lines: list[Line] = field(default_factory=list)
    end: str = ""

    def closed(self) -> StepLines:
        return StepLines(
            number=self.number, title=self.title, lines=tuple(self.lines), end=self.end
        )


def timeline(
    events: Sequence[TraceEvent], schedule: FaultSchedule, notes: Iterable[str] = ()
) -> Timeline:
    """A trial's story from its trace and its schedule.

    Args:
        events: the whole trace in order.
        schedule: what was planned for its pair group.
        notes: what speaks against the trace (unreadable lines), kept as it is.

    Raises:
        ValueError: the trace does not begin with `trial_started`.
    """
    if not events or not isinstance(events[0].body, TrialStarted):
        raise ValueError("the trace does not begin with trial_started")
    start = events[0].body
    steps: list[_Open] = []
    done: Counter[str] = Counter()
    packet, result = None, None
    for event in events[1:]:
        body = event.body
        if isinstance(body, TrialEnded):
            result = body.result
            continue
        if isinstance(body, Escalated):
            packet = body.packet
            continue
        if not steps or steps[-1].number != event.step:
            steps.append(_Open(event.step))
        _tell(steps[-1], event, start, done)
    return Timeline(
        trial_id=events[0].trial_id,
        start=start,
        scheduled=len(schedule.events),
        planned=_met(events, schedule),
        steps=tuple(step.closed() for step in steps if step.lines or step.end),
        packet=packet,
        result=result,
        notes=tuple(notes),
    )


def _met(events: Iterable[TraceEvent], schedule: FaultSchedule) -> tuple[FaultEvent, ...]:
    """The planned events at coordinates (point, occurrence) that an attempt came to."""
    came = {
        (event.body.point, event.body.occurrence)
        for event in events
        if isinstance(event.body, AttemptStarted)
    }
    return tuple(one for one in schedule.events if (one.point, one.occurrence) in came)


# -- one line of the trace --------------------------------------------------------------------


Told = tuple[What, str, str]


def _tell(step: _Open, event: TraceEvent, start: TrialStarted, done: Counter[str]) -> None:
    """Add what one event says to its step."""
    body = event.body
    if isinstance(body, StepEnded):
        step.end = f"{body.action} after {body.attempts} attempt(s)"
        return
    if isinstance(body, AttemptStarted) and body.purpose == "agent" and not step.title:
        step.title = f"{body.point} #{body.occurrence}"
    told = _truth(event, start, done)
    told += _belief(event)
    step.lines += [
        Line(t_us=event.t_us, attempt=event.attempt, what=what, text=text, mark=mark)
        for what, text, mark in told
    ]


def _truth(event: TraceEvent, start: TrialStarted, done: Counter[str]) -> tuple[Told, ...]:
    """What injectors and world did."""
    match body := event.body:
        case UpstreamHit() if body.injection_id is not None:
            return (("fault", f"{body.kind} at the gateway, {_forwarded(body)}", "injected"),)
        case UpstreamHit() if body.organic:
            return (("fault", "the model service itself failed; nobody injected it", "organic"),)
        case UpstreamHit() if body.absorbed:
            text = f"the model service itself failed {body.absorbed} times, unseen, then answered"
            return (("fault", text, ""),)
        case UpstreamHit(prefix="missed"):
            text = "the calm trial did not ask this here: from now on the live model answers"
            return (("tape", text, "parted"),)
        case UpstreamHit(prefix="played"):
            return (("tape", "the calm trial's recorded answer was played", ""),)
        case FaultInjected():
            return (("fault", f"{body.kind}{_lands(body.effect_lands)}", "injected"),)
        case HostLooked():
            return (("fault", _host(body), ""),)
        case EffectExecuted():
            return (("effect", *_effect(body, start, done)),)
    return ()


def _host(body: HostLooked) -> str:
    """What was seen of the tool's container from outside, where it was not as it should be."""
    odd = {
        "frozen": body.paused,
        f"{body.struck} process(es) hit": bool(body.struck),
        "disk full": body.free_kib == 0,
        f"killed for lack of memory so far: {body.oom_kills}": bool(body.oom_kills),
        f"out of reach: {', '.join(body.cut)}": bool(body.cut),
        "started anew": body.restarted,
        "a stale lock in its repository": body.left,
        "a folder not to be written to": body.protected,
        f"{body.app} process(es) of its program hit": body.app is not None,
        f"{body.app_stopped} of its program's halted": bool(body.app_stopped),
        "a dialog on its screen": body.modal,
        f"its clock off by {body.skew_s} s": bool(body.skew_s),
    }
    found = [what for what, is_so in odd.items() if is_so]
    return f"the container, {body.when}: {'; '.join(found) or 'whole'}"


def _belief(event: TraceEvent) -> tuple[Told, ...]:
    """What the runtime under test tried, saw, chose and noted."""
    match body := event.body:
        case AttemptStarted():
            return (("try", _tried(body), ""),)
        case AttemptEnded():
            return (("seen", _seen(body), ""),)
        case Decided():
            return _decided(body)
        case LedgerMoved():
            before = f"{body.before} -> " if body.before else ""
            moved = f"{body.tool}: {before}{body.after}{_aside(body.evidence)}"
            return (("ledger", moved, ""),)
        case ReconcileAnswered():
            return (("answer", f"the world says of {body.tool}: {body.landed}", ""),)
        case VerifyAnswered():
            verdict = "passed" if body.passed else "did not pass"
            text = f"check {body.level} {verdict}{_aside('; '.join(body.reasons))}"
            return (("answer", text, ""),)
        case CircuitMoved() | Withheld():
            return (("decide", _shared(body), ""),)
        case Said():
            return (("said", f"{body.who}, {body.length} characters", ""),)
    return ()


def _shared(body: CircuitMoved | Withheld) -> str:
    """What the state that the cohort shares does here."""
    if isinstance(body, Withheld):
        why = "no retries are left" if body.why == "tenant_budget" else "its breaker is open"
        return f"not sent: {body.scope}, {why}"
    until = "" if body.until_us is None else f" until {seconds(body.until_us)}"
    return f"the breaker of {body.target} is {body.state}{until}"


def _tried(body: AttemptStarted) -> str:
    target = "" if body.point.endswith(f":{body.target}") else f" -> {body.target}"
    level = f", {body.level}" if body.level.writes else ""
    key = f", key {body.key[:8]}" if body.key else ""
    return f"{body.point} #{body.occurrence}{target}{level}{key}"


def _seen(body: AttemptEnded) -> str:
    """What the strategy saw: status or exception, time, money."""
    parts = [body.exception or (f"{body.status}" if body.status is not None else "nothing")]
    if body.domain_error:
        parts.append("the tool's own error")
    elif not body.answered and body.exception is None:
        parts.append("no answer in it")
    if body.retry_after is not None:
        parts.append(f"Retry-After {body.retry_after}")
    if not body.sent:
        parts.append("never sent")
    cost = "price unknown" if body.cost_microusd is None else f"${body.cost_microusd / 1e6:.4f}"
    return ", ".join([*parts, f"took {seconds(body.latency_us)}", cost])


def _forwarded(body: UpstreamHit) -> str:
    return "after the model answered" if body.forwarded else "the model was not asked"


def _lands(lands: bool | None) -> str:
    return {None: "", True: ": the write lands, its answer is lost",
            False: ": the write does not land"}[lands]  # fmt: skip


def _effect(body: EffectExecuted, start: TrialStarted, done: Counter[str]) -> tuple[str, str]:
    """What ran, what it changed, and whether the task wanted it (as `lab.judge` counts)."""
    who = "" if body.actor == "agent" else f" ({body.actor})"
    if not is_effect(body) or body.actor == "user" or not body.level.writes:
        changed = f"changed {len(body.changed)} row(s)" if body.changed else "changed nothing"
        refused = ", domain error" if body.domain_error else ""
        return f"{body.tool}{who} ran, {changed}{refused}", ""
    done[body.natural_key] += 1
    wanted = start.expected.get(body.natural_key, 0)
    mark = "expected" if wanted else "" if OPEN in start.expected else "unwanted"
    if done[body.natural_key] > max(1, wanted):
        mark = "duplicate"
    rows = ", ".join(body.changed[:3]) + (", ..." if len(body.changed) > 3 else "")
    return f"{body.tool}{who} ran: {rows or 'cannot be looked up'}", mark


def _decided(body: Decided) -> tuple[Told, ...]:
    """A decision; ordinary moves that need no word are left out (try and end tell them)."""
    plain = body.action in ("DISPATCH", "ACCEPT") and not (body.reason or body.fault_class)
    if plain and body.on != "Finishing":
        return ()
    belief = ""
    if body.fault_class is not None:
        sure = "" if body.confidence is None else f" {body.confidence:.0%}"
        belief = f", believes {body.fault_class}{sure}{_aside(body.evidence)}"
    to = f" -> {body.substitute}" if body.substitute else ""
    rung = f", rung {body.rung}" if body.rung else ""
    reason = f": {body.reason}" if body.reason else ""
    text = f"{body.action}{to}{reason}{belief}{rung}{_budget(body)}"
    waits = (("wait", f"{seconds(body.delay_us)} of trial time", ""),) if body.delay_us else ()
    return (("decide", text, ""), *waits)


def _budget(body: Decided) -> str:
    left = [
        f"{name} {value}"
        for name, value in (("step", body.step_left), ("task", body.task_left))
        if value is not None
    ]
    if body.deadline_left_us is not None:
        left.append(f"time {seconds(body.deadline_left_us)}")
    spent = f"takes {body.debit}, " if body.debit else ""
    return f"; {spent}left: {', '.join(left)}" if left else ""


def _aside(text: str) -> str:
    return f" ({text})" if text else ""


def seconds(us: int) -> str:
    """Trial time for a reader."""
    return f"{us / 1e6:.2f} s" if us < 10_000_000 else f"{us / 1e6:.1f} s"
