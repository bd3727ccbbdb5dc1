"""Live forks: which trial is run first, and what all others of its task and seed are played.

    calm trial (no faults, the baseline arm) ─ recorded → cassettes/<group>/r<round>/<arm>.jsonl
                                                            │ up to its first fault (lab.prefix)
    every other trial of its task and seed ←────────────────┘

The calm trial is the planned one: nothing is added to the plan. The recording is that of the first
round in which it was graded, whatever is run again later, so that all trials are played the same.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from hfr_bench.errors import BadInputError, CassetteMissError
from hfr_bench.lab.plan import calm_group
from hfr_bench.lab.prefix import Marks, Played
from hfr_bench.lab.store import Store, TrialFile
from hfr_bench.model.cassette import Taped
from hfr_bench.model.prereg import FORK, Preregistration
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import Origin
from hfr_bench.model.trial import PlanRow, Trial, TrialResult
from hfr_bench.ports.tape import CASSETTES, tape_name


class Calm(NamedTuple):
    """A graded calm trial's recording: where it is, and the digest that its trace says."""

    round_no: int
    path: Path
    digest: str


def live_fork(prereg: Preregistration) -> bool:
    """Whether trials are played a recorded prefix."""
    return prereg.faults.design == FORK and prereg.origin is Origin.LIVE


def is_calm(prereg: Preregistration, row: PlanRow) -> bool:
    """Whether a planned trial of a live fork is the one whose answers all others are played."""
    trial = row.trial
    own = trial.arm == prereg.analysis.baseline and trial.rate == 0
    return own and row.control is None and live_fork(prereg)


def calm_void(
    prereg: Preregistration, rows: Sequence[PlanRow], ends: Mapping[str, TrialResult | None]
) -> bool:
    """Whether the calm trial among these ended void: the rest of its round has nothing to be of."""
    calm = (ends[row.trial.trial_id] for row in rows if is_calm(prereg, row))
    return any(end is not None and end.void is not None for end in calm)


def recording(folder: Path, group: str, prereg: Preregistration) -> Calm | None:
    """That of the first round in which the calm trial of a pair group was graded."""
    store, arm = Store(folder), prereg.analysis.baseline
    for round_no in range(1, prereg.void_rounds + 2):
        file = TrialFile(
            folder / "trials" / group / f"r{round_no}" / f"{arm}.jsonl", group, round_no, arm
        )
        if not file.path.is_file():
            return None
        reading = store.read(file)
        checked = reading.checked
        if checked.bad or checked.breaks or checked.result is None:
            return None  # it will be run again, in this round
        if checked.result.void is None:
            path = folder / CASSETTES / f"{tape_name(group, round_no, arm)}.jsonl"
            said = json.loads(reading.lines[-1])["body"].get("cassette", "")
            return Calm(round_no, path, said)
    return None


def prefix_for(
    folder: Path, prereg: Preregistration, task: TaskSpec, trial: Trial, round_no: int
) -> Played | None:
    """What a trial is played up to its first fault; None for the calm trial itself.

    Raises CassetteMissError if there is no recording, or it is not what its trial recorded.
    """
    group, arm = calm_group(prereg, task, trial), prereg.analysis.baseline
    found = recording(folder, group, prereg)
    again = found is not None and found.round_no != round_no  # an arm beside it was void
    if (trial.pair_group, trial.arm) == (group, arm) and not again:
        return None
    if found is None:
        raise CassetteMissError(
            f"{trial.suite} {trial.task_id}, seed {trial.seed}: the calm trial was void in every "
            "round, so there is no prefix to play"
        )
    try:
        data = found.path.read_bytes()
        lines = [Taped.loads(line) for line in data.splitlines()]
    except (OSError, ValidationError) as error:
        raise CassetteMissError(f"{found.path}: cannot be read: {error}") from error
    if wrong := _strange(found, data):
        raise CassetteMissError(wrong)
    return Played(lines, found.digest)


def marks_of(path: Path) -> Marks:
    """What a trial's own recording says of its prefix; nothing if it cannot be read."""
    try:
        return Marks([Taped.loads(line) for line in path.read_bytes().splitlines()])
    except (OSError, ValidationError):  # its player tells why
        return Marks(())


def check_recorded_calm(
    prereg: Preregistration, rows: Sequence[PlanRow], folder: Path, *, record: bool
) -> None:
    """Before a run: prefixes can be recorded, and those that are recorded are there.

    Raises BadInputError.
    """
    if not live_fork(prereg):
        return
    if not record:
        raise BadInputError(
            "--no-record: forks of a live model are played what their calm trials were answered, "
            "which has to be recorded; leave the option out"
        )
    for wrong in _lost(prereg, rows, folder):
        raise BadInputError(
            f"{wrong}; put it back as it was, or move the whole directory away and freeze anew"
        )


def _lost(prereg: Preregistration, rows: Sequence[PlanRow], folder: Path) -> Iterator[str]:
    for row in rows:
        if not is_calm(prereg, row):
            continue
        found = recording(folder, row.trial.pair_group, prereg)
        if found is None:
            continue
        if not found.path.is_file():
            yield f"{found.path}: is missing; all trials of {row.trial.task_id} are played from it"
        elif wrong := _strange(found, found.path.read_bytes()):
            yield wrong


def _strange(found: Calm, data: bytes) -> str:
    if hashlib.sha256(data).hexdigest() == found.digest:
        return ""
    return f"{found.path}: is not what its calm trial recorded ({found.digest[:12]})"
