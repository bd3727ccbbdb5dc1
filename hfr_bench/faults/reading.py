"""A trace sorted for the delivery audit: its attempts, and the truths beneath them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hfr_bench.faults.expect import Place
from hfr_bench.model.terms import ClockKind
from hfr_bench.model.trace import (
    AttemptEnded,
    AttemptStarted,
    EffectExecuted,
    HostLooked,
    TraceEvent,
    UpstreamHit,
)

_READ = frozenset(
    {"trial_started", "attempt_started", "attempt_ended", "effect", "upstream_hit", "host"}
)


class Landing(NamedTuple):
    """A tool ran: in the lines of which attempt (None: outside all of them), and when."""

    body: EffectExecuted
    inside: "Attempt | None"
    t_us: int


@dataclass(slots=True)
class Attempt:
    """One attempt as the outer recorder saw it, and the truths between its two lines.

    `line` and `last`: where in the trace it starts and ends. `effects`: in the order in which
    tools ran. `held`: those of them that another attempt had asked for.
    """

    start: TraceEvent
    sent: AttemptStarted
    line: int
    end: TraceEvent | None = None
    seen: AttemptEnded | None = None
    last: int | None = None
    effects: list[EffectExecuted] = field(default_factory=list)
    held: list[EffectExecuted] = field(default_factory=list)
    hits: list[UpstreamHit] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.sent.point} #{self.sent.occurrence} attempt {self.start.attempt}"

    @property
    def place(self) -> Place:
        sent, start = self.sent, self.start
        number, size = start.attempt, sent.request_size
        return Place(sent.point, sent.occurrence, number, sent.target, start.t_us, size)

    @property
    def own(self) -> EffectExecuted | None:
        """What its own call did to the world, if it ran."""
        mine = self.sent.operation_id
        return next((one for one in self.effects if one.operation_id == mine), None)


@dataclass(slots=True)
class Looks:
    """How a call's container was found, each time that somebody looked."""

    before: HostLooked | None = None
    after: HostLooked | None = None
    healed: HostLooked | None = None


class Read(NamedTuple):
    """A trace, sorted.

    `ran`: every execution for agent or strategy. `stray`: truths of the model layer outside any
    attempt. `virtual`: time was virtual. `looks`: at containers, by operation.
    """

    attempts: list[Attempt]
    ran: list[Landing]
    stray: list[str]
    virtual: bool
    looks: dict[str, Looks]

    def set_aside(self, late: Iterable[str]) -> dict[str, list[Landing]]:
        """Take what ran late out of the attempts in whose lines it stands; by operation."""
        found: dict[str, list[Landing]] = {operation: [] for operation in late}
        for landing in self.ran if found else ():
            body, inside = landing.body, landing.inside
            if body.operation_id not in found:
                continue
            found[body.operation_id].append(landing)
            if inside is not None and inside.sent.operation_id != body.operation_id:
                inside.effects.remove(body)
                inside.held.append(body)
        return found


def read(events: Iterable[TraceEvent]) -> Read:
    """Pair the lines of each attempt (attempts of a trial never overlap), with truths between.

    Bodies are told apart by `type`: readers of many traces bring no records but their like.
    """
    found = Read([], [], [], virtual=False, looks={})
    virtual = False
    inside: Attempt | None = None
    for line, event in enumerate(events):
        body: Any = event.body
        kind = body.type
        if kind not in _READ:  # most lines
            continue
        if kind == "attempt_started":
            inside = Attempt(event, body, line)
            found.attempts.append(inside)
        elif kind == "attempt_ended":
            if inside is not None:
                inside.end, inside.seen, inside.last = event, body, line
            inside = None
        elif kind == "effect":
            _ran(body, inside, event.t_us, found.ran)
        elif kind == "upstream_hit":
            if inside is not None:
                inside.hits.append(body)
            else:
                found.stray.extend(_stray(body, virtual=virtual))
        elif kind == "host":
            setattr(found.looks.setdefault(body.operation_id, Looks()), body.when, body)
        elif kind == "trial_started":
            virtual = body.clock == ClockKind.VIRTUAL
    return found._replace(virtual=virtual)


def _ran(body: EffectExecuted, inside: Attempt | None, t_us: int, ran: list[Landing]) -> None:
    """A tool ran; a user's own calls are nobody's attempt."""
    if inside is not None:
        inside.effects.append(body)
    if inside is not None or body.actor != "user":
        ran.append(Landing(body, inside, t_us))


def _stray(hit: UpstreamHit, *, virtual: bool) -> list[str]:
    """What is to be said of a request that no attempt explains."""
    odd = virtual and hit.point.startswith("model:")
    return [f"{hit.point}: a request reached the gateway outside any attempt"] if odd else []
