"""Which trials have exactly one planned fault where their fault-free twin goes (DESIGN §8).

What a trial *reached* depends on what the arm did about its first fault, so nothing may be chosen
by it. What was *scheduled*, and the way that the fault-free twin goes, are fixed before any fault:
a step that no arm's twin comes to can be come to only after a fault that was met before. So a trial
with one planned onset on that way begins with that one fault in every arm. In exhaustive-1 it stays
the only one; in the sampled design a changed course may meet more, which is part of what the first
one leads to. All arms of a pair group are in, or none.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, reduce
from operator import or_
from typing import NamedTuple

from hfr_bench.lab.book import Onset, Outlines
from hfr_bench.lab.controls import Ran
from hfr_bench.model.schedule import FaultEvent, KindSpec
from hfr_bench.model.trial import TrialResult
from hfr_bench.stats.columns import Columns
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
    calm: Mapping[str, Sequence[TrialResult]] = {}
    counted: Sequence[TrialResult] = ()
    calls: Mapping[str, tuple[int, ...]] = {}


Made = dict[tuple[str, bool | None, str], tuple[list[int], list[int]]]
"""By kind, whether its effect lands, and arm: places of trials, and of their fault-free twins."""


def singles(
    ran: Iterable[Ran], outlines: Outlines, kinds: Mapping[str, KindSpec], table: Columns
) -> Singles:
    """Sort the analysed trials; controls are left out.

    Args:
        ran: trials of complete rounds.
        outlines: a schedule by its id, in short.
        kinds: fault kinds by name.
        table: the results of those that are no controls, in their order; what is found is of it.
    """
    main = [one for one in ran if one.row.control is None]
    calm: dict[Place, dict[str, int]] = {}
    groups: dict[str, list[int]] = {}
    for n, one in enumerate(main):
        if one.result.rate == 0:
            calm.setdefault(_place(one), {})[one.result.arm] = n
        else:
            groups.setdefault(one.row.trial.pair_group, []).append(n)
    steps, made = _Steps(), Made()
    ways = {place: _way((main[n] for n in own.values()), steps) for place, own in calm.items()}
    for group in groups.values():
        first = main[group[0]]
        twins = calm.get(_place(first), {})
        if any(main[n].result.arm not in twins for n in group):
            continue
        events = outlines(first.row.trial.schedule_id).events
        onsets = _onsets(events, ways[_place(first)])
        if len(onsets) == 1:
            _sort(onsets[0], [(n, main[n].result.arm) for n in group], twins, made)
    found = tuple(_singles(made, kinds, table))
    return _calm(calm, main, steps, table)._replace(singles=found)


def _place(one: Ran) -> Place:
    return one.result.suite, one.result.task_id, one.result.seed


class _Steps(dict[tuple[str, ...], Counter[str]]):
    """How often a course comes to each point; worked out once for all trials that went it."""

    def __missing__(self, course: tuple[str, ...]) -> Counter[str]:
        made = self[course] = Counter(asked.rpartition(" ")[0] for asked in course)
        return made


def _way(twins: Iterable[Ran], steps: _Steps) -> Counter[str]:
    """How often any arm's fault-free twin comes to each point: the most of all arms."""
    return reduce(or_, (steps[course] for course in {one.facts.path.asked for one in twins}))


def _onsets(
    events: Iterable[FaultEvent | Onset], way: Mapping[str, int]
) -> list[FaultEvent | Onset]:
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
    event: FaultEvent | Onset,
    group: Iterable[tuple[int, str]],
    twins: Mapping[str, int],
    made: Made,
) -> None:
    """Put the trials of a group under the kind, and under whether its effect lands.

    `group`: place and arm of each.
    """
    for n, arm in group:
        for lands in dict.fromkeys((None, event.effect_lands)):
            faulted, calm = made.setdefault((event.kind, lands, arm), ([], []))
            faulted.append(n)
            calm.append(twins[arm])


def _singles(made: Made, kinds: Mapping[str, KindSpec], table: Columns) -> Iterable[Single]:
    """By layer and kind (all of it, landed, lost), the arms in the order of the plan."""
    arms = {arm: n for n, arm in enumerate(dict.fromkeys(one.arm for one in table.trials))}
    order = (None, True, False)
    found = sorted(
        made, key=lambda k: (kinds[k[0]].layer.value, k[0], order.index(k[1]), arms[k[2]])
    )
    for kind, lands, arm in found:
        faulted, calm = map(table.take, made[kind, lands, arm])
        yield Single(kind, kinds[kind].layer.value, lands, arm, faulted, calm)


def _calm(
    calm: Mapping[Place, Mapping[str, int]], main: Sequence[Ran], steps: _Steps, table: Columns
) -> Singles:
    """The fault-free trials by arm, each in the same order of tasks and seeds; their calls."""
    arms = dict.fromkeys(one.arm for one in table.trials)
    whole = [found for found in calm.values() if found.keys() == arms.keys()]
    every = [n for found in whole for n in found.values()]
    calls = {
        f"{channel}_calls": tuple(_calls(steps[main[n].facts.path.asked], channel) for n in every)
        for channel in ("model", "tool")
    }
    return Singles(
        calm={arm: table.take([found[arm] for found in whole]) for arm in arms},
        counted=table.take(every),
        calls=calls,
    )


def _calls(steps: Mapping[str, int], channel: str) -> int:
    return sum(n for point, n in steps.items() if point.startswith(f"{channel}:"))
