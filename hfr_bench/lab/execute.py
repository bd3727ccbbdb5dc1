"""Many trials: what the plan still lacks, in rounds, on worker threads, one writer a trial."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from hfr_bench import __version__, plugins
from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.lab import runlog
from hfr_bench.lab.calm import check_recorded_calm, is_calm, live_fork
from hfr_bench.lab.canary import planted
from hfr_bench.lab.clock import make_clock
from hfr_bench.lab.journal import Durability, archive
from hfr_bench.lab.looks import open_rows
from hfr_bench.lab.meter import CostMeter, spent
from hfr_bench.lab.prefixed import unpaid
from hfr_bench.lab.register import TRIALS, Experiment, check_content, check_sources
from hfr_bench.lab.runlock import only_one
from hfr_bench.lab.standing import Job, Standing, standing
from hfr_bench.lab.store import Store, TrialFile
from hfr_bench.lab.together import Together
from hfr_bench.lab.trial import InterruptedTrialError, run_trial
from hfr_bench.lab.wire import Bench, Place, WorkerScope
from hfr_bench.model.invocation import Invocation
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.terms import ClockKind
from hfr_bench.model.trial import PlanRow, Trial, TrialResult
from hfr_bench.owner import this_process
from hfr_bench.ports.executor import Executor
from hfr_bench.ports.sandbox import SandboxUnavailableError

ROOM_MIB = 64
"""Free space below which no run is begun."""

End = Literal["done", "stopped", "interrupted", "error"]


class Progress(NamedTuple):
    """After each trial: how far this call is. Blinded: no arm's outcome is in it."""

    done: int
    total: int
    voids: int


class Summary(NamedTuple):
    """What one call of `run` did. `dropped`: groups void in every round they had.

    `graded` of `planned` trials are in, over all calls; `stopped`: why this one stopped early;
    `reaped`: what a killed run had left, and is now gone. `due`: the registered look whose trials
    are all in.
    """

    ran: int
    voids: int
    already: int
    dropped: int
    graded: int
    planned: int
    stopped: str = ""
    reaped: tuple[str, ...] = ()
    due: str = ""

    @property
    def valid(self) -> float:
        """The share of planned trials that are graded."""
        return self.graded / self.planned if self.planned else 1.0


@dataclass(frozen=True, slots=True)
class Options:
    """How to run; nothing of it is registered, and no result may depend on it."""

    workers: int = 1
    max_cost_usd: float | None = None
    durability: Durability = "process"
    on_progress: Callable[[Progress], None] = lambda _progress: None


def run(
    experiment: Experiment, options: Options | None = None, place: Place | None = None
) -> Summary:
    """Run what the plan still lacks; running it again resumes.

    Raises BadInputError if the directory is in use, or belongs to another registration;
    InfrastructureError if there is no room for traces, or the sandbox is gone.
    """
    options, place = options or Options(), place or Place()
    check_owner(experiment)
    check_played(experiment, place)
    if place.replay is None:
        check_recorded_calm(
            experiment.prereg, experiment.plan, experiment.path, record=place.record
        )
    check_content(experiment)
    check_room(experiment.path)
    place, digest = replace(place, folder=experiment.path), experiment.lock.prereg_digest
    alone, faked = only_one(experiment.path), planted(digest)
    with alone, faked, Bench(experiment.prereg, experiment.book, place) as bench:
        meter, count, now = _meter(experiment, options), _Count(), _standing(experiment)
        reaped = _reaped(bench, needed=bool(now.jobs))
        already = len(open_rows(*looked(experiment))[0]) - len(now.jobs)
        if now.jobs:
            check_sources(experiment, bench)
            bench.serve()
            with _logged(experiment, bench, meter, options, count):
                now = _rounds(experiment, bench, now, meter, options, count)
            # A killed run's last wish may have been on its way to the engine when we came.
            reaped += _reaped(bench, needed=False)
    return Summary(
        ran=count.ran,
        voids=count.voids,
        already=already,
        dropped=now.dropped,
        graded=now.graded,
        planned=len(experiment.plan),
        stopped=meter.stopped,
        reaped=reaped,
        due="" if now.jobs else open_rows(*looked(experiment))[1],
    )


def _reaped(bench: Bench, *, needed: bool) -> tuple[str, ...]:
    """Remove what a killed run left. A sandbox that is gone matters only if there is work."""
    try:
        return bench.reap()
    except SandboxUnavailableError:
        if needed:
            raise
        return ()


def check_room(folder: Path) -> None:
    """Raises InfrastructureError if the disk is as good as full: a run would only break."""
    free = shutil.disk_usage(folder).free
    if free < ROOM_MIB * 1024 * 1024:
        raise InfrastructureError(
            f"{folder}: {free // 1024 // 1024} MiB are free there, and a run needs {ROOM_MIB}; "
            "free some and run again"
        )


def check_owner(experiment: Experiment) -> None:
    """Every trace here must belong to this plan. Raises BadInputError."""
    folder = experiment.path / TRIALS
    planned = {row.trial.pair_group for row in experiment.plan}
    found = folder.iterdir() if folder.is_dir() else ()
    strangers = sorted(path for path in found if path.name not in planned)
    if strangers:
        raise BadInputError(
            f"{strangers[0]}: is not in this experiment's plan; the directory holds traces of "
            "another registration. Move them away, or use a directory of its own"
        )


def check_played(experiment: Experiment, place: Place) -> None:
    """Trials of a run and replays are never in one directory. Raises BadInputError."""
    for file in Store(experiment.path).files():
        with file.path.open("rb") as trace:
            played = b'"replayed":true' in trace.readline()
        if played is not (place.replay is not None):
            raise BadInputError(
                f"{experiment.path}: holds {'replays' if played else 'trials of a run'}; the two "
                "are never mixed, take a directory of its own"
            )
        return


@contextmanager
def _logged(
    experiment: Experiment, bench: Bench, meter: CostMeter, options: Options, count: "_Count"
) -> Iterator[None]:
    """All rounds stand between two lines of run.jsonl."""
    line = Invocation(
        at=runlog.now(),
        owner=this_process(),
        harness_version=__version__,
        sandbox=bench.sandbox_name,
        workers=options.workers,
        durability=options.durability,
        max_cost_usd=options.max_cost_usd,
        canary=True,
    )
    runlog.append(experiment.path, line)
    end: End = "error"
    try:
        yield
        end = "stopped" if meter.stopped else "done"
    except KeyboardInterrupt:
        end = "interrupted"
        raise
    finally:
        done = {"at": runlog.now(), "end": end, "stopped": meter.stopped or bench.switch.why}
        with suppress(OSError):  # a full disk has been told already
            runlog.append(
                experiment.path,
                line.model_copy(update=done | {"ran": count.ran, "voids": count.voids}),
            )


def _rounds(
    experiment: Experiment,
    bench: Bench,
    now: Standing,
    meter: CostMeter,
    options: Options,
    count: "_Count",
) -> Standing:
    """Run jobs, then the rounds that voids made necessary, until nothing is lacking."""
    executor: Executor = plugins.find("executors", "threads")(options.workers)

    def work(scope: WorkerScope, jobs: Sequence[Job]) -> list[TrialResult]:
        if not meter.start(len(jobs)):
            return []
        done = []
        for job, result in zip(jobs, _played(scope, jobs, options.durability), strict=False):
            meter.end(result, _unpaid(experiment, job))
            done.append(result)
        meter.leave(len(jobs) - len(done))
        return done

    while now.jobs and not meter.stopped:
        total = count.ran + len(now.jobs)
        try:
            units = _units(_due(experiment.prereg, now.jobs, place=bench.place))
            for results in executor.run(units, lambda _: WorkerScope(bench), work, bench.abort):
                for result in results:
                    count.add(result)
                    options.on_progress(Progress(count.ran, total, count.voids))
        except BaseException:
            bench.abort()  # whatever interrupted us here, the workers must not be waited for
            raise
        now = _standing(experiment)
    return now


def _standing(experiment: Experiment) -> Standing:
    """How far it is; jobs only up to the next registered look, if looks are registered."""
    found, open_plan = standing(experiment), open_rows(*looked(experiment))[0]
    if len(open_plan) == len(experiment.plan):
        return found
    names = {row.trial.trial_id for row in open_plan}
    return found._replace(jobs=[job for job in found.jobs if job.row.trial.trial_id in names])


def looked(experiment: Experiment) -> tuple[Preregistration, Sequence[PlanRow], Path]:
    """What `lab.looks.open_rows` asks for."""
    return experiment.prereg, experiment.plan, experiment.path


def _due(prereg: Preregistration, jobs: Sequence[Job], place: Place) -> Sequence[Job]:
    """What may be run now: of a live fork the calm trials alone, as long as one of them lacks."""
    calm = [job for job in jobs if is_calm(prereg, job.row)] if place.replay is None else []
    return calm or jobs


def _units(jobs: Sequence[Job]) -> list[list[Job]]:
    """What one worker does in one go: a cohort, which is mostly a single trial."""
    found: dict[tuple[str, int], list[Job]] = {}
    for job in jobs:
        found.setdefault((job.row.trial.cohort_id, job.round_no), []).append(job)
    return list(found.values())


def _played(
    scope: WorkerScope, jobs: Sequence[Job], durability: Durability
) -> Iterator[TrialResult]:
    """A cohort's trials, one after the other on one clock; a void is the last of them.

    Raises as `run_trial` does, and InterruptedTrialError while a trial is waited for.
    """
    prereg, together = scope.bench.prereg, None
    if prereg.cohorts is not None:
        together = Together(prereg.cohorts, make_clock(prereg.clock))
        for job in jobs:  # an earlier start of this cohort: none of it may be mixed with this one
            archive(job.path, "interrupted")
    for job in jobs:
        if together is None:
            yield run_trial(scope, job.row, job.round_no, job.path, durability)
            continue
        trial = job.row.trial
        _wait(scope, together, trial)
        seat = together.seat(trial)
        result = run_trial(scope, job.row, job.round_no, job.path, durability, seat)
        together.take(trial, seat)
        yield result
        if result.void is not None:
            return


def _wait(scope: WorkerScope, together: Together, trial: Trial) -> None:
    """Until a trial is due. Real time is waited for so that an interrupt ends it."""
    while us := together.due_in_us(trial):
        if together.clock.kind is ClockKind.VIRTUAL:
            together.clock.wait(us)
        elif scope.bench.interrupted.wait(us / 1_000_000):
            raise InterruptedTrialError("interrupted between two trials of a cohort")


@dataclass(slots=True)
class _Count:
    """What has been run so far."""

    ran: int = 0
    voids: int = 0

    def add(self, result: TrialResult) -> None:
        self.ran += 1
        self.voids += result.void is not None


def _meter(experiment: Experiment, options: Options) -> CostMeter:
    """What the directory has cost so far, and the bound. Reads every trace only under a bound."""
    bound = options.max_cost_usd
    if bound is None:
        return CostMeter(0)
    store, forked, played = Store(experiment.path), live_fork(experiment.prereg), 0
    results = []
    for file in store.files():
        reading = store.read(file)
        if (result := reading.checked.result) is not None:
            results.append(result)
            played += unpaid(reading.events) if forked else 0
    each = experiment.prereg.limits.max_cost_usd or 0.0
    return CostMeter(spent(store, results) - played, round(bound * 1e6), round(each * 1e6))


def _unpaid(experiment: Experiment, job: Job) -> int:
    """What a live fork's trial that has ended was charged and did not cost, micro-dollars."""
    if not live_fork(experiment.prereg):
        return 0
    trial = job.row.trial
    file = TrialFile(job.path, trial.pair_group, job.round_no, trial.arm)
    return unpaid(Store(experiment.path).read(file).events)
