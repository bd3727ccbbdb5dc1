"""The fewest and mildest faults of a schedule that still break a trial: delta debugging, pure.

Zeller and Hildebrandt's ddmin (2002) over the events; then each event that is left is made milder
(shorter, not landing, smaller parameters) as long as the trial still breaks. Where an event goes
or gets shorter, those behind it in the same step may move up, or nobody would come to them. Who
knows whether the trial breaks is a function that is passed in. The outcome is minimal one by one:
no single event can be left out or made one degree milder. It need not be the smallest of all.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from hfr_bench.model.schedule import FaultEvent, KindSpec, Lasts

Events = tuple[FaultEvent, ...]
Breaks = Callable[[Events], bool]

TRIALS = 400
"""How many trials a shrinking may take unless it is told otherwise."""

_ONCE = Lasts()


class Shrunk(NamedTuple):
    """What is left. `tried`: trials that it took; `minimal`: False where they were used up."""

    events: Events
    tried: int
    minimal: bool


def shrink(
    events: Sequence[FaultEvent],
    breaks: Breaks,
    *,
    met: Sequence[str] = (),
    kinds: Mapping[str, KindSpec] = MappingProxyType({}),
    most: int = TRIALS,
) -> Shrunk:
    """Shrink a schedule's events.

    Args:
        events: all of them; the trial is known to break under them.
        breaks: whether it still does under some of them, in the same order. Asked once for each.
        met: the injection ids of those that the trial came to; tried first, since a schedule holds
            events for every step that might have come.
        kinds: the values that parameters may take, by kind; without its kind they stay.
        most: so many trials at the most.
    """
    ask = _Asker(breaks, most)
    ask.best = tuple(events)
    try:
        for guess in ((), tuple(e for e in events if e.injection_id in met)):
            if len(guess) < len(ask.best) and ask.still(guess):
                break
        before: Events | None = None
        while before != ask.best:
            before = ask.best
            _fewer(ask)
            _moved_up(ask)
            _milder(ask, kinds)
    except _UsedUpError:
        return Shrunk(ask.best, ask.tried, minimal=False)
    return Shrunk(ask.best, ask.tried, minimal=True)


def milder(event: FaultEvent, kind: KindSpec | None = None) -> Iterator[FaultEvent]:
    """Milder versions of an event, the mildest first; each can be made milder only so often.

    It lasts fewer attempts (any other duration becomes one attempt), does not land, or has an
    earlier value of a parameter (numbers by size, texts as the kind lists them).
    """
    lasts = event.lasts
    if lasts.unit != "attempts":
        yield event.model_copy(update={"lasts": _ONCE, "clears_by": "retry"})
    for n in dict.fromkeys((1, lasts.n // 2, lasts.n - 1)):
        if 0 < n < lasts.n:
            yield event.model_copy(update={"lasts": lasts.model_copy(update={"n": n})})
    if event.effect_lands:
        yield event.model_copy(update={"effect_lands": False})
    for name, value in event.params.items():
        values = _in_order(kind.params.get(name, ())) if kind else []
        for other in values[: values.index(value)] if value in values else ():
            yield event.model_copy(update={"params": {**event.params, name: other}})


def _in_order(values: Sequence[int | str]) -> list[int | str]:
    numbers = sorted(value for value in values if isinstance(value, int))
    return [*numbers, *(value for value in values if isinstance(value, str))]


class _UsedUpError(Exception):
    """No trial is left to ask."""


@dataclass(slots=True)
class _Asker:
    """Asks about each set of events once, and remembers the best one that still breaks."""

    breaks: Breaks
    most: int
    tried: int = 0
    best: Events = ()
    _known: dict[tuple[str, ...], bool] = field(default_factory=dict)

    def still(self, events: Events) -> bool:
        """Whether the trial breaks under these; if so, they are the best by now."""
        key = tuple(event.dumps() for event in events)
        if key not in self._known:
            if self.tried >= self.most:
                raise _UsedUpError
            self.tried += 1
            self._known[key] = self.breaks(events)
        if self._known[key]:
            self.best = events
        return self._known[key]


def _fewer(ask: _Asker) -> None:
    """ddmin: leave out one of n parts, with n growing until a part is one event."""
    parts = 2
    while len(ask.best) > 1:
        for lacking in _without_each_part(ask.best, parts):
            if ask.still(lacking):
                parts = max(2, parts - 1)
                break
        else:
            if parts >= len(ask.best):
                return
            parts = min(len(ask.best), 2 * parts)
    if ask.best:
        ask.still(())


def _without_each_part(events: Events, parts: int) -> Iterator[Events]:
    size = len(events)
    bounds = [size * n // parts for n in range(parts + 1)]
    for start, end in pairwise(bounds):
        yield events[:start] + events[end:]


def _moved_up(ask: _Asker) -> None:
    """Leave out one event, and let those behind it in its step take its place."""
    at = 0
    while at < len(ask.best):
        gone = ask.best[at]
        lacking = ask.best[:at] + ask.best[at + 1 :]
        closer = _closer(lacking, gone, _attempts(gone))
        # What comes next has moved to where we are.
        at += closer == lacking or not ask.still(closer)


def _milder(ask: _Asker, kinds: Mapping[str, KindSpec]) -> None:
    """Each event as mild as it can be while the others stay as they are, or move up behind it."""
    for at in range(len(ask.best)):
        while any(map(ask.still, _with_milder(ask.best, at, kinds))):
            pass


def _with_milder(events: Events, at: int, kinds: Mapping[str, KindSpec]) -> Iterator[Events]:
    event = events[at]
    for softer in milder(event, kinds.get(event.kind)):
        others = (*events[:at], softer, *events[at + 1 :])
        yield others
        closer = _closer(others, event, _attempts(event) - _attempts(softer))
        if closer != others:
            yield closer


def _attempts(event: FaultEvent) -> int:
    """How many attempts an event is known to last."""
    return event.lasts.n if event.lasts.unit == "attempts" else 0


def _closer(events: Events, before: FaultEvent, by: int) -> Events:
    """The events with those that come after another one of their step so many attempts earlier."""
    if by <= 0:
        return events
    step = (before.layer, before.point, before.occurrence)
    return tuple(
        event.model_copy(update={"attempt": max(1, event.attempt - by)})
        if (event.layer, event.point, event.occurrence) == step and event.attempt > before.attempt
        else event
        for event in events
    )
