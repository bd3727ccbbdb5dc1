"""Cohorts on paper: who sits where, which trials stand and fall together, what is drawn.

A cohort is a block of tasks under one seed and profile in one arm. The same block in all arms is a
*crowd*: its cohorts are paired place by place, and a void in one of them is a void of all. Without
cohorts a crowd is a pair group, and everything here comes to what it was.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from hfr_bench.errors import BadInputError
from hfr_bench.model.prereg import EXHAUSTIVE, Cohorts, Preregistration
from hfr_bench.model.shared import PER_TENANT
from hfr_bench.model.trial import PlanRow
from hfr_bench.ports.strategy import Sharing, Strategy

Key = tuple[str, str]
"""(suite, task_id)."""
Value = TypeVar("Value")

FEW_UNITS = 10
"""Below so many units most differences get no interval (`stats.names.FEW`)."""


class Seat(NamedTuple):
    """A task's place: the number of its block within the suite, and its position, both from 1."""

    block: int
    position: int
    tenant: str


def seats(cohorts: Cohorts | None, tasks: Iterable[Key]) -> dict[Key, Seat]:
    """Every task's seat, in the order of the tasks; empty where no cohorts are registered.

    Suites are not mixed: the statistics are stratified by them.
    """
    if cohorts is None:
        return {}
    found: dict[Key, Seat] = {}
    seen: dict[str, int] = {}
    for key in dict.fromkeys(tasks):
        number = seen.get(key[0], 0)
        seen[key[0]] = number + 1
        block, place = divmod(number, cohorts.size)
        tenant = cohorts.tenants[place % len(cohorts.tenants)]
        found[key] = Seat(block + 1, place + 1, tenant)
    return found


def seats_of(prereg: Preregistration, rows: Iterable[PlanRow]) -> dict[Key, Seat]:
    """The seats of a plan's tasks."""
    return seats(prereg.cohorts, ((row.trial.suite, row.trial.task_id) for row in rows))


def crowds(rows: Iterable[PlanRow]) -> dict[str, list[PlanRow]]:
    """The plan by what stands and falls together, named after its first pair group.

    Cohorts of one crowd begin with trials of one pair group, whichever arm they are of.
    """
    first: dict[str, str] = {}
    found: dict[str, list[PlanRow]] = {}
    for row in rows:
        name = first.setdefault(row.trial.cohort_id, row.trial.pair_group)
        found.setdefault(name, []).append(row)
    return found


def by_cohort(rows: Iterable[PlanRow]) -> list[list[PlanRow]]:
    """The trials of each cohort in their order, in the order in which the cohorts begin."""
    found: dict[str, list[PlanRow]] = {}
    for row in rows:
        found.setdefault(row.trial.cohort_id, []).append(row)
    return list(found.values())


def drawn(
    prereg: Preregistration, rows: Iterable[PlanRow], tasks: Sequence[Key]
) -> tuple[tuple[Key, ...], dict[Key, int]]:
    """What the bootstrap draws, in order, and each task's place among it.

    Args:
        prereg: whether there are cohorts.
        rows: the whole plan.
        tasks: those that have results, in order.

    A unit is a task or, where cohorts are registered, a block of tasks: drawn, it brings all its
    seeds, rates and arms along.
    """
    known = seats_of(prereg, rows)
    if not known:
        return tuple(tasks), {task: n for n, task in enumerate(tasks)}
    unit_of = {task: (task[0], f"cohort {known[task].block:06d}") for task in tasks}
    units = tuple(sorted(set(unit_of.values())))
    places = {unit: n for n, unit in enumerate(units)}
    return units, {task: places[unit] for task, unit in unit_of.items()}


class Commons(Generic[Value]):
    """What a cohort hands from trial to trial, by part; some of it is each tenant's own."""

    def __init__(self, shares: Sequence[str]) -> None:
        self._shares = shares
        self._parts: dict[tuple[str, str], Value] = {}

    def of(self, tenant: str) -> dict[str, Value]:
        """What a tenant's next trial begins with."""
        found = {}
        for part in self._shares:
            key = self._key(part, tenant)
            if key in self._parts:
                found[part] = self._parts[key]
        return found

    def take(self, tenant: str, handed: Mapping[str, Value]) -> None:
        """What a trial of the tenant has left; a part that it does not name is as new."""
        for part in self._shares:
            key = self._key(part, tenant)
            if part in handed:
                self._parts[key] = handed[part]
            else:
                self._parts.pop(key, None)

    @staticmethod
    def _key(part: str, tenant: str) -> tuple[str, str]:
        return part, tenant if part in PER_TENANT else ""


# -- freezing ---------------------------------------------------------------------------------


def check_cohorts(prereg: Preregistration, profiles: Iterable[tuple[str, str, int, str]]) -> None:
    """Whether the design can be run in cohorts.

    `profiles`: suite, task, seed and profile of every planned cell. Raises BadInputError where a
    task would sit in one cohort twice.
    """
    if prereg.cohorts is None:
        return
    if prereg.faults.design == EXHAUSTIVE:
        raise BadInputError(
            f"cohorts: the tasks of a cohort share a profile, and {EXHAUSTIVE} has one fault a "
            "trial; take `design: sampled`, or leave cohorts out"
        )
    seen: set[tuple[str, str, int, str]] = set()
    for cell in profiles:
        if cell in seen:
            raise BadInputError(
                f"cohorts: {cell[1]} is planned twice with seed {cell[2]} under {cell[3]}, and "
                "would sit in one cohort twice; leave cohorts out of this design"
            )
        seen.add(cell)


def cohort_notes(
    prereg: Preregistration, tasks: Sequence[Key], strategies: Mapping[str, Strategy]
) -> tuple[str, ...]:
    """What a reader of the lock should know of the cohorts, before the first trial.

    `strategies`: by arm, to tell what each of them hands on.
    """
    cohorts = prereg.cohorts
    if cohorts is None:
        return ()
    return (*_sizes(cohorts, tasks), *_handed(cohorts, strategies))


def _sizes(cohorts: Cohorts, tasks: Sequence[Key]) -> list[str]:
    filled: dict[Key, int] = {}
    for (suite, _), seat in seats(cohorts, tasks).items():
        unit = (suite, str(seat.block))
        filled[unit] = filled.get(unit, 0) + 1
    units = len(filled)
    told = [
        f"cohorts: {len(tasks)} tasks make {units} cohorts of up to {cohorts.size}",
        f"cohorts: all intervals rest on n = {units} cohorts, not on {len(tasks)} tasks",
    ]
    told += [
        f"cohorts: the last one of {suite} has {size} task(s), not {cohorts.size}"
        for (suite, _), size in filled.items()
        if size < cohorts.size
    ]
    if units < FEW_UNITS:
        told.append(
            f"cohorts: {units} units are few: below {FEW_UNITS} most differences get no "
            "interval; take smaller cohorts or more tasks"
        )
    return told


def _handed(cohorts: Cohorts, strategies: Mapping[str, Strategy]) -> list[str]:
    """By part, which arms hand it on."""
    having: dict[str, list[str]] = {part: [] for part in cohorts.shares}
    for arm, strategy in strategies.items():
        parts = strategy.carry(strategy.begin()) if isinstance(strategy, Sharing) else {}
        for part in having.keys() & parts.keys():
            having[part].append(arm)
    return [
        f"cohorts: {part} is handed on by {', '.join(arms) or 'no registered arm'}"
        for part, arms in having.items()
    ]
