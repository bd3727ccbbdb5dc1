"""Blinded progress: how far an experiment is and whether faults arrive; no arm's outcome."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import Field

from hfr_bench.faults.audit import rows as audit_rows
from hfr_bench.lab.by_kind import organic
from hfr_bench.lab.calm import is_calm, live_fork, recording
from hfr_bench.lab.cohorts import by_cohort
from hfr_bench.lab.index import gather
from hfr_bench.lab.ingest import Facts, Ingest
from hfr_bench.lab.looks import open_rows, taken
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.store import Store
from hfr_bench.model.record import Record, is_unset
from hfr_bench.model.report import AuditRow, OrganicRow
from hfr_bench.model.schedule import KindSpec
from hfr_bench.model.terms import Origin


class KindDelivery(Record):
    """Delivery of one kind over all arms: of the events reached, how many were really seen.

    Of the trials that have run; `masked`: hidden as an arm declares.
    """

    kind: str
    layer: str
    scheduled: int = 0
    reached: int
    delivered: int
    masked: int = 0

    @property
    def right(self) -> bool:
        return self.delivered + self.masked == self.reached


class Status(Record):
    """What `status` shows. `voids` by cause; `bad_lines` name file and line.

    `by_arm`: the delivery of each kind in each arm; `organic`: errors that nobody injected.
    `index`: why the experiment's index could not be used, if so. `looks`: the registered interim
    looks, taken and due; whether claims held is not in them. `forks`: of live forks, how many calm
    trials are recorded, and how many trials were played what those were answered.
    """

    name: str
    origin: Origin
    prereg_digest: str
    planned: int
    graded: int
    voids: dict[str, int]
    lacking: int
    delivery: tuple[KindDelivery, ...]
    bad_lines: tuple[str, ...]
    by_arm: tuple[AuditRow, ...] = ()
    organic: tuple[OrganicRow, ...] = ()
    index: tuple[str, ...] = ()
    looks: tuple[str, ...] = Field(default=(), exclude_if=is_unset)
    forks: str = Field(default="", exclude_if=is_unset)

    @property
    def delivered(self) -> bool:
        """Delivered = reached, for every kind."""
        return all(row.right for row in self.delivery) and all(row.right for row in self.by_arm)


def status(experiment: Experiment, kinds: Mapping[str, KindSpec]) -> Status:
    """How far the experiment is. Reads each trace once, or takes it from the index."""
    store = Store(experiment.path, indexed=True)
    ingest = Ingest(experiment.prereg, experiment.plan, experiment.book.like, kinds)
    facts = gather(store, ingest)
    graded, voids = _ends(experiment, facts)
    planned = [one for one in facts if _is_planned(one, ingest)]
    strangers = [one for one in facts if not _is_planned(one, ingest)]
    bad = [str(line) for one in planned for line in one.flaws]
    bad += [f"{one.checked.file.path}: is not in the plan" for one in strangers]
    return Status(
        name=experiment.prereg.name,
        origin=experiment.prereg.origin,
        prereg_digest=experiment.lock.prereg_digest,
        planned=len(experiment.plan),
        graded=graded,
        voids=dict(sorted(voids.items())),
        lacking=len(experiment.plan) - graded,
        delivery=_delivery(planned),
        bad_lines=tuple(bad),
        by_arm=audit_rows(one.audit for one in planned),
        organic=organic(experiment.prereg, planned),
        index=tuple(store.said),
        looks=tuple(_looks(experiment)),
        forks=_forks(experiment, planned) if live_fork(experiment.prereg) else "",
    )


def _forks(experiment: Experiment, facts: Iterable[Facts]) -> str:
    prereg, root = experiment.prereg, experiment.path
    calm = [row.trial.pair_group for row in experiment.plan if is_calm(prereg, row)]
    there = sum(recording(root, group, prereg) is not None for group in calm)
    ran = [one.prefixed for one in facts if one.prefixed.digest]
    parted = sum(one.missed > 0 for one in ran)
    return (
        f"forks: {there} of {len(calm)} calm trials recorded; {len(ran)} trials were played what "
        f"they were answered, {parted} parted before their first fault"
    )


def _looks(experiment: Experiment) -> Iterator[str]:
    """Looks that were taken, when and on how much, and the next."""
    for look in taken(experiment.path):
        then = "ended the experiment" if look.stop else "went on"
        yield f"look {look.look} of {look.of}, {look.at}, {look.trials} trials: {then}"
    rows, due = open_rows(experiment.prereg, experiment.plan, experiment.path)
    if due:
        yield f"{due} comes after {len(rows)} trials"


def _is_planned(facts: Facts, ingest: Ingest) -> bool:
    return (facts.checked.file.group, facts.checked.file.arm) in ingest.planned


def _ends(experiment: Experiment, facts: Sequence[Facts]) -> tuple[int, Counter[str]]:
    """How many trials are graded, and the voids before; a file with a flaw counts as not run.

    A cohort is graded as a whole, or not at all.
    """
    ends = {
        (one.checked.file.group, one.checked.file.round, one.checked.file.arm): one.checked.result
        for one in facts
        if not one.checked.bad and not one.checked.breaks
    }
    graded, voids = 0, Counter[str]()
    for cohort in by_cohort(experiment.plan):
        for round_no in range(1, experiment.prereg.void_rounds + 2):
            places = [(row.trial.pair_group, round_no, row.trial.arm) for row in cohort]
            found = [end for place in places if (end := ends.get(place)) is not None]
            void = [end.void for end in found if end.void]
            voids.update(void)
            if len(found) == len(cohort) and not void:
                graded += len(cohort)
                break
    return graded, voids


def _delivery(facts: Sequence[Facts]) -> tuple[KindDelivery, ...]:
    sums: dict[tuple[str, str], Counter[str]] = {}
    for one in facts:
        for key, found in one.audit.sums.items():
            cell = sums.setdefault(key, Counter())
            for name in ("scheduled", "reached", "delivered", "masked"):
                cell[name] += getattr(found, name)
    return tuple(
        KindDelivery(kind=kind, layer=layer, **cell) for (layer, kind), cell in sorted(sums.items())
    )
