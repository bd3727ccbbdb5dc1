"""Blinded progress: how far an experiment is and whether faults arrive; no arm's outcome."""

from collections import Counter
from collections.abc import Mapping

from hfr_bench.faults.audit import AUDITED, audit
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.standing import read_end
from hfr_bench.lab.store import Store
from hfr_bench.model.record import Record
from hfr_bench.model.schedule import KindSpec
from hfr_bench.model.terms import Origin


class KindDelivery(Record):
    """Delivery of one kind over all arms: of the events reached, how many were really seen."""

    kind: str
    layer: str
    reached: int
    delivered: int


class Status(Record):
    """What `status` shows. `voids` by cause; `bad_lines` name file and line."""

    name: str
    origin: Origin
    prereg_digest: str
    planned: int
    graded: int
    voids: dict[str, int]
    lacking: int
    delivery: tuple[KindDelivery, ...]
    bad_lines: tuple[str, ...]

    @property
    def delivered(self) -> bool:
        """Delivered = reached, for every kind."""
        return all(row.delivered == row.reached for row in self.delivery)


def status(experiment: Experiment, kinds: Mapping[str, KindSpec]) -> Status:
    """Read how far the experiment is. Reads every trace, but only what the audit needs."""
    graded, voids = 0, Counter[str]()
    store = Store(experiment.path)
    for row in experiment.plan:
        for round_no in range(1, experiment.prereg.void_rounds + 2):
            end = read_end(store, row, round_no)
            if end and end.void:
                voids[end.void] += 1
            elif end:
                graded += 1
                break
    delivery, bad = _delivery(experiment, kinds)
    return Status(
        name=experiment.prereg.name,
        origin=experiment.prereg.origin,
        prereg_digest=experiment.lock.prereg_digest,
        planned=len(experiment.plan),
        graded=graded,
        voids=dict(sorted(voids.items())),
        lacking=len(experiment.plan) - graded,
        delivery=delivery,
        bad_lines=bad,
    )


def _delivery(
    experiment: Experiment, kinds: Mapping[str, KindSpec]
) -> tuple[tuple[KindDelivery, ...], tuple[str, ...]]:
    store = Store(experiment.path)
    planned = {(row.trial.pair_group, row.trial.arm): row.trial for row in experiment.plan}
    reached: Counter[tuple[str, str]] = Counter()
    delivered: Counter[tuple[str, str]] = Counter()
    bad = []
    for file in store.files():
        trial = planned.get((file.group, file.arm))
        if trial is None:
            bad.append(f"{file.path}: is not in the plan")
            continue
        bad += [str(line) for line in store.check(file).bad]
        schedule = experiment.book.schedule(trial.schedule_id)
        trace = store.trace(file, AUDITED)
        found = audit(trace.events, schedule, kinds, injected=trial.injected)
        for one in found.deliveries:
            key = (one.event.layer.value, one.event.kind)
            reached[key] += one.reached
            delivered[key] += one.delivered
    rows = tuple(
        KindDelivery(kind=kind, layer=layer, reached=n, delivered=delivered[layer, kind])
        for (layer, kind), n in sorted(reached.items())
    )
    return rows, tuple(bad)
