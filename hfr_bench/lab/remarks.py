"""What a reader must know before believing a number: voids, and everything that is not as planned.

No number is made here.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hfr_bench.lab.cohorts import FEW_UNITS
from hfr_bench.lab.cohorts import drawn as drawn_units
from hfr_bench.lab.controls import Found, Ran
from hfr_bench.lab.ingest import Start
from hfr_bench.lab.store import Checked, Chosen
from hfr_bench.model.invocation import Invocation
from hfr_bench.model.prereg import EXHAUSTIVE, Preregistration
from hfr_bench.model.report import VoidRow
from hfr_bench.model.terms import Origin
from hfr_bench.model.trial import PlanRow, TrialResult
from hfr_bench.stats.bootstrap import Unit

MIN_SEEDS = 3
_SHOWN = 5


class Audited(NamedTuple):
    """The trials with their audits, and their first lines; what speaks against the traces."""

    trials: tuple[Ran, ...]
    starts: tuple[Start, ...]
    found: Found
    bad: tuple[str, ...]


def voids(
    prereg: Preregistration,
    rows: Sequence[PlanRow],
    chosen: Chosen,
    checked: Iterable[Checked],
    main: Sequence[TrialResult],
) -> tuple[VoidRow, ...]:
    """Voids of all rounds per arm, and what dropped trials could do to success and harm."""
    causes: dict[str, Counter[str]] = {arm.name: Counter() for arm in prereg.arms}
    for one in checked:
        if one.result is not None and one.result.void is not None:
            causes.setdefault(one.file.arm, Counter())[one.result.void.value] += 1
    dropped = set(chosen.dropped)
    gone = Counter(
        row.trial.arm for row in rows if row.control is None and row.trial.pair_group in dropped
    )
    done = Counter(result.arm for result in main)
    graded = [(r.arm, r.outcome) for r in main if r.outcome is not None]
    won = Counter(arm for arm, of in graded if of.succeeded)
    harms = [(arm, of.harm) for arm, of in graded]
    most, did = max((harm for _, harm in harms), default=0), Counter[str]()
    for arm, harm in harms:
        did[arm] += harm
    return tuple(
        VoidRow(
            arm=arm,
            voids=sum(found.values()),
            causes=dict(sorted(found.items())),
            graded=done[arm],
            dropped=gone[arm],
            sr_worst=won[arm] / (done[arm] + gone[arm]) if gone[arm] else None,
            sr_best=(won[arm] + gone[arm]) / (done[arm] + gone[arm]) if gone[arm] else None,
            harm_worst=_per_1000(did[arm] + most * gone[arm], done[arm] + gone[arm], gone[arm]),
            harm_best=_per_1000(did[arm], done[arm] + gone[arm], gone[arm]),
        )
        for arm, found in causes.items()
    )


def _per_1000(harm: int, trials: int, gone: int) -> float | None:
    """Harmful effects per 1000 trials; None where none was dropped."""
    return 1000 * harm / trials if gone else None


def notes(
    prereg: Preregistration,
    rows: Sequence[PlanRow],
    chosen: Chosen,
    checked: Sequence[Checked],
    audited: Audited,
    tasks: Sequence[Unit],
    ended: Invocation | None,
) -> tuple[str, ...]:
    """What a reader must know before believing a number. `tasks`: those that have results."""
    told = []
    if prereg.origin is Origin.REHEARSAL:
        told.append(
            "rehearsal: a scripted stand-in plays the model; tools, world and faults are real. "
            "Success and money describe the script, not a model; money is modelled."
        )
    unfinished = set(chosen.lacking)
    lacking = sum(row.trial.pair_group in unfinished for row in rows) if unfinished else 0
    if lacking:
        told.append(
            f"incomplete: {lacking} of {len(rows)} planned trials are in {len(chosen.lacking)} "
            "pair groups that are not complete yet, and are left out"
        )
    if lacking and ended is not None and ended.stopped:
        told.append(f"the last run was stopped early: {ended.stopped}")
    told += _elsewhere(prereg, audited)
    if chosen.dropped:
        told.append(f"{len(chosen.dropped)} pair groups were dropped: void in every round")
    n, wanted = len(tasks), prereg.protocol_tasks
    if n < wanted and prereg.faults.design != EXHAUSTIVE:
        told.append(f"below protocol: {n} tasks, the protocol asks for {wanted}")
    if len(prereg.seeds) < MIN_SEEDS and prereg.faults.design != EXHAUSTIVE:
        told.append(f"{len(prereg.seeds)} seed(s); the protocol asks for at least {MIN_SEEDS}")
    told += _few_units(prereg, rows, tasks)
    bad = [str(line) for one in checked for line in one.bad] + list(audited.bad)
    breaks = [str(line) for one in checked for line in one.breaks]
    told += _listed("unreadable trace lines (their trials count as incomplete)", bad)
    told += _listed("broken hash chains: the experiment is not valid", breaks)
    told += _listed(
        "results that do not follow from their traces: the experiment is not valid",
        audited.found.underived,
    )
    told += _listed("trace files that belong to no planned trial", chosen.unplanned)
    return tuple(told)


def _few_units(
    prereg: Preregistration, rows: Sequence[PlanRow], tasks: Sequence[Unit]
) -> Iterator[str]:
    """Where cohorts are drawn, how few of them there are."""
    drawn, _ = drawn_units(prereg, rows, tasks)
    if prereg.cohorts is not None and len(drawn) < FEW_UNITS:
        yield (
            f"all intervals rest on {len(drawn)} cohorts: so few are no sample, and intervals that "
            "are made by drawing them are too narrow"
        )


def places(audited: Audited) -> tuple[str, ...]:
    """The sandboxes that tools ran in, each with its image where it has one."""
    found = {(start.sandbox, start.image_id) for start in audited.starts}
    return tuple(
        sorted(f"{sandbox} {image_id}" if image_id else sandbox for sandbox, image_id in found)
    )


def _elsewhere(prereg: Preregistration, audited: Audited) -> Iterator[str]:
    """Where the tools ran, if not all where it was registered and in one and the same image."""
    ran = Counter((start.sandbox, start.image_id) for start in audited.starts)
    if elsewhere := sum(n for (sandbox, _), n in ran.items() if sandbox != prereg.sandbox):
        names = ", ".join(sorted({sandbox for sandbox, _ in ran} - {prereg.sandbox}))
        yield (
            f"in {elsewhere} of {sum(ran.values())} trials tools ran in sandbox {names}, "
            f"while {prereg.sandbox} is registered"
        )
    if played := sum(start.replayed for start in audited.starts):
        yield (
            f"replayed: in {played} of {sum(ran.values())} trials recorded responses of an earlier "
            "live run played the model; they are no new measurement of it, and their times are "
            "those of this machine"
        )
    groups: dict[tuple[str, int], set[tuple[str, str | None]]] = {}
    for start in audited.starts if len(ran) > 1 else ():
        place = (start.sandbox, start.image_id)
        groups.setdefault((start.pair_group, start.round), set()).add(place)
    if mixed := sum(len(found) > 1 for found in groups.values()):
        yield (
            f"{mixed} pair groups are not of one sandbox and image: their arms differ in more "
            "than the strategy"
        )


def _listed(what: str, items: Sequence[str]) -> list[str]:
    if not items:
        return []
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return [f"{len(items)} {what}: {'; '.join(items[:_SHOWN])}{more}"]
