"""Every fault once: a schedule for each step of the oracle x kind x lands or lost (DESIGN §5).

Nothing is drawn that decides where a fault is or what it does, so nothing is left to sampling. Up
to its one fault a trial is the fault-free one: every arm reaches every planned fault. Reads that a
strategy makes for itself (`prepare:`, `reconcile:`) are no steps of the oracle: only some arms
would reach a fault there, and a reconcile only after another fault.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hfr_bench.faults.generate import check_known, event_at, fitting_kinds, mix_for
from hfr_bench.model.matrix import FaultMatrix
from hfr_bench.model.prereg import EXHAUSTIVE
from hfr_bench.model.record import short_id
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, KindSpec, Lasts
from hfr_bench.model.task import FaultPoint, OracleStep, TaskSpec
from hfr_bench.model.web import PREFIX, SITE

GENERATOR = "hfr-exhaustive@1"

_LANDS = {None: "", True: "/landed", False: "/lost"}


class Injection(NamedTuple):
    """The one fault of a schedule. `lands`: None for kinds that leave nothing in doubt."""

    point: FaultPoint
    occurrence: int
    kind: KindSpec
    lands: bool | None

    @property
    def profile(self) -> str:
        """What is injected, as a reader of a trace names it."""
        where = f"{self.point.point}#{self.occurrence}"
        return f"{EXHAUSTIVE}/{where}/{self.kind.kind}{_LANDS[self.lands]}"


def injections(
    task: TaskSpec,
    oracle: Sequence[OracleStep],
    matrix: FaultMatrix,
    kinds: Mapping[str, KindSpec],
    horizon: int,
) -> tuple[Injection, ...]:
    """Every coordinate of the oracle agent x kind of the matrix x lands or lost, once each.

    The agent's steps count, up to `horizon` of them, and the web requests that they lead to, where
    the suite knows them; the user's are never faulted. The weights of the matrix do not matter, its
    kinds and points do. Raises ValueError for an unknown kind.
    """
    check_known(matrix, kinds)
    points = {point.point: point for point in task.fault_points}
    seen: Counter[str] = Counter()
    found: list[Injection] = []
    sites = [name for name in points if name.startswith(SITE)]
    for step in [step for step in oracle if step.actor == "agent"][:horizon]:
        seen.update(sites)  # whatever is called
        names = [f"tool:{step.tool}", *(f"{PREFIX}{request}" for request in step.requests)]
        # Which of several sites a call needs is not told.
        needed = sites if step.requests and len(sites) == 1 else []
        for name in (*names, *needed):
            seen[name] += name not in sites
            mix = mix_for(name, matrix)
            if mix is None or name not in points:
                continue
            for _, kind in fitting_kinds(points[name], mix, kinds):
                found += [Injection(points[name], seen[name], kind, each) for each in sides(kind)]
    return tuple(found)


def schedules(
    task: TaskSpec, seed: int, faults: Sequence[Injection], horizon: int
) -> Iterator[FaultSchedule]:
    """One schedule without faults, and one for each of `faults`; `rate` is 0 there, else 1.

    A fault lasts one attempt, whatever durations its kind draws in the sampled design.
    """
    yield _schedule(task, seed, f"{EXHAUSTIVE}/none", None, horizon)
    for fault in faults:
        yield _schedule(task, seed, fault.profile, fault, horizon)


def _schedule(
    task: TaskSpec, seed: int, profile: str, fault: Injection | None, horizon: int
) -> FaultSchedule:
    key = {"suite": task.suite, "task_id": task.task_id, "seed": seed, "profile": profile}
    schedule_id = short_id({**key, "horizon": horizon, "by": GENERATOR})
    return FaultSchedule(
        schedule_id=schedule_id,
        suite=task.suite,
        task_id=task.task_id,
        seed=seed,
        profile=profile,
        rate=float(fault is not None),
        design=EXHAUSTIVE,
        generator=GENERATOR,
        horizon=horizon,
        events=() if fault is None else (_event(task, seed, schedule_id, fault),),
    )


def _event(task: TaskSpec, seed: int, schedule_id: str, fault: Injection) -> FaultEvent:
    point, occurrence = fault.point, fault.occurrence
    key = (seed, task.suite, task.task_id, point.point, occurrence, 1)
    injection_id = f"{schedule_id}/{point.point}/{occurrence}.1"
    event = event_at(injection_id, point, occurrence, 1, fault.kind, Lasts(), key)
    return event.model_copy(update={"effect_lands": fault.lands})


def sides(kind: KindSpec) -> tuple[bool | None, ...]:
    """Whether the effect lands: both where the kind allows both; None if nothing is in doubt."""
    if kind.lands is None:
        return (None,)
    return tuple(lands for lands in (False, True) if kind.lands != (not lands))
