"""The trials that count, one pair group at a time: the last complete round of each, in plan order.

For whoever reads whole traces: no more than one group's are held at once, or one crowd's where
cohorts tie groups together.
"""

from collections.abc import Iterator
from typing import NamedTuple

from hfr_bench.lab.cohorts import crowds
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.store import Reading, Store, TrialFile, choose
from hfr_bench.model.trial import PlanRow


class Counted(NamedTuple):
    """A planned trial and its trace in the round that counts."""

    row: PlanRow
    reading: Reading


def last_rounds(experiment: Experiment, mark: bytes = b"") -> Iterator[tuple[Counted, ...]]:
    """Each pair group's last complete round, in plan order; groups that lack one are left out.

    Args:
        experiment: the frozen experiment.
        mark: leave out, unread, groups in whose files these bytes do not occur.
    """
    store, files = Store(experiment.path), dict[str, list[TrialFile]]()
    for file in store.files():
        files.setdefault(file.group, []).append(file)
    for rows in crowds(experiment.plan).values():
        tied = dict.fromkeys(row.trial.pair_group for row in rows)
        found = [file for group in tied for file in files.get(group, ())]
        if mark and not any(mark in file.path.read_bytes() for file in found):
            continue
        readings = {file: store.read(file) for file in found}
        kept = choose(
            rows, (one.checked for one in readings.values()), experiment.prereg.void_rounds
        )
        counted = tuple(
            Counted(row, readings[kept.trials[row.trial.trial_id].file])
            for row in rows
            if row.trial.trial_id in kept.trials
        )
        if counted:
            yield counted
