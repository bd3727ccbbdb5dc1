"""Levels 1 and 2 of verification: what was registered, and the faults that were planned from it."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.lab import seal
from hfr_bench.lab.book import ScheduleBook, read_book
from hfr_bench.lab.decode import trace_events
from hfr_bench.lab.ingest import Ingest
from hfr_bench.lab.looks import stage_of
from hfr_bench.lab.offer import MATRICES, own_files
from hfr_bench.lab.plan import Cell, cells, plan_rows
from hfr_bench.lab.register import LOCK, PLAN, PREREG, SCHEDULES
from hfr_bench.lab.runlog import RUN_LOG
from hfr_bench.lab.store import choose
from hfr_bench.lab.verification.files import Work, judge
from hfr_bench.lab.verification.prices import frozen_prices
from hfr_bench.lab.verification.registered import registered
from hfr_bench.lab.verification.sense import belongs, evidence, journal, of_one_task, ran
from hfr_bench.lab.verification.sense import rounds as strange_rounds
from hfr_bench.model.bundle import Check, Content
from hfr_bench.model.matrix import FaultMatrix
from hfr_bench.model.prereg import Lock, Preregistration
from hfr_bench.model.record import Record, digest, text_digest
from hfr_bench.model.schedule import KindSpec
from hfr_bench.model.task import OracleStep, TaskSpec
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.trial import PlanRow

Rec = TypeVar("Rec", bound=Record)


class Frozen(NamedTuple):
    """What was frozen, read back."""

    prereg: Preregistration
    lock: Lock
    plan: tuple[PlanRow, ...]
    content: Content

    def book(self, folder: Path) -> ScheduleBook:
        """The schedules that lie in the experiment's folder. Raises BadInputError."""
        return read_book(folder / SCHEDULES)


class Drawn(NamedTuple):
    """What drawing the schedules again gave: two checks, and each schedule's injections."""

    checks: tuple[Check, ...]
    injections: dict[str, frozenset[str]]


def read_frozen(work: Work) -> Frozen:
    """Raises BadInputError naming the file that cannot be read."""
    return frozen_of(work.folder, work.kept.get(seal.CONTENT, b""))


def frozen_of(folder: Path, made_of: bytes) -> Frozen:
    """The same. `made_of`: the bytes of content.json."""
    prereg = content.read_record(folder / PREREG, Preregistration)
    lock = _record(Lock, LOCK, _bytes(folder / LOCK))
    content_ = _record(Content, seal.CONTENT, made_of)
    lines = _bytes(folder / PLAN).split(b"\n")
    plan = tuple(
        _record(PlanRow, f"{PLAN}:{number}", line) for number, line in enumerate(lines, 1) if line
    )
    return Frozen(prereg, lock, plan, content_)


def ingest_of(folder: Path, frozen: Frozen) -> Ingest:
    """What makes facts of the experiment's traces. Raises BadInputError without schedules."""
    book = frozen.book(folder)
    return Ingest(frozen.prereg, frozen.plan, book.like, frozen.content.kinds)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise BadInputError(f"{path.name}: is not in the bundle") from error


def _record(kind: type[Rec], name: str, data: bytes) -> Rec:
    try:
        return kind.loads(data)
    except ValidationError as error:
        raise BadInputError(f"{name}: {content.explain(error)}") from error


# -- level 1: registration --------------------------------------------------------------------


def level_1(work: Work, frozen: Frozen) -> Iterator[Check]:
    """One registration, fixed before the first run, and every trial started under it."""
    prereg, lock, says = frozen.prereg, frozen.lock, work.says
    digests = {
        PREREG: {prereg.digest()},
        seal.BUNDLE: {says.prereg_digest},
        PLAN: {row.trial.prereg_digest for row in frozen.plan},
    }
    wrong = [
        f"{name} has {min(found - {lock.prereg_digest})[:12]}, the lock {lock.prereg_digest[:12]}"
        for name, found in digests.items()
        if found - {lock.prereg_digest}
    ]
    for field in ("name", "origin"):
        said = {str(getattr(record, field)) for record in (prereg, lock, says)}
        wrong += [f"{field}: {' and '.join(sorted(said))}"] if len(said) > 1 else []
    yield judge(1, "one registration everywhere", wrong, lock.prereg_digest[:12])
    yield _frozen_first(work, lock)
    yield _task_ids(frozen)
    yield from frozen_prices(work, lock)
    yield from registered(work, prereg, lock)
    yield belongs(work, prereg, frozen.plan)
    starts = {seen.name: event for seen in work.seen if (event := _first(seen.first)) is not None}
    yield _starts(work, frozen, starts)
    yield of_one_task({name: event.body for name, event in starts.items()})


def _frozen_first(work: Work, lock: Lock) -> Check:
    """By the clock of whoever ran it; no more than that."""
    title, runs = "frozen before the first run", journal(work)
    if not runs:
        return Check(level=1, check=title, ok=None, detail=f"no run in {RUN_LOG}")
    try:
        frozen = datetime.fromisoformat(lock.frozen_at)
        began = min(runs, key=lambda run: datetime.fromisoformat(run.at)).at
        before = frozen <= datetime.fromisoformat(began)
    except (ValueError, TypeError) as error:
        return Check(level=1, check=title, ok=False, detail=f"no date: {error}")
    detail = f"frozen {lock.frozen_at}, first run {began}"
    wrong = [*([] if before else [detail]), *evidence(lock.timestamp_evidence)]
    return judge(1, title, wrong, f"{detail}; {lock.timestamp_evidence}")


def _task_ids(frozen: Frozen) -> Check:
    """The tasks of registration, lock and plan are the same ones."""
    locked = {source.suite: source.tasks for source in frozen.lock.sources}
    planned: dict[str, dict[str, None]] = {}
    for row in frozen.plan:
        planned.setdefault(row.trial.suite, {})[row.trial.task_id] = None
    wrong = [
        f"{suite}: the plan has other tasks than the lock"
        for suite in sorted({*locked, *planned})
        if set(locked.get(suite, ())) != set(planned.get(suite, ()))
    ]
    wrong += [
        f"{chosen.suite}: the lock has other tasks than were registered"
        for chosen in frozen.prereg.suites
        if chosen.tasks and not chosen.sample and chosen.tasks != locked.get(chosen.suite)
    ]
    tasks = sum(len(tasks) for tasks in locked.values())
    return judge(1, "the registered tasks, and no others", wrong, f"{tasks} tasks")


def _starts(work: Work, frozen: Frozen, starts: Mapping[str, TraceEvent]) -> Check:
    """Each trace begins as its planned trial, under this registration, with the registered arm."""
    rows = {(row.trial.pair_group, row.trial.arm): row.trial for row in frozen.plan}
    arms = {arm.name: arm.digest() for arm in frozen.prereg.arms}
    known = {line.partition(":")[0] for line in work.says.damaged}
    wrong = []
    for seen in work.seen:
        if (one := seen.checked) is None:
            continue
        name, trial = seen.name, rows.get((one.file.group, one.file.arm))
        if trial is None or name in known:
            continue  # level 2 counts what was not planned, level 0 what is damaged
        event = starts.get(name)
        if event is None:
            wrong.append(f"{name} does not start as a trial does")
            continue
        body, round_ = event.body, one.file.round
        wanted = trial.identity() | {
            "prereg_digest": trial.prereg_digest,
            "schedule_digest": trial.schedule_digest,
            "injected": trial.injected,
            "origin": frozen.prereg.origin,
            "arm_digest": arms.get(trial.arm),
            "round": round_,
        }
        odd = [field for field, value in wanted.items() if getattr(body, field) != value]
        odd += ["trial_id"] if event.trial_id != trial.trial_id else []
        wrong += [f"{name} starts with another {odd[0]}"] if odd else []
    return judge(1, "every trial started as registered", wrong, f"{len(work.checked)} traces")


def _first(line: bytes) -> TraceEvent | None:
    """A trace's first line, or its like, if it starts a trial."""
    if (fast := trace_events([line])) is not None:
        event = fast[0]
    else:
        try:
            event = TraceEvent.loads(line)
        except ValidationError:
            return None
    return event if event.body.type == "trial_started" else None


# -- level 2: schedules and plan --------------------------------------------------------------


def level_2(work: Work, frozen: Frozen, again: Callable[[], Drawn]) -> Iterator[Check]:
    """Every fault was drawn from the registration, and nothing else was delivered.

    `again`: `draw_again` of this experiment.
    """
    yield _made_of(work, frozen)
    drawn = again()
    yield from drawn.checks
    yield _complete(work, frozen)
    yield from ran(work)
    yield _delivered(work, frozen, drawn.injections)


def draw_again(folder: Path, frozen: Frozen) -> Drawn:
    """Schedules and plan of the experiment in `folder`, held against what is drawn again.

    Raises ValueError if they cannot be drawn.
    """
    planned = list(_cells(frozen))
    found = {
        cell.schedule.schedule_id: frozenset(event.injection_id for event in cell.schedule.events)
        for cell in planned
    }
    lines = [cell.schedule.dumps().encode() for cell in planned]
    checks = _schedules(folder, frozen, planned, lines), _plan(folder, frozen, planned, lines)
    return Drawn(checks, found)


def _made_of(work: Work, frozen: Frozen) -> Check:
    """Kinds and matrix are those of the lock; tasks carry its digests of the upstream tasks."""
    lock, made_of = frozen.lock, frozen.content
    kinds = {name: spec.model_dump(mode="json") for name, spec in made_of.kinds.items()}
    wrong = (
        [] if digest(kinds) == lock.kinds_digest else ["the fault kinds are not the frozen ones"]
    )
    wrong += (
        []
        if made_of.matrix.digest() == lock.matrix_digest
        else ["the fault matrix is not the frozen one"]
    )
    locked = [
        (s.suite, task, s.task_digests.get(task, "")) for s in lock.sources for task in s.tasks
    ]
    found = [(task.suite, task.task_id, task.source_digest) for task in made_of.tasks]
    wrong += [] if found == locked else ["tasks are not those of the lock"]
    wrong += _own_files(work.folder, made_of)
    fine = f"{len(kinds)} kinds, matrix {made_of.matrix.name}, {len(found)} tasks"
    return judge(2, "kinds, matrix and tasks are those frozen", wrong, fine)


def _own_files(folder: Path, made_of: Content) -> list[str]:
    """Kinds and matrices of the experiment's own must be those of content.json, where it has them.

    Others may lie beside them: those that the matrix does not name were never used.
    """
    wrong = []
    for path in own_files(folder):
        if path.parent.name == MATRICES:
            same = path.stem != made_of.matrix.name or (
                content.read_record(path, FaultMatrix) == made_of.matrix
            )
        else:
            kind = content.read_record(path, KindSpec)
            same = made_of.kinds.get(kind.kind, kind) == kind
        wrong += [] if same else [f"{path.relative_to(folder)} is not what was frozen"]
    return wrong


def _cells(frozen: Frozen) -> Iterator[Cell]:
    """All schedules drawn again. Raises ValueError if they cannot be."""
    oracles = {(task.suite, task.task_id): task.oracle for task in frozen.content.tasks}
    tasks = [
        TaskSpec(suite=task.suite, task_id=task.task_id, fault_points=task.fault_points)
        for task in frozen.content.tasks
    ]

    def oracle(task: TaskSpec) -> Sequence[OracleStep]:
        return oracles[task.suite, task.task_id]

    return cells(frozen.prereg, tasks, frozen.content.matrix, frozen.content.kinds, oracle)


def _schedules(
    folder: Path, frozen: Frozen, planned: Sequence[Cell], again: Sequence[bytes]
) -> Check:
    """Line by line what the draw gives again, and what the lock holds the digest of."""
    drawn = Counter(again)
    files = {path: path.read_bytes() for path in sorted((folder / SCHEDULES).glob("*.jsonl"))}
    lines = Counter(line for data in files.values() for line in data.split(b"\n") if line)
    other, lost = (lines - drawn).total(), (drawn - lines).total()
    wrong = [f"{other} of {lines.total()} are not what is drawn again"] if other else []
    wrong += [f"{lost} that are drawn again are not there"] if lost else []
    place = {line: number for number, line in enumerate(again)}
    wrong += [
        f"{path.name}: its lines are not in the order in which they are drawn"
        for path, data in files.items()
        if not other and data != _in_order(data, place)
    ]
    if frozen.book(folder).digest != frozen.lock.schedules_digest:
        wrong.append("they are not those that were frozen")
    generators = {cell.schedule.generator for cell in planned} - {frozen.lock.generator}
    wrong += [f"drawn by {frozen.lock.generator}, again by {name}" for name in sorted(generators)]
    fine = f"{lines.total()} schedules, byte for byte"
    return judge(2, "the schedules are drawn again alike", wrong, fine)


def _in_order(data: bytes, place: Mapping[bytes, int]) -> bytes:
    """A file of schedules as it is written. Raises KeyError for a line that has no place."""
    return b"".join(
        line + b"\n" for line in sorted(filter(None, data.split(b"\n")), key=place.__getitem__)
    )


def _plan(
    folder: Path, frozen: Frozen, planned: Sequence[Cell], schedules: Sequence[bytes]
) -> Check:
    text = (folder / PLAN).read_text(encoding="utf-8")
    rows = plan_rows(
        frozen.prereg, frozen.lock.prereg_digest, planned, list(map(text_digest, schedules))
    )
    again = "".join(f"{row.dumps()}\n" for row in rows)
    wrong = [] if text == again else ["it is not what the registration gives again"]
    wrong += [] if text_digest(text) == frozen.lock.plan_digest else ["it is not the frozen one"]
    counts = (len(frozen.plan), len(planned)) == (frozen.lock.trials, frozen.lock.schedules)
    wrong += [] if counts else ["the lock counts otherwise"]
    return judge(2, "the plan is laid out again alike", wrong, f"{len(frozen.plan)} trials")


def _complete(work: Work, frozen: Frozen) -> Check:
    """Which trials lack, which nobody planned, and how often groups were run again."""
    stage = stage_of(frozen.prereg, frozen.plan, work.folder)
    plan = frozen.plan if stage is None else stage.rows
    chosen = choose(plan, work.checked, frozen.prereg.void_rounds)
    counts = Counter(one.file.round for one in work.checked)
    lacking, dropped = len(chosen.lacking), len(chosen.dropped)
    wrong = [f"nobody planned {name}" for name in chosen.unplanned]
    wrong += strange_rounds(frozen.plan, work.checked)
    if lacking and work.says.complete:
        wrong.append(f"{lacking} pair groups lack trials, and the bundle says that none does")
    if dropped != work.says.groups_dropped:
        wrong.append(f"{dropped} groups were dropped; the bundle says {work.says.groups_dropped}")
    fine = f"{len(chosen.trials)} of {len(plan)}"
    fine += f" up to look {stage.look} of {stage.of}" if stage else ""
    fine += f"; INCOMPLETE, as the bundle says: {lacking} pair groups" if lacking else ""
    fine += f"; {dropped} pair groups dropped" if dropped else ""
    again = sum(count for number, count in counts.items() if number > 1)
    fine += f"; {again} traces of later rounds" if again else ""
    return judge(2, "every planned trial is there", wrong, fine)


def _delivered(work: Work, frozen: Frozen, injections: Mapping[str, frozenset[str]]) -> Check:
    """Whatever a trace says was injected is in the schedule of its pair group."""
    rows = {(row.trial.pair_group, row.trial.arm): row.trial for row in frozen.plan}
    wrong, total = [], 0
    for one in work.seen:
        if one.checked is None:
            continue
        trial = rows.get((one.checked.file.group, one.checked.file.arm))
        if trial is None:
            continue
        allowed = injections.get(trial.schedule_id, frozenset()) if trial.injected else frozenset()
        count, names = one.injections
        total += count
        if strange := {json.loads(text) for text in names} - allowed:
            file = one.checked.file
            wrong.append(f"{file.group}/{file.arm}: {min(strange)} is not in its schedule")
    return judge(2, "every delivered fault is in its schedule", wrong, f"{total} deliveries")
