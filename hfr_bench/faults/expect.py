"""What a schedule promises, said a second time: which event must be live at which attempt.

The injectors walk a `Cursor`, which remembers; the delivery audit asks this module, which looks
at the whole list of attempts and remembers nothing. They share no line, so that a defect of the
one is seen by the other; a property test holds them together.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hfr_bench.model.schedule import FaultEvent

SPREADING = ("trial", "seconds")
"""Units that reach beyond the step in which they began."""


class Place(NamedTuple):
    """One attempt: the `number`-th of the `occurrence`-th step at `point`, at `t_us`."""

    point: str
    occurrence: int
    number: int
    target: str
    t_us: int


Answers = list[FaultEvent | None]


def expected(events: Iterable[FaultEvent], places: Sequence[Place]) -> Answers:
    """For each attempt of a trial and layer, in order, the event that must be live there.

    Events that spread and have begun come first, then those of the attempt's own step, each by
    onset. An event is met where it is the first one to hold, and begins where it is first met:

    - attempts: holds at n attempts of its step, from its own number on, whatever else happened.
    - target: holds at every later attempt of its step, until one that is not another event's
      goes to another target than the one at which it began.
    - seconds: holds for n seconds from its beginning, at any step of its point.
    - trial: holds from its beginning on, at any step of its point.
    """
    ordered = sorted(events, key=lambda e: (e.occurrence, e.attempt))
    answers: Answers = []
    for at in range(len(places)):
        candidates = _candidates(ordered, places, answers, at)
        live = (event for event in candidates if _holds(event, ordered, places, answers, at))
        answers.append(next(live, None))
    return answers


def _candidates(
    ordered: Sequence[FaultEvent], places: Sequence[Place], answers: Answers, at: int
) -> list[FaultEvent]:
    """The events that may be live at an attempt, the strongest first."""
    place = places[at]
    here = [event for event in ordered if event.point == place.point]
    begun = [e for e in here if e.lasts.unit in SPREADING and _began(e, answers, at) is not None]
    own = [e for e in here if e.occurrence == place.occurrence and e.attempt <= place.number]
    return begun + [event for event in own if event not in begun]


def _began(event: FaultEvent, answers: Answers, before: int) -> int | None:
    """The attempt at which an event was first met, if that was before another."""
    return next((n for n, met in enumerate(answers[:before]) if met is event), None)


def _holds(
    event: FaultEvent,
    ordered: Sequence[FaultEvent],
    places: Sequence[Place],
    answers: Answers,
    at: int,
) -> bool:
    place, lasts = places[at], event.lasts
    if lasts.unit == "attempts":
        return place.number < event.attempt + lasts.n
    began = _began(event, answers, at)
    if lasts.unit == "trial":
        return True
    if lasts.unit == "seconds":
        since_us = place.t_us if began is None else places[began].t_us
        return place.t_us - since_us < lasts.n * 1_000_000
    if began is None:
        return True
    own = [n for n in range(began, at) if _open_to(event, ordered, places, answers, n)]
    return all(places[n].target == places[began].target for n in [*own, at])


def _open_to(
    event: FaultEvent,
    ordered: Sequence[FaultEvent],
    places: Sequence[Place],
    answers: Answers,
    at: int,
) -> bool:
    """Whether an earlier attempt was the event's to take: of its step, and no stronger one's."""
    candidates = _candidates(ordered, places, answers, at)
    if event not in candidates:
        return False
    stronger = candidates[: candidates.index(event)]
    return not any(answers[at] is other for other in stronger)
