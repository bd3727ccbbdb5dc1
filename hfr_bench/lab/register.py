"""prereg.yaml -> prereg.lock.json, schedules/ and plan.jsonl; and holding a run to them."""

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from hfr_bench import __version__, content
from hfr_bench.errors import BadInputError
from hfr_bench.lab.book import ScheduleBook, read_book
from hfr_bench.lab.cohorts import check_cohorts, cohort_notes
from hfr_bench.lab.designs import TRIALS_MAX, burst_notes, check_fork
from hfr_bench.lab.looks import check_looks
from hfr_bench.lab.offer import Faults
from hfr_bench.lab.offer import faults as faults_of
from hfr_bench.lab.plan import Cell, cells, exhaustive_trials, plan_rows
from hfr_bench.lab.pricing import PRICES, check_prices, table_of
from hfr_bench.lab.registered import check_registered, worked_out
from hfr_bench.lab.solved import check_solved
from hfr_bench.model.matrix import FaultMatrix
from hfr_bench.model.prereg import EXHAUSTIVE, FORK, Hypothesis, Lock, Preregistration
from hfr_bench.model.record import text_digest
from hfr_bench.model.task import OracleStep, TaskSpec
from hfr_bench.model.terms import Layer, Origin
from hfr_bench.model.trial import PlanRow
from hfr_bench.stats.metrics import METRICS

if TYPE_CHECKING:
    from hfr_bench.lab.wire import Bench, Place

PREREG, LOCK, PLAN, SCHEDULES, TRIALS = (
    "prereg.yaml",
    "prereg.lock.json",
    "plan.jsonl",
    "schedules",
    "trials",
)

TOKEN = "prereg.lock.json.tsr"  # noqa: S105 - the name of a file
"""An RFC 3161 TimeStampResp over the bytes of the lock, where one was asked for."""

RESTATING = frozenset({"sr", "csr", "goal_met", "official", "cps"})
"""Metrics in which a rehearsal says what its script says: they rest on success alone."""


class Experiment(NamedTuple):
    """A frozen experiment, read back and checked against its digests."""

    path: Path
    prereg: Preregistration
    lock: Lock
    plan: tuple[PlanRow, ...]
    book: ScheduleBook


def load_prereg(folder: Path) -> Preregistration:
    """Read and validate prereg.yaml. Raises BadInputError naming each wrong key."""
    if not folder.is_dir():
        raise BadInputError(f"{folder}: no such directory; `hfr-bench new {folder}` makes one")
    path = folder / PREREG
    if not path.is_file():
        raise BadInputError(f"{folder}: no {PREREG} in it; `hfr-bench new` writes one")
    prereg = content.read_record(path, Preregistration)
    if prereg.v != 1:
        raise BadInputError(f"{path}: v: {prereg.v} is not known here; this version reads v: 1")
    return prereg


def freeze(folder: Path, place: "Place | None" = None, git: str = "") -> Lock:
    """Validate, draw the schedules, lay out the plan, digest everything.

    `git`: what the lock says of the commit and tag that it is frozen under.
    Raises BadInputError for a wrong registration, and if the directory already holds trials:
    what has been run under one registration is never re-registered.
    """
    prereg = load_prereg(folder)
    _no_trials(folder)
    check_registered(prereg)
    with _bench(prereg, folder, place) as bench:
        matrix = bench.faults.matrix
        bench.check_answered()
        check_hypotheses(prereg)
        check_solved(prereg, bench)
        tasks, notes = tuple(bench.tasks.values()), check_design(prereg, bench, matrix)
        found, told = worked_out(prereg, bench, folder)
        planned = list(cells(prereg, tasks, matrix, bench.kinds, _oracle_of(bench)))
        notes += (*_cohorts(prereg, bench, planned), *told)
        rows = list(plan_rows(prereg, prereg.digest(), planned))
        _write_schedules(folder / SCHEDULES, planned)
        plan_text = "".join(f"{row.dumps()}\n" for row in rows)
        _write_plan(folder, plan_text, table_of(bench.backend))
        lock = Lock(
            prereg_digest=prereg.digest(),
            name=prereg.name,
            origin=prereg.origin,
            frozen_at=datetime.now(UTC).isoformat(timespec="seconds"),
            harness_version=__version__,
            generator=planned[0].schedule.generator,
            sources=bench.pins,
            matrix_digest=matrix.digest(),
            kinds_digest=bench.faults.digest,
            prices_digest=bench.backend.prices_digest,
            schedules_digest=read_book(folder / SCHEDULES).digest,
            plan_digest=text_digest(plan_text),
            schedules=len(planned),
            trials=len(rows),
            notes=(
                *_notes(prereg, len(tasks)),
                *notes,
                *(f"faults: {what} is of {whose}" for what, whose in bench.faults.whose.items()),
                *getattr(bench.backend, "notes", ()),  # prices that nobody knows
            ),
            git=git,
            **found,
        )
    _write(folder / LOCK, lock.model_dump_json(indent=2) + "\n")
    (folder / TOKEN).unlink(missing_ok=True)  # of the lock that was there before
    return lock


def _bench(prereg: Preregistration, folder: Path, place: "Place | None") -> "Bench":
    """What the registration names: all that a run takes comes with it, and only to freeze."""
    from hfr_bench.lab.wire import Bench, Place  # noqa: PLC0415

    return Bench(prereg, place=replace(place or Place(), folder=folder))


def _no_trials(folder: Path) -> None:
    trials = folder / TRIALS
    if trials.is_dir() and any(trials.rglob("*.jsonl*")):
        raise BadInputError(
            f"{folder}: holds trials of a frozen experiment; `hfr-bench amend {folder}` makes a "
            "new one of it, and says what was seen"
        )


def load(folder: Path) -> Experiment:
    """Read a frozen experiment back.

    Raises BadInputError if it was not frozen, or if registration, plan, schedules or prices are no
    longer what was frozen.
    """
    prereg = load_prereg(folder)
    path = folder / LOCK
    if not path.is_file():
        raise BadInputError(f"{folder}: not frozen yet; run `hfr-bench freeze {folder}` first")
    try:
        lock = Lock.loads(path.read_bytes())
    except ValidationError as error:
        raise BadInputError(f"{path}: {content.explain(error)}") from error
    if prereg.digest() != lock.prereg_digest:
        raise BadInputError(
            f"{folder / PREREG}: changed after freezing (frozen {lock.prereg_digest[:12]}, now "
            f"{prereg.digest()[:12]}); put it back, or freeze a new directory"
        )
    check_prices(folder, lock.prices_digest)
    plan_text = _read(folder / PLAN)
    if text_digest(plan_text) != lock.plan_digest:
        raise BadInputError(f"{folder / PLAN}: is not the plan that was frozen")
    book = read_book(folder / SCHEDULES)
    if book.digest != lock.schedules_digest:
        raise BadInputError(f"{folder / SCHEDULES}: are not the schedules that were frozen")
    plan = tuple(PlanRow.loads(line) for line in plan_text.split("\n") if line)
    return Experiment(folder, prereg, lock, plan, book)


def check_sources(experiment: Experiment, bench: "Bench") -> None:
    """The suites and prices must still be what was frozen. Raises BadInputError."""
    lock, where = experiment.lock, experiment.path
    for was, now in zip(lock.sources, bench.pins, strict=True):
        if was != now:
            told = _first_difference(was.model_dump(), now.model_dump())
            if was.distribution != now.distribution:
                told += "; an upstream checkout is named with --data-dir, at every call"
            raise BadInputError(f"{where}: suite {was.suite!r} changed after freezing: {told}")
    frozen, found = lock.prices_digest, bench.backend.prices_digest
    if frozen != found:
        raise _changed(where, "prices", frozen, found)


def check_content(experiment: Experiment) -> Faults:
    """The fault kinds and the matrix, which must still be what was frozen. Raises BadInputError."""
    lock = experiment.lock
    faults = faults_of(experiment.prereg.faults, experiment.path)
    for what, frozen, found in (
        ("fault kinds", lock.kinds_digest, faults.digest),
        ("fault matrix", lock.matrix_digest, faults.matrix.digest()),
    ):
        if frozen != found:
            raise _changed(experiment.path, what, frozen, found)
    return faults


def _changed(where: Path, what: str, frozen: str, found: str) -> BadInputError:
    return BadInputError(
        f"{where}: the {what} changed after freezing ({frozen[:12]} -> {found[:12]}); "
        "use the version that froze it, or freeze a new directory"
    )


def _first_difference(was: dict[str, object], now: dict[str, object]) -> str:
    """The first field in which two records differ, told in one line."""
    for key, value in was.items():
        other = now.get(key)
        if value == other:
            continue
        if isinstance(value, dict) and isinstance(other, dict):
            changed = sorted(k for k in value.keys() | other.keys() if value.get(k) != other.get(k))
            return f"{key} of {', '.join(changed[:3])}" + (" …" if len(changed) > 3 else "")
        return f"{key}: frozen {str(value)[:60]}, now {str(other)[:60]}"
    return "nothing"


def check_design(prereg: Preregistration, bench: "Bench", matrix: FaultMatrix) -> tuple[str, ...]:
    """Whether a design can be made, and what a reader must know: what it leaves out, where it is.

    Raises BadInputError for a window without a task, for forks of a live model, and with the
    exhaustive design for another agent than the oracle (nobody knows the steps of any other
    before it has gone them), for nothing to inject, and for more than TRIALS_MAX trials.
    """
    check_looks(prereg, bench.tasks)
    if prereg.faults.design == FORK:
        return check_fork(prereg, bench, matrix, _oracle_of(bench))
    if prereg.faults.design != EXHAUSTIVE:
        return tuple(burst_notes(prereg, len(bench.tasks)))
    if prereg.agent != "oracle":
        raise BadInputError(
            f"faults.design: {EXHAUSTIVE} takes the steps of the oracle one by one and needs "
            f"`agent: oracle`, not {prereg.agent!r}; `design: sampled` goes with any agent"
        )
    tasks = tuple(bench.tasks.values())
    faults, trials = exhaustive_trials(prereg, tasks, matrix, bench.kinds, _oracle_of(bench))
    if not faults:
        raise BadInputError(
            f"faults.matrix: no kind of {matrix.name!r} fits any step of the oracle in these tasks"
        )
    if trials > TRIALS_MAX:
        raise BadInputError(
            f"faults.design: {EXHAUSTIVE} makes {faults} faults of {len(tasks)} tasks, which with "
            f"{len(prereg.arms)} arms and {len(prereg.seeds)} seed(s) is {trials} trials, more "
            f"than {TRIALS_MAX}; take fewer tasks, arms or seeds, or a matrix with fewer kinds"
        )
    return _exhaustive_notes(prereg, bench, matrix, faults)


def _exhaustive_notes(
    prereg: Preregistration, bench: "Bench", matrix: FaultMatrix, faults: int
) -> tuple[str, ...]:
    told = [f"{EXHAUSTIVE}: {faults} faults, one a trial, at every step of the oracle's solutions"]
    named = {name for mix in matrix.mixes for name in mix.kinds}
    if model := sorted(name for name in named if bench.kinds[name].layer is Layer.MODEL):
        told.append(f"the oracle agent calls no model and does not meet {', '.join(model)}")
    if len(prereg.seeds) > 1:
        told.append("seeds change jitter and fault parameters only: the faults are all there are")
    return tuple(told)


def _cohorts(prereg: Preregistration, bench: "Bench", planned: Iterable[Cell]) -> tuple[str, ...]:
    """Whether the plan can be run in cohorts, and what to know of them. Raises BadInputError."""
    check_cohorts(
        prereg,
        ((c.task.suite, c.task.task_id, c.seed, c.schedule.profile) for c in planned),
    )
    strategies = {arm.name: bench.strategy(arm) for arm in prereg.arms}
    return cohort_notes(prereg, tuple(bench.tasks), strategies)


def _oracle_of(bench: "Bench") -> Callable[[TaskSpec], tuple[OracleStep, ...]]:
    return lambda task: bench.sealed(task.suite, task.task_id).oracle


def check_hypotheses(prereg: Preregistration) -> None:
    """Every claim must be one that the report can judge. Raises BadInputError."""
    ids = [claim.id for claim in prereg.hypotheses]
    for claim in prereg.hypotheses:
        if wrong := _wrong_metric(prereg, claim) or _wrong_claim(prereg, claim):
            raise BadInputError(f"hypotheses.{claim.id}: {wrong}")
        if ids.count(claim.id) > 1:
            raise BadInputError(f"hypotheses.{claim.id}: the id is used twice")


def _wrong_metric(prereg: Preregistration, claim: Hypothesis) -> str:
    """In rehearsal SR restates the script of the stand-in model: no claim may rest on it."""
    # Only freezing needs it, and it brings numpy and scipy, which every other verb would pay for.
    from hfr_bench.stats.estimate import PAIRED  # noqa: PLC0415

    rehearsal = prereg.origin is Origin.REHEARSAL
    if rehearsal and claim.metric.lower() in RESTATING:
        return (
            f"{claim.metric} of a rehearsal restates the stand-in model's script; "
            "register side-effect or delivery hypotheses"
        )
    offered = ", ".join(name for name in PAIRED if not (rehearsal and name in RESTATING))
    if claim.metric not in METRICS:
        return f"unknown metric {claim.metric!r}; there are: {offered}"
    if claim.metric not in PAIRED:
        return f"arms are not compared in pairs by {claim.metric!r}; they are by: {offered}"
    return ""


def _wrong_claim(prereg: Preregistration, claim: Hypothesis) -> str:
    rates = prereg.faults.rates
    if claim.arm == claim.against:
        return f"{claim.arm!r} is compared with itself"
    if claim.rate is not None and claim.rate not in rates:
        return f"rate: no {claim.rate:g}; there are: {', '.join(f'{r:g}' for r in rates)}"
    if claim.rate is None and not any(rate > 0 for rate in rates):
        return "rate: null takes the rates above 0 together, and none is registered"
    if METRICS[claim.metric].unit == "share" and abs(claim.margin) >= 1:
        return f"margin {claim.margin:g}: no shares are so far apart; 0.03 is 3 percentage points"
    if claim.direction == "equal" and claim.margin <= 0:
        return "direction equal needs a margin above 0; no experiment shows that nothing differs"
    return ""


def _notes(prereg: Preregistration, tasks: int) -> tuple[str, ...]:
    """What a reader of the lock should know before the first trial."""
    notes = []
    if tasks < prereg.protocol_tasks and prereg.faults.design != EXHAUSTIVE:
        notes.append(
            f"below protocol: {tasks} tasks, the protocol asks for {prereg.protocol_tasks}"
        )
    if len(prereg.seeds) < 3 and prereg.faults.design != EXHAUSTIVE:
        notes.append(f"below protocol: {len(prereg.seeds)} seed(s), the protocol asks for 3")
    return tuple(notes)


def _write_schedules(folder: Path, planned: Iterable[Cell]) -> None:
    """One file a suite and rate (exhaustive: a suite), one line a schedule."""
    files: dict[str, list[str]] = {}
    for cell in planned:
        schedule = cell.schedule
        stem = schedule.profile if schedule.design == "sampled" else schedule.design
        files.setdefault(f"{schedule.suite}-{stem}.jsonl", []).append(schedule.dumps())
    if folder.is_dir():
        for stale in folder.glob("*.jsonl"):
            stale.unlink()
    for name, lines in files.items():
        _write(folder / name, "".join(f"{line}\n" for line in lines))


def _write_plan(folder: Path, plan: str, prices: str | None) -> None:
    """The plan, and the model prices that it is run at, where there is a table of them."""
    _write(folder / PLAN, plan)
    if prices is None:
        (folder / PRICES).unlink(missing_ok=True)  # of a service that was registered before
    else:
        _write(folder / PRICES, prices)


def _write(path: Path, text: str) -> None:
    """Write a whole file or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise BadInputError(
            f"{path}: missing; run `hfr-bench freeze` first, or put the frozen file back"
        ) from error
    except UnicodeDecodeError as error:
        raise BadInputError(f"{path}: is not text; put the frozen file back") from error
