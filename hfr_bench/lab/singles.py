"""Which trials have exactly one planned fault where their fault-free twin goes (DESIGN §8).

What a trial *reached* depends on what the arm did about its first fault, so nothing may be chosen
by it. What was *scheduled*, and the way that the fault-free twin goes, are fixed before any fault:
a step that no arm's twin comes to can be come to only after a fault that was met before. So a trial
with one planned onset on that way begins with that one fault in every arm. In exhaustive-1 it stays
the only one; in the sampled design a changed course may meet more, which is part of what the first
one leads to. All arms of a pair group are in, or none.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from hfr_bench.lab.controls import Ran
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, KindSpec
from hfr_bench.model.trial import TrialResult
from hfr_bench.stats.effects import Single

Place = tuple[str, str, int]
"""Suite, task, seed: what twins share."""

_WITH_THE_TOOL = ("prepare:", "verify:", "ledger:")
"""Points that a tool's step may come to before or after its own attempt, in some arms."""


class Singles(NamedTuple):
    """Trials with one fault, by kind and arm; and those without any.

    `calm`: by arm. `calls`: how often the fault-free trials call models and tools (agent's steps),
    by trial, in the order of `counted`.
    """

    singles: tuple[Single, ...] = ()
    calm: Mapping[str, tuple[TrialResult, ...]] = {}
    counted: tuple[TrialResult, ...] = ()
    calls: Mapping[str, tuple[int, ...]] = {}


def singles(
    ran: Iterable[Ran],
    schedules: Callable[[str], FaultSchedule],
    kinds: Mapping[str, KindSpec],
) -> Singles:
    """Sort the analysed trials; controls are left out.

    Args:
        ran: trials of complete rounds.
        schedules: a schedule by its id.
        kinds: fault kinds by name.
    """
    main = [one for one in ran if one.row.control is None]
    calm: dict[Place, dict[str, Ran]] = {}
    groups: dict[str, list[Ran]] = {}
    for one in main:
        if one.result.rate == 0:
            calm.setdefault(_place(one), {})[one.result.arm] = one
        else:
            groups.setdefault(one.row.trial.pair_group, []).append(one)
    steps = _Steps()
    ways = {place: _way(found.values(), steps) for place, found in calm.items()}
    made: dict[tuple[str, bool | None, str], list[tuple[TrialResult, TrialResult]]] = {}
    for group in groups.values():
        place = _place(group[0])
        twins = calm.get(place, {})
        if any(one.result.arm not in twins for one in group):
            continue
        onsets = _onsets(schedules(group[0].row.trial.schedule_id).events, ways[place])
        if len(onsets) == 1:
            _sort(onsets[0], group, twins, made)
    return _calm(calm, main, steps)._replace(singles=tuple(_singles(made, kinds, main)))


def _place(one: Ran) -> Place:
    return one.result.suite, one.result.task_id, one.result.seed


class _Steps(dict[tuple[str, ...], Counter[str]]):
    """How often a course comes to each point; worked out once for all trials that went it."""

    def __missing__(self, course: tuple[str, ...]) -> Counter[str]:
        made = self[course] = Counter(asked.rpartition(" ")[0] for asked in course)
        return made


def _way(twins: Iterable[Ran], steps: _Steps) -> Counter[str]:
    """How often any arm's fault-free twin comes to each point: the most of all arms."""
    most: Counter[str] = Counter()
    for course in {one.facts.path.asked for one in twins}:
        most |= steps[course]
    return most


def _onsets(events: Iterable[FaultEvent], way: Mapping[str, int]) -> list[FaultEvent]:
    """The events that begin at a first attempt on the way."""
    longest = max(way.values(), default=0)  # most events lie beyond it: the horizon is far
    return [
        event
        for event in events
        if event.attempt == 1
        and event.occurrence <= longest
        and event.occurrence <= way.get(_of_step(event.point), 0)
    ]


@cache
def _of_step(point: str) -> str:
    for prefix in _WITH_THE_TOOL:
        if point.startswith(prefix):
            return f"tool:{point.removeprefix(prefix)}"
    return point


def _sort(
    event: FaultEvent,
    group: Sequence[Ran],
    twins: Mapping[str, Ran],
    made: dict[tuple[str, bool | None, str], list[tuple[TrialResult, TrialResult]]],
) -> None:
    """Put the trials of a group under the kind, and under whether its effect lands."""
    for one in group:
        pair = (one.result, twins[one.result.arm].result)
        for lands in dict.fromkeys((None, event.effect_lands)):
            made.setdefault((event.kind, lands, one.result.arm), []).append(pair)


def _singles(
    made: Mapping[tuple[str, bool | None, str], Sequence[tuple[TrialResult, TrialResult]]],
    kinds: Mapping[str, KindSpec],
    main: Iterable[Ran],
) -> Iterable[Single]:
    """By layer and kind (all of it, landed, lost), the arms in the order of the plan."""
    arms = {arm: n for n, arm in enumerate(dict.fromkeys(one.result.arm for one in main))}
    order = (None, True, False)
    found = sorted(
        made, key=lambda k: (kinds[k[0]].layer.value, k[0], order.index(k[1]), arms[k[2]])
    )
    for kind, lands, arm in found:
        pairs = made[kind, lands, arm]
        yield Single(
            kind,
            kinds[kind].layer.value,
            lands,
            arm,
            tuple(faulted for faulted, _ in pairs),
            tuple(twin for _, twin in pairs),
        )


def _calm(calm: Mapping[Place, Mapping[str, Ran]], main: Iterable[Ran], steps: _Steps) -> Singles:
    """The fault-free trials by arm, each in the same order of tasks and seeds; their calls."""
    arms = dict.fromkeys(one.result.arm for one in main)
    whole = [found for found in calm.values() if found.keys() == arms.keys()]
    every = [one for found in whole for one in found.values()]
    calls = {
        f"{channel}_calls": tuple(_calls(steps[one.facts.path.asked], channel) for one in every)
        for channel in ("model", "tool")
    }
    return Singles(
        calm={arm: tuple(found[arm].result for found in whole) for arm in arms},
        counted=tuple(one.result for one in every),
        calls=calls,
    )


def _calls(steps: Mapping[str, int], channel: str) -> int:
    return sum(n for point, n in steps.items() if point.startswith(f"{channel}:"))
