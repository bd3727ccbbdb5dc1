"""A small frozen experiment, run by a toy and ready to be bundled; and ways to spoil a bundle."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from hfr_bench import __version__
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.book import read_book
from hfr_bench.lab.bundle import bundle
from hfr_bench.lab.looks import open_rows
from hfr_bench.lab.plan import cells, plan_rows
from hfr_bench.lab.register import Experiment, load
from hfr_bench.lab.rendering.pages import HTML, describe, pages
from hfr_bench.lab.review.summary import with_review
from hfr_bench.lab.runlog import append
from hfr_bench.lab.scan import Scanner
from hfr_bench.lab.seal import BUNDLE, CONTENT, MANIFEST, STATEMENT, TRACE, canonical_file, chain_of
from hfr_bench.lab.seal import manifest as manifest_of
from hfr_bench.lab.seal import statement as statement_of
from hfr_bench.lab.store import Store
from hfr_bench.lab.verification.verify import verify
from hfr_bench.model.bundle import Bundle, Content, TaskPoints
from hfr_bench.model.invocation import Invocation
from hfr_bench.model.matrix import FaultMatrix, Mix
from hfr_bench.model.prereg import Arm, Lock, Preregistration, SourcePin
from hfr_bench.model.record import digest, text_digest
from hfr_bench.model.report import Report
from hfr_bench.model.schedule import FaultSchedule
from hfr_bench.model.task import FaultPoint, TaskSpec
from hfr_bench.model.terms import Layer, SideEffect
from hfr_bench.model.trace import TrialStarted, UpstreamHit
from hfr_bench.model.trial import PlanRow
from hfr_bench.testing.experiments import BOOK, MODEL, planned, play
from hfr_bench.testing.results import KINDS as ANYWHERE
from hfr_bench.testing.results import At, write_trial

ARMS = ("no_retry", "blind_resend", "hfr", "always_escalate")
POINTS = (
    FaultPoint(point=MODEL, layer=Layer.MODEL, target="agent"),
    FaultPoint(point=BOOK, layer=Layer.TOOL, target="book", level=SideEffect.QUERYABLE),
)
KINDS = {
    name: spec.model_copy(update={"points": (point,)})
    for (name, spec), point in zip(ANYWHERE.items(), (MODEL, BOOK), strict=True)
}
MATRIX = FaultMatrix(
    name="toy",
    mixes=(Mix(points=("model:*",), kinds={"busy": 1}), Mix(points=("tool:*",), kinds={"lost": 1})),
)
FROZEN_AT, RAN_AT = "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:05+00:00"
OWNER = "somebodys-laptop/boot/1/2"


class Ready(NamedTuple):
    """A frozen experiment that has been run, and what its schedules were drawn from."""

    experiment: Experiment
    content: Content

    def bundle(self, out: Path, **options: Any) -> Path:
        """Bundle it; nothing of this machine's environment is looked for unless asked to."""
        bundle(self.experiment, self.content, out, **({"scanner": Scanner({})} | options))
        return out


def ready(folder: Path, tasks: int = 8, rates: Sequence[float] = (0.0, 0.4), **more: Any) -> Ready:
    """Freeze a toy experiment in a new folder, and play what of it may be run now.

    `more`: of the registration.
    """
    names = tuple(f"t{n}" for n in range(1, tasks + 1))
    prereg = planned(ARMS, rates=rates, suites=({"suite": "s", "tasks": names},), **more).prereg
    specs = [TaskSpec(suite="s", task_id=name, fault_points=POINTS) for name in names]
    drawn = list(cells(prereg, specs, MATRIX, KINDS))
    rows = list(plan_rows(prereg, prereg.digest(), drawn))
    files: dict[str, list[str]] = {}
    for cell in drawn:
        files.setdefault(f"s-{cell.schedule.profile}.jsonl", []).append(cell.schedule.dumps())
    (folder / "schedules").mkdir(parents=True)
    for name, lines in files.items():
        (folder / "schedules" / name).write_text("".join(f"{line}\n" for line in lines))
    plan = "".join(f"{row.dumps()}\n" for row in rows)
    (folder / "plan.jsonl").write_text(plan)
    (folder / "prereg.yaml").write_text(yaml.safe_dump(prereg.model_dump(mode="json")))
    (folder / "prereg.lock.json").write_text(_lock(folder, prereg, names, plan, rows).dumps())
    schedules = {cell.schedule.schedule_id: cell.schedule for cell in drawn}
    for row in open_rows(prereg, rows, folder)[0]:
        schedule = schedules[row.trial.schedule_id]
        arm = next(arm for arm in prereg.arms if arm.name == row.trial.arm)
        played = [_exact(at, schedule, arm) for at in play(row, schedule)]
        write_trial(folder, row.trial, played)
    _log(folder, len(Store(folder).files()))
    points = tuple(TaskPoints(suite="s", task_id=name, fault_points=POINTS) for name in names)
    return Ready(load(folder), Content(matrix=MATRIX, kinds=KINDS, tasks=points))


def _exact(at: At, schedule: FaultSchedule, arm: Arm) -> At:
    """What the toy leaves open: the arm's digest, and which fault it was that was delivered."""
    update = {}
    if isinstance(at.body, TrialStarted):
        update = {"arm_digest": arm.digest()}
    elif isinstance(at.body, UpstreamHit) and at.body.injection_id is not None:
        place = (MODEL, at.body.occurrence, at.attempt)
        event = next(e for e in schedule.events if (e.point, e.occurrence, e.attempt) == place)
        update = {"injection_id": event.injection_id}
    return at._replace(body=at.body.model_copy(update=update))


def _lock(
    folder: Path, prereg: Preregistration, names: tuple[str, ...], plan: str, rows: list[PlanRow]
) -> Lock:
    pin = SourcePin(
        suite="s", distribution="toy", version="1", content_digest="", tasks=names, task_digests={}
    )
    book = read_book(folder / "schedules")
    return Lock(
        prereg_digest=prereg.digest(),
        name=prereg.name,
        origin=prereg.origin,
        frozen_at=FROZEN_AT,
        harness_version=__version__,
        generator="hfr-sampled@1",
        sources=(pin,),
        matrix_digest=MATRIX.digest(),
        kinds_digest=digest({name: spec.model_dump(mode="json") for name, spec in KINDS.items()}),
        prices_digest="",
        schedules_digest=book.digest,
        plan_digest=text_digest(plan),
        schedules=len(book),
        trials=len(rows),
    )


def _log(folder: Path, ran: int) -> None:
    call = Invocation(
        at=RAN_AT, owner=OWNER, harness_version=__version__, sandbox="process", workers=1,
        durability="process",
    )  # fmt: skip
    append(folder, call)
    append(folder, call.model_copy(update={"end": "done", "ran": ran}))


# -- spoiling ---------------------------------------------------------------------------------


def trace(folder: Path, arm: str = "hfr", nth: int = 0) -> Path:
    """A trace of an arm."""
    return sorted(folder.glob(f"trials/*/r1/{arm}.jsonl"))[nth]


def replace(path: Path, old: str, new: str) -> None:
    """Replace the first of some text in a file, where it must be."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def reseal(folder: Path, *, chains: bool = True) -> None:
    """Make bundle.json (its chain ends, if asked to), manifest and statement anew, as a forger."""
    says = Bundle.loads((folder / BUNDLE).read_bytes())
    if chains:
        traces = {p.relative_to(folder).as_posix(): p for p in sorted(folder.glob("trials/**/*"))}
        ends = [chain_of(n, p.read_bytes()) for n, p in traces.items() if TRACE.fullmatch(n)]
        says = says.model_copy(update={"chains": tuple(ends)})
        (folder / BUNDLE).write_bytes(canonical_file(says.model_dump(mode="json")))
    digests = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (MANIFEST, STATEMENT)
    }
    made = manifest_of(digests)
    (folder / MANIFEST).write_bytes(made)
    said = statement_of(says, hashlib.sha256(made).hexdigest())
    (folder / STATEMENT).write_bytes(canonical_file(said))


def forge(folder: Path) -> Report:
    """All that a forger can make anew of what is in the folder: report, pages, claims, seals."""
    experiment = load(folder)
    made_of = Content.loads((folder / CONTENT).read_bytes())
    store, book = Store(folder), experiment.book
    report = analyse(
        experiment.prereg, experiment.lock, experiment.plan, store, book.schedule, made_of.kinds
    )
    report = with_review(report, experiment)
    drawn = (folder / HTML).is_file()
    for name, data in pages(report, experiment, drawn=drawn).items():
        (folder / name).write_bytes(data)
    checked = [store.check(file) for file in store.files()]
    damaged = sorted(str(line) for one in checked for line in (*one.bad, *one.breaks))
    said = Bundle.loads((folder / BUNDLE).read_bytes())
    says = describe(report, tuple(damaged)).model_copy(update={"archived": said.archived})
    (folder / BUNDLE).write_bytes(canonical_file(says.model_dump(mode="json")))
    reseal(folder)
    return report


def rechain(path: Path, edit: Callable[[list[dict[str, Any]]], None]) -> None:
    """Edit a trace's events, and link all of its lines anew."""
    events = [json.loads(line) for line in path.read_text().splitlines()]
    edit(events)
    prev, lines = "", []
    for event in events:
        line = json.dumps(event | {"prev": prev}, separators=(",", ":"))
        prev = hashlib.sha256(line.encode()).hexdigest()
        lines.append(line)
    path.write_text("".join(f"{line}\n" for line in lines))


def failed(path: Path, level: int = 3, expect: str | None = None) -> tuple[list[int], str]:
    """The levels at which a bundle fails, lowest first, and all that is said of it."""
    found = verify(path, level, expect)
    bad = [check for check in found.checks if check.ok is False]
    assert found.verified is not bool(bad)
    told = "; ".join(f"{check.check}: {check.detail}" for check in bad)
    return sorted({check.level for check in bad}), told
