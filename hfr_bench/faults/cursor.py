"""Which planned event is live at a coordinate. One cursor a trial and layer, one owner."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.terms import Layer

_SPREADING = ("trial", "seconds")
_ONSET = (*_SPREADING, "request")  # begin where their coordinate is reached, whoever is met there


class _Here(NamedTuple):
    """Where an attempt goes, when, and how much it sends."""

    target: str
    now_us: int
    size: int


@dataclass(slots=True)
class _Life:
    """What an event remembers: the attempt at which it began, and whether it is over."""

    began: _Here
    over: bool = False


@dataclass(slots=True)
class Cursor:
    """Replays one schedule, attempt by attempt.

    Stateful only where a duration needs it: all but `attempts` remember when, at which target and
    with what request they began. Replaying the same attempts gives the same answers, which is how
    the delivery audit recomputes what must have been delivered.

    `met`: the ids of the events met so far; cursors of one trial share it where an event of one
    layer waits for one of another (`FaultEvent.after`).
    """

    events: Iterable[FaultEvent]
    layers: tuple[Layer, ...] = tuple(Layer)
    met: set[str] = field(default_factory=set)
    _by_step: dict[tuple[str, int], list[FaultEvent]] = field(init=False)
    _spreading: dict[str, list[FaultEvent]] = field(init=False)
    _lives: dict[str, _Life] = field(default_factory=dict)
    _asked: tuple[str, int, int, str, int] | None = None
    _told: FaultEvent | None = None

    def __post_init__(self) -> None:
        self._by_step = defaultdict(list)
        self._spreading = defaultdict(list)
        for event in sorted(self.events, key=lambda e: (e.occurrence, e.attempt)):
            if event.layer in self.layers:
                self._by_step[event.point, event.occurrence].append(event)
                if event.lasts.unit in _SPREADING:
                    self._spreading[event.point].append(event)

    def at(
        self, point: str, occurrence: int, attempt: int, *, target: str, now_us: int, size: int = 0
    ) -> FaultEvent | None:
        """The event that is live at this attempt, or None.

        Those that spread and have begun come first, then the earliest onset. `size`: of the
        request, in any unit that is the same for all attempts of a step. Who asks again about the
        attempt at hand is told the same: several injectors may lie behind each other.
        """
        if self._asked != (point, occurrence, attempt, target, len(self.met)):
            self._told = self._live(point, occurrence, attempt, _Here(target, now_us, size))
            self._asked = (point, occurrence, attempt, target, len(self.met))
        return self._told

    def _live(self, point: str, occurrence: int, attempt: int, here: _Here) -> FaultEvent | None:
        found = None
        for event in self._spreading.get(point, ()):
            life = self._lives.get(event.injection_id)
            if life is not None and self._still(event, life, here):
                found = event
                break
        own = [
            event
            for event in self._by_step.get((point, occurrence), ())
            if event.attempt <= attempt and (not event.after or event.after in self.met)
        ]
        for event in own:
            if event.lasts.unit in _ONSET:
                life = self._life(event, here)
                smaller = event.lasts.unit == "request" and here.size < life.began.size
                life.over = life.over or smaller
        if found is None:
            found = next((event for event in own if self._reach(event, attempt, here)), None)
        if found is not None:
            self.met.add(found.injection_id)
        return found

    def _reach(self, event: FaultEvent, attempt: int, here: _Here) -> bool:
        if event.lasts.unit == "attempts":
            return attempt < event.attempt + event.lasts.n
        return self._still(event, self._life(event, here), here)

    def _life(self, event: FaultEvent, here: _Here) -> _Life:
        """The event's life; it begins here unless it has begun."""
        if event.injection_id not in self._lives:
            self._lives[event.injection_id] = _Life(here)
        return self._lives[event.injection_id]

    @staticmethod
    def _still(event: FaultEvent, life: _Life, here: _Here) -> bool:
        lasts, elsewhere = event.lasts, here.target != life.began.target
        passed_us = here.now_us - life.began.now_us
        if lasts.unit == "target" and elsewhere:
            life.over = True
        if lasts.unit == "seconds" and passed_us >= lasts.n * 1_000_000:
            life.over = True
        spared = lasts.over == "one" and lasts.unit in _SPREADING and elsewhere
        return not (life.over or spared)
