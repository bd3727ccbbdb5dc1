"""An experiment as one archive that a sceptic can verify: everything that its numbers rest on.

The same experiment gives the same bytes: names are sorted, times fixed, and nothing of the machine
or the moment of bundling goes in. docs/bundle.md says what is inside.
"""

import hashlib
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from hfr_bench import content
from hfr_bench.errors import BadInputError, InvalidExperimentError
from hfr_bench.lab import canary, seal, seeds
from hfr_bench.lab.amending import PARENTS
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.looks import LOOKS
from hfr_bench.lab.offer import own_files
from hfr_bench.lab.pricing import PRICES
from hfr_bench.lab.register import (
    LOCK,
    PLAN,
    PREREG,
    SCHEDULES,
    TOKEN,
    TRIALS,
    Experiment,
    check_content,
    check_sources,
)
from hfr_bench.lab.rendering import render
from hfr_bench.lab.rendering.pages import describe, environment, pages
from hfr_bench.lab.review.summary import with_review
from hfr_bench.lab.runlock import only_one
from hfr_bench.lab.runlog import RUN_LOG
from hfr_bench.lab.scan import NAMED, Hit, Scanner
from hfr_bench.lab.store import Store
from hfr_bench.lab.wire import Bench, Place
from hfr_bench.model.bundle import Bundle, Chain, Content, TaskPoints
from hfr_bench.model.invocation import Invocation
from hfr_bench.model.prereg import EXHAUSTIVE, FORK
from hfr_bench.model.report import Report
from hfr_bench.model.task import OracleStep
from hfr_bench.ports.tape import CASSETTES

_SHOWN = 10
_CONTRACTS = ("suite.yaml", "tools.yaml")  # of a suite; its tasks and solutions stay at home
_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say

Entry = bytes | Path
Write = Callable[[str, bytes], None]


class Made(NamedTuple):
    """What was written: its name for the world (the manifest's digest), and how much."""

    bundle: Bundle
    digest: str
    files: int
    size: int


def gather(experiment: Experiment, place: Place | None = None) -> Content:
    """What the schedules were drawn from: suites are opened for it, nothing is run.

    Raises BadInputError if suite, kinds, matrix or prices are no longer what was frozen, and if a
    seed that was committed to is not at hand.
    """
    faults = check_content(experiment)
    prereg = experiment.prereg
    place = replace(place or Place(), folder=experiment.path)
    with Bench(prereg, experiment.book, place) as bench:
        check_sources(experiment, bench)
        along = prereg.faults.design in (EXHAUSTIVE, FORK)
        tasks = tuple(
            TaskPoints(
                suite=task.suite,
                task_id=task.task_id,
                source_digest=task.source_digest,
                fault_points=task.fault_points,
                oracle=tuple(
                    OracleStep(actor=step.actor, tool=step.tool)
                    for step in (bench.sealed(task.suite, task.task_id).oracle if along else ())
                ),
            )
            for task in bench.tasks.values()
        )
        told = seeds.revealed(prereg.suites, bench.suite)
    return Content(matrix=faults.matrix, kinds=dict(faults.kinds), tasks=tasks, seeds=told)


def bundle(
    experiment: Experiment,
    made_of: Content,
    out: Path,
    *,
    incomplete: bool = False,
    scanner: Scanner | None = None,
    more: Mapping[str, bytes] | None = None,
    cassettes: bool = False,
    drawn: bool = True,
) -> Made:
    """Write an experiment's bundle: a zip if `out` ends in .zip, else a directory.

    Args:
        experiment: frozen, and run.
        made_of: what its schedules were drawn from (`gather`).
        out: not there yet; a zip is replaced.
        incomplete: also if trials are lacking, or the experiment is not valid; the bundle says so.
        cassettes: with a live model's recorded responses, which hold its texts.
        drawn: with the HTML page, where its libraries are installed.
        scanner: None looks for secrets and for names of this machine.
        more: what a redacted bundle holds besides (`lab.redacting`).

    Raises InvalidExperimentError for an experiment that is incomplete or not valid, and for a
    secret (naming file, line and rule); BadInputError for an `out` that is in use.
    """
    scanner = scanner or this_machine(experiment)
    with only_one(experiment.path):
        report = analyse(
            experiment.prereg,
            experiment.lock,
            experiment.plan,
            Store(experiment.path),
            experiment.book.schedule,
            made_of.kinds,
        )
        report = with_review(report, experiment)
        if not incomplete and not (report.complete and report.valid):
            raise InvalidExperimentError(
                f"{experiment.path}: {render.verdict(report).rstrip('.')}. "
                "`hfr-bench report` says why; "
                "--incomplete bundles it all the same, and the bundle says so"
            )
        entries = _entries(experiment, made_of) | pages(report, experiment, drawn=drawn)
        entries |= dict(more or {})
        if cassettes:
            entries |= _below(experiment.path, experiment.path / CASSETTES, "*/*/*.jsonl")
        with _writing(out) as write:
            return _write_all(write, entries, _says(experiment, report), scanner)


def this_machine(
    experiment: Experiment,
    *,
    places: bool = True,
    named: bool = True,
    kept: Mapping[str, str] | None = None,
) -> Scanner:
    """Looks for this process's secrets and, with `places`, for paths and name of this machine.

    `named`: as for Scanner. `kept`: seeds by suite that the bundle does not tell.
    """
    folders = (experiment.path, content.root(), Path.home())
    fake = {canary.NAME: canary.value(experiment.lock.prereg_digest)}
    environ = os.environ | fake | seeds.secrets(kept or {})
    return Scanner(environ, folders if places else (), named=named)


def _says(experiment: Experiment, report: Report) -> Bundle:
    """What the bundle says of itself; the chains follow when the traces have been read."""
    store = Store(experiment.path)
    checked = [store.check(file) for file in store.files()]
    damaged = sorted(str(line) for one in checked for line in (*one.bad, *one.breaks))
    return describe(report, tuple(damaged))


def _entries(experiment: Experiment, made_of: Content) -> dict[str, Entry]:
    """Everything that goes in but for the report and the files that hold it together."""
    folder = experiment.path
    entries: dict[str, Entry] = {name: folder / name for name in (PREREG, LOCK, PLAN)}
    entries |= _below(folder, folder / SCHEDULES, "*.jsonl")
    entries |= _below(folder, folder / PARENTS, "*") | _below(folder, folder, TOKEN)
    entries |= _below(folder, folder, PRICES)
    entries |= {path.relative_to(folder).as_posix(): path for path in own_files(folder)}
    entries |= {n: p for n, p in _below(folder, folder / TRIALS, "**/*").items() if seal.known(n)}
    if (folder / LOOKS).is_file():
        entries[LOOKS] = folder / LOOKS
    ratings = _below(folder, folder / seal.REVIEWS, "*.jsonl")
    entries |= {name: path for name, path in ratings.items() if seal.known(name)}
    if (folder / RUN_LOG).is_file():
        entries[RUN_LOG] = _nameless((folder / RUN_LOG).read_bytes())
    for suite in sorted({selection.suite for selection in experiment.prereg.suites}):
        top = content.root() / "suites" / suite
        found = (top / name for name in _CONTRACTS)
        entries |= {f"content/suites/{suite}/{p.name}": p for p in found if p.is_file()}
    entries[seal.CONTENT] = seeds.written(made_of)
    entries[seal.ENVIRONMENT] = seal.canonical_file(environment().model_dump(mode="json"))
    return entries


def _below(top: Path, folder: Path, pattern: str) -> dict[str, Path]:
    return {p.relative_to(top).as_posix(): p for p in folder.glob(pattern) if p.is_file()}


def _nameless(log: bytes) -> bytes:
    """run.jsonl without hosts and process numbers: owners are numbered as they first come.

    A line that a dying process left half-written is left out: nobody reads it.
    """
    owners: dict[str, str] = {}
    lines = []
    for line in log.split(b"\n"):
        try:
            call = Invocation.loads(line)
        except ValidationError:
            continue
        owner = owners.setdefault(call.owner, f"process {len(owners) + 1}")
        lines.append(call.model_copy(update={"owner": owner}).dumps() + "\n")
    return "".join(lines).encode()


def _write_all(write: Write, entries: Mapping[str, Entry], says: Bundle, scanner: Scanner) -> Made:
    """Every file once: read, scanned, hashed, written; then what holds them together.

    Raises InvalidExperimentError if the scan hits anything.
    """
    digests: dict[str, str] = {}
    hits: list[Hit] = []
    chains: list[Chain] = []
    size = 0

    def put(name: str, data: bytes) -> None:
        nonlocal size
        hits.extend(seeds.scan(scanner, name, data))
        hits.extend(scanner.scan("a file's name", name.encode(errors="surrogateescape")))
        digests[name] = hashlib.sha256(data).hexdigest()
        size += len(data)
        write(name, data)

    for name in sorted(entries):
        entry = entries[name]
        data = entry if isinstance(entry, bytes) else entry.read_bytes()
        if seal.TRACE.fullmatch(name):
            chains.append(seal.chain_of(name, data))
        put(name, data)
    traces = {chain.path for chain in chains}
    archived = tuple(n for n in sorted(entries) if n.startswith("trials/") and n not in traces)
    says = says.model_copy(update={"archived": archived, "chains": tuple(chains)})
    put(seal.BUNDLE, seal.canonical_file(says.model_dump(mode="json")))
    manifest = seal.manifest(digests)
    digest = hashlib.sha256(manifest).hexdigest()
    write(seal.MANIFEST, manifest)
    write(seal.STATEMENT, seal.canonical_file(seal.statement(says, digest)))
    if hits:
        more = f" and {len(hits) - _SHOWN} more" if len(hits) > _SHOWN else ""
        if any(hit.rule in NAMED for hit in hits):
            more += " (--with-named allows passwords that are the benchmark's own)"
        raise InvalidExperimentError(
            "nothing was bundled, for it would give away: "
            f"{'; '.join(str(hit) for hit in hits[:_SHOWN])}{more}"
        )
    return Made(says, digest, len(digests) + len(seal.UNLISTED), size)


@contextmanager
def _writing(out: Path) -> Iterator[Write]:
    """Where files go: a zip or a directory, there under its name only once it is whole.

    Raises BadInputError if something is in the way.
    """
    packed = out.suffix == ".zip"
    if out.exists() and not (packed and out.is_file()):
        raise BadInputError(f"{out}: is there already; remove it, or name another")
    part = out.with_name(out.name + ".part")
    if part.exists():
        raise BadInputError(f"{part}: is in the way, left by a bundling that was killed; remove it")
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        if packed:
            with zipfile.ZipFile(part, "x", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
                yield lambda name, data: archive.writestr(_info(name), data)
        else:
            part.mkdir()
            yield lambda name, data: _write(part / name, data)
        part.replace(out)
    finally:
        if part.is_dir():
            shutil.rmtree(part)
        part.unlink(missing_ok=True)


def _info(name: str) -> zipfile.ZipInfo:
    """A member of the same bytes wherever it is written."""
    info = zipfile.ZipInfo(name, _TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
    info.external_attr = 0o100644 << 16
    return info


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
