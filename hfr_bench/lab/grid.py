"""A schedule as a grid, point by occurrence: what is planned where, and what a trial met. Pure."""

from collections.abc import Iterator, Sequence
from itertools import count, product
from string import ascii_lowercase
from typing import NamedTuple

from hfr_bench.faults.audit import TrialAudit
from hfr_bench.model.record import Record
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, Lasts
from hfr_bench.model.trace import AttemptStarted, TraceEvent

LASTS = {
    "attempts": ("xN", "N attempts (else one)"),
    "target": ("~", "until the step goes to another target"),
    "request": ("^", "until the step sends a smaller request"),
    "trial": ("=", "until the trial ends"),
    "seconds": ("Ns", "N seconds of trial clock"),
}
ONE, LANDS, LOST, DELIVERED, ODD = "1", "+", "-", "!", "?"


class ScheduleView(Record):
    """A schedule, and of one trial under it what it met.

    `trial_id` None: of no trial; else `came` is the last occurrence that it came to, by point, and
    `reached` and `delivered` are injection_ids. Events in `reached` and not in `delivered` were
    seen as something else than was declared.
    """

    schedule: FaultSchedule
    trial_id: str | None = None
    came: dict[str, int] = {}
    reached: tuple[str, ...] = ()
    delivered: tuple[str, ...] = ()


def view(
    schedule: FaultSchedule,
    trial_id: str | None = None,
    audited: TrialAudit | None = None,
    events: Sequence[TraceEvent] = (),
) -> ScheduleView:
    """A schedule with what the delivery audit found in one trial, and how far that one came."""
    came: dict[str, int] = {}
    for one in events:
        if isinstance(body := one.body, AttemptStarted):
            came[body.point] = max(body.occurrence, came.get(body.point, 0))
    found = audited.deliveries if audited is not None else ()
    return ScheduleView(
        schedule=schedule,
        trial_id=trial_id,
        came=came,
        reached=tuple(one.event.injection_id for one in found),
        delivered=tuple(one.event.injection_id for one in found if one.delivered),
    )


class Grid(NamedTuple):
    """`cells` by point and occurrence, both only where something is planned; `letters` by kind.

    `signs`: what the signs that occur mean, in the order in which they stand in a cell.
    """

    points: tuple[str, ...]
    occurrences: tuple[int, ...]
    cells: dict[tuple[str, int], str]
    letters: dict[str, str]
    signs: tuple[tuple[str, str], ...]


def grid(made: ScheduleView) -> Grid:
    """The grid of a view; of a trial's, up to the last occurrence that it came to anywhere."""
    last = max(made.came.values(), default=0) if made.trial_id else made.schedule.horizon
    events = [event for event in made.schedule.events if event.occurrence <= last]
    letters = dict(zip(sorted({e.kind for e in made.schedule.events}), _letters(), strict=False))
    cells: dict[tuple[str, int], list[str]] = {}
    for event in events:
        cell = cells.setdefault((event.point, event.occurrence), [])
        cell.append(_sign(event, letters[event.kind], made))
    return Grid(
        tuple(dict.fromkeys(event.point for event in events)),
        tuple(sorted({event.occurrence for event in events})),
        {key: ",".join(texts) for key, texts in cells.items()},
        {kind: letters[kind] for kind in sorted({event.kind for event in events})},
        tuple(_signs(events, made)),
    )


def _letters() -> Iterator[str]:
    """A to z, then aa, ab, ..."""
    names = (product(ascii_lowercase, repeat=n) for n in count(1))
    return ("".join(name) for some in names for name in some)


def _sign(event: FaultEvent, letter: str, made: ScheduleView) -> str:
    onset = f"{event.attempt}." if event.attempt > 1 else ""
    lands = {None: "", True: LANDS, False: LOST}[event.effect_lands]
    met = DELIVERED if event.injection_id in made.delivered else ODD
    met = met if event.injection_id in made.reached else ""
    return f"{onset}{letter}{_length(event.lasts)}{lands}{met}"


def _length(lasts: Lasts) -> str:
    if lasts.unit == "attempts":
        return f"x{lasts.n}" if lasts.n > 1 else ""
    return LASTS[lasts.unit][0].replace("N", str(lasts.n)) + (ONE if lasts.over == "one" else "")


def _signs(events: Sequence[FaultEvent], made: ScheduleView) -> Iterator[tuple[str, str]]:
    """Only what occurs."""
    if any(event.attempt > 1 for event in events):
        yield "N.", "from attempt N on (else from the first)"
    for unit, sign in LASTS.items():
        if any(e.lasts.unit == unit and (unit != "attempts" or e.lasts.n > 1) for e in events):
            yield sign
    if any(event.lasts.over == "one" for event in events):
        yield ONE, "behind that: at the target where it began, and at no other"
    if any(event.effect_lands for event in events):
        yield LANDS, "the write lands, its answer is lost"
    if any(event.effect_lands is False for event in events):
        yield LOST, "it does not land"
    if made.trial_id is not None:
        yield DELIVERED, "the trial met it, as declared"
        if set(made.reached) - set(made.delivered):
            yield ODD, "the trial met it, and saw something else than was declared"


def blocks(made: Grid, width: int) -> Iterator[list[str]]:
    """The grid as lines; cut between columns into blocks that are no wider than `width`.

    A block leaves out points at which it plans nothing. A single column wider than `width` is not
    cut.
    """
    first = max((len(point) for point in made.points), default=0)
    rest = list(made.occurrences)
    while rest:
        taken = max(1, _fitting(made, rest, width - first))
        columns, rest = rest[:taken], rest[taken:]
        yield [_line("", first, [(f"#{n}", _width(made, n)) for n in columns])] + [
            _line(p, first, [(made.cells.get((p, n), "."), _width(made, n)) for n in columns])
            for p in made.points
            if any((p, n) in made.cells for n in columns)
        ]


def _fitting(made: Grid, occurrences: Sequence[int], room: int) -> int:
    sums = 0
    for number, occurrence in enumerate(occurrences):
        sums += _width(made, occurrence) + 2
        if sums > room:
            return number
    return len(occurrences)


def _width(made: Grid, occurrence: int) -> int:
    texts = (text for (_, at), text in made.cells.items() if at == occurrence)
    return max(len(f"#{occurrence}"), *map(len, texts))


def _line(name: str, first: int, cells: Sequence[tuple[str, int]]) -> str:
    return "  ".join([name.ljust(first), *(text.ljust(width) for text, width in cells)]).rstrip()
