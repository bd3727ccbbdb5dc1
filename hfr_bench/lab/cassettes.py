"""Which tape a trial is on: live trials are recorded, replayed ones are played, others neither.

A live fork's are both: played up to their first fault, and recorded whole.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from hfr_bench.errors import CassetteMissError
from hfr_bench.lab.calm import live_fork, marks_of, prefix_for
from hfr_bench.lab.taping import AT_WORK, Recording, Tape
from hfr_bench.lab.wire import Bench
from hfr_bench.model.terms import Origin
from hfr_bench.model.trial import Trial
from hfr_bench.ports.tape import CASSETTES, tape_name


@contextmanager
def on_tape(bench: Bench, trial: Trial, round_no: int) -> Iterator[Tape]:
    """The tape of the trial that this thread is at work on, for as long as it is."""
    AT_WORK.tape = _open(bench, trial, round_no)
    try:
        yield AT_WORK.tape
    finally:
        AT_WORK.tape = None


def _open(bench: Bench, trial: Trial, round_no: int) -> Tape:
    name, place = tape_name(trial.pair_group, round_no, trial.arm), bench.place
    if place.replay is not None:
        played = place.replay / CASSETTES / f"{name}.jsonl"
        return Tape(name, played, marks_of(played) if live_fork(bench.prereg) else None)
    if not place.record or bench.prereg.origin is not Origin.LIVE:
        return Tape(name)
    path = place.folder / CASSETTES / f"{name}.jsonl"
    if not (trial.injected and live_fork(bench.prereg)):  # without a gateway nothing is played
        return Recording(name, path, bare=not trial.injected)
    task = bench.task(trial.suite, trial.task_id)
    try:
        prefix = prefix_for(place.folder, bench.prereg, task, trial, round_no)
    except CassetteMissError as error:
        return Recording(name, path, bare=False, lacking=str(error))
    return Recording(name, path, bare=False, prefix=prefix)
