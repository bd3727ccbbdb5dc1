"""Which planned event is live at a coordinate. One cursor a trial and layer, one owner."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.terms import Layer


@dataclass(slots=True)
class _Life:
    """What a reached event remembers: first target, first delivery, whether it is over."""

    target: str
    since_us: int
    over: bool = False


@dataclass(slots=True)
class Cursor:
    """Replays one schedule, attempt by attempt.

    Stateful only where a duration needs it: `target`, `trial` and `seconds` events remember when
    and at which target they were first met. Replaying the same attempts gives the same answers,
    which is how the delivery audit recomputes what must have been delivered.
    """

    events: Iterable[FaultEvent]
    layers: tuple[Layer, ...] = tuple(Layer)
    _by_step: dict[tuple[str, int], list[FaultEvent]] = field(init=False)
    _spreading: dict[str, list[FaultEvent]] = field(init=False)
    _lives: dict[str, _Life] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_step = defaultdict(list)
        self._spreading = defaultdict(list)
        for event in sorted(self.events, key=lambda e: (e.occurrence, e.attempt)):
            if event.layer in self.layers:
                self._by_step[event.point, event.occurrence].append(event)
                if event.lasts.unit in ("trial", "seconds"):
                    self._spreading[event.point].append(event)

    def at(
        self, point: str, occurrence: int, attempt: int, *, target: str, now_us: int
    ) -> FaultEvent | None:
        """The event that is live at this attempt, or None; the earliest onset wins."""
        for event in self._spreading.get(point, ()):
            life = self._lives.get(event.injection_id)
            if life is not None and self._still(event, life, target, now_us):
                return event
        for event in self._by_step.get((point, occurrence), ()):
            if event.attempt <= attempt and self._reach(event, attempt, target, now_us):
                return event
        return None

    def _reach(self, event: FaultEvent, attempt: int, target: str, now_us: int) -> bool:
        if event.lasts.unit == "attempts":
            return attempt < event.attempt + event.lasts.n
        life = self._lives.setdefault(event.injection_id, _Life(target, now_us))
        return self._still(event, life, target, now_us)

    @staticmethod
    def _still(event: FaultEvent, life: _Life, target: str, now_us: int) -> bool:
        elapsed_us = now_us - life.since_us
        gone_elsewhere = event.lasts.unit == "target" and target != life.target
        run_out = event.lasts.unit == "seconds" and elapsed_us >= event.lasts.n * 1_000_000
        life.over = life.over or gone_elsewhere or run_out
        return not life.over
