"""What a schedule promises, said a second time: which event must be live at which attempt.

The injectors walk a `Cursor`, which remembers; the delivery audit asks this module, which looks
at the whole list of attempts and remembers nothing. They share no line, so that a defect of the
one is seen by the other; a property test holds them together.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from hfr_bench.model.schedule import FaultEvent

SPREADING = ("trial", "seconds")
"""Units that reach beyond the step in which they began."""


class Place(NamedTuple):
    """One attempt: the `number`-th of the `occurrence`-th step at `point`, at `t_us`.

    `size`: of its request, in the same unit for all attempts of a step.
    """

    point: str
    occurrence: int
    number: int
    target: str
    t_us: int
    size: int = 0


Answers = list[FaultEvent | None]
Opened = Mapping[str, int]


def expected(
    events: Iterable[FaultEvent],
    places: Sequence[Place],
    opened: Opened = MappingProxyType({}),
) -> Answers:
    """For each attempt of a trial and layer, in order, the event that must be live there.

    Events that spread and have begun come first, then those of the attempt's own step, each by
    onset. An event is met where it is the first one to hold:

    - attempts: holds at n attempts of its step, from its own number on, whatever else happened.
    - target: begins where it is first met, and holds at every later attempt of its step, until one
      that is not another event's goes to another target than the one at which it began.
    - request: begins at the first attempt of its step from its own number on, whatever is met
      there, and holds in its step until an attempt sends less than that one did.
    - seconds: begins like that, and holds for n seconds at any step of its point.
    - trial: begins like that, and holds at any step of its point.

    The last two pass over other targets than that of their beginning if they are over `one`. An
    event that waits for another (`after`) is not there before an earlier attempt has met that one.

    Args:
        events: of one layer.
        places: its attempts.
        opened: for events of other layers that some wait for: the place from which on they may.
    """
    walk = _Walk(sorted(events, key=lambda e: (e.occurrence, e.attempt)), places, opened)
    for at in range(len(places)):
        live = (event for event in walk.candidates(at) if walk.holds(event, at))
        walk.answers.append(next(live, None))
    return walk.answers


class _Walk:
    """All attempts, and what was met at those before the one that is asked about."""

    def __init__(
        self, ordered: Sequence[FaultEvent], places: Sequence[Place], opened: Opened
    ) -> None:
        self._ordered, self._places, self._opened = ordered, places, opened
        self.answers: Answers = []

    def candidates(self, at: int) -> list[FaultEvent]:
        """The events that may be live at an attempt, the strongest first."""
        here = [event for event in self._ordered if event.point == self._places[at].point]
        begun = [e for e in here if e.lasts.unit in SPREADING and self._onset(e, at) is not None]
        return begun + [e for e in here if e not in begun and self._own(e, at)]

    def holds(self, event: FaultEvent, at: int) -> bool:
        place, lasts = self._places[at], event.lasts
        if lasts.unit == "attempts":
            return place.number < event.attempt + lasts.n
        if lasts.unit == "target":
            return self._sticks(event, at)
        onset = self._onset(event, at)
        since = place if onset is None else self._places[onset]
        if lasts.unit == "request":
            own = [n for n in range(onset or 0, at + 1) if self._own(event, n)]
            return all(self._places[n].size >= since.size for n in own)
        if lasts.over == "one" and place.target != since.target:
            return False
        return lasts.unit == "trial" or place.t_us - since.t_us < lasts.n * 1_000_000

    def _own(self, event: FaultEvent, at: int) -> bool:
        """Whether an attempt is of the event's step, not before its number, and it is open."""
        place = self._places[at]
        step = (place.point, place.occurrence) == (event.point, event.occurrence)
        return step and event.attempt <= place.number and self._open(event, at)

    def _open(self, event: FaultEvent, at: int) -> bool:
        if not event.after:
            return True
        met = (one for one in self.answers[:at] if one is not None)
        elsewhere = self._opened.get(event.after)
        return any(one.injection_id == event.after for one in met) or (
            elsewhere is not None and elsewhere <= at
        )

    def _onset(self, event: FaultEvent, before: int) -> int | None:
        """The first attempt that was the event's own, if there was one before another."""
        return next((n for n in range(before) if self._own(event, n)), None)

    def _sticks(self, event: FaultEvent, at: int) -> bool:
        """Whether no attempt that was this event's to take has gone elsewhere since it began."""
        met = (n for n, answer in enumerate(self.answers[:at]) if answer is event)
        began = next(met, None)
        if began is None:
            return True
        own = [n for n in range(began, at) if self._open_to(event, n)]
        return all(self._places[n].target == self._places[began].target for n in [*own, at])

    def _open_to(self, event: FaultEvent, at: int) -> bool:
        """Whether an earlier attempt was the event's to take: of its step, no stronger one's."""
        candidates = self.candidates(at)
        if event not in candidates:
            return False
        stronger = candidates[: candidates.index(event)]
        return not any(self.answers[at] is other for other in stronger)
