"""From an experiment or a bundle to a folder that is ready to be published; nothing is sent.

experiment or bundle -> redacted bundle (bundle/) -> tables and records (data/)
  -> card, checklist, Croissant, RO-Crate -> all texts scanned once more
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from hfr_bench.errors import BadInputError, InvalidExperimentError
from hfr_bench.lab import runlog, seal, seeds
from hfr_bench.lab.publishing import columns, linked, twin
from hfr_bench.lab.publishing.card import RECORDS, card
from hfr_bench.lab.publishing.checklist import Facts, Item, filled
from hfr_bench.lab.publishing.records import records
from hfr_bench.lab.redacting.experiment import bundle_redacted
from hfr_bench.lab.redacting.policy import licence as licence_of
from hfr_bench.lab.register import Experiment, load
from hfr_bench.lab.rendering import render
from hfr_bench.lab.scan import Scanner
from hfr_bench.lab.verification.read import opened
from hfr_bench.lab.verification.verify import verdict, verify
from hfr_bench.model.bundle import Content, Environment
from hfr_bench.model.redaction import Redacted
from hfr_bench.model.report import Report

BUNDLE, CHECKLIST = "bundle", "CHECKLIST.md"
_TEXTS = (".md", ".json", ".jsonl", ".yaml")


class Source(NamedTuple):
    """An experiment, what its schedules were drawn from, and its bundle if that is redacted."""

    experiment: Experiment
    content: Content
    redacted: Path | None = None


class How(NamedTuple):
    """How to publish. `licence`: "" = that of the suites, where they have one in common.

    `twin`: with the registration's synthetic twin (`lab.publishing.twin`).
    """

    key: bytes
    environ: Mapping[str, str]
    scanner: Scanner
    licence: str = ""
    repo: str = ""
    incomplete: bool = False
    twin: bool = False


class Published(NamedTuple):
    """What lies in the folder. `digest`: of the bundle's manifest; `about`: as metadata say it."""

    folder: Path
    files: tuple[linked.Held, ...]
    licence: str
    report: Report
    digest: str
    checklist: tuple[Item, ...]
    about: linked.About
    tables: tuple[columns.Table, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(held.size for held in self.files)


@contextmanager
def of_bundle(path: Path) -> Iterator[Source]:
    """What a bundle holds, laid out in a folder that is gone afterwards.

    Raises BadInputError if it is no bundle, InvalidExperimentError if its files were changed.
    """
    found = verify(path, 0)
    if not found.verified:
        raise InvalidExperimentError(f"{path}: {verdict(found)}")
    with _unpacked(path) as folder:
        made_of = Content.loads((folder / seal.CONTENT).read_bytes())
        redacted = folder if (folder / seal.REDACTED).is_file() else None
        yield Source(load(folder), made_of, redacted)


def publish(source: Source, out: Path, how: How) -> Published:
    """Make the folder.

    Raises BadInputError for an `out` that is in use; InvalidExperimentError for an experiment that
    is incomplete or not valid (unless `how.incomplete`), and for a secret.
    """
    if out.exists():
        raise BadInputError(f"{out}: is there already; remove it, or name another")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".hfr-publish-", dir=out.parent) as temporary:
        top = Path(temporary) / "made"
        top.mkdir()
        _bundle(source, top / BUNDLE, how)
        made = around(top, how)
        top.rename(out)
    return made._replace(folder=out)


def _bundle(source: Source, out: Path, how: How) -> None:
    """The redacted bundle, made or taken over."""
    if source.redacted is None:
        bundle_redacted(
            source.experiment,
            source.content,
            out,
            key=how.key,
            scanner=how.scanner,
            environ=how.environ,
            incomplete=how.incomplete,
        )
        return
    shutil.copytree(source.redacted, out)
    report = Report.loads((out / seal.REPORT).read_bytes())
    if not how.incomplete and not (report.complete and report.valid):
        raise InvalidExperimentError(f"{report.name}: {render.verdict(report)}; see --incomplete")
    _scan(out, sorted(path for path in out.rglob("*") if path.is_file()), how.scanner)


def around(top: Path, how: How) -> Published:
    """Everything beside the bundle, which lies in `top` already."""
    bundle = top / BUNDLE
    report = Report.loads((bundle / seal.REPORT).read_bytes())
    redacted = Redacted.loads((bundle / seal.REDACTED).read_bytes())
    by = Environment.loads((bundle / seal.ENVIRONMENT).read_bytes())
    with _unpacked(bundle) as folder:
        experiment = load(folder)
        made_of = Content.loads((folder / seal.CONTENT).read_bytes())
        tables = columns.write(experiment, made_of, top / "data")
        with (top / RECORDS).open("wb") as file:
            file.writelines(records(experiment, made_of, by))
        items = filled(Facts(experiment, report, redacted))
        date, runs = experiment.lock.frozen_at, runlog.lines(folder)
        began = min((run.at for run in runs), default="")
        if how.twin:
            twin.write(experiment, top / twin.FOLDER)
    licence = how.licence or _common(redacted.texts)
    digest = hashlib.sha256((bundle / seal.MANIFEST).read_bytes()).hexdigest()
    text = card(report, tables, items, licence=licence, manifest=digest, texts=redacted.texts)
    (top / "README.md").write_text(text, encoding="utf-8")
    (top / CHECKLIST).write_text(_checklist(items), encoding="utf-8")
    said = (report.name, report.title, _about(report))
    about = linked.About(*said, date, licence, how.repo, began)
    link(top, about, tables)
    paths = sorted(path for path in top.rglob("*") if path.is_file())
    texts = [path for path in paths if path.suffix in _TEXTS and bundle not in path.parents]
    _scan(top, texts, how.scanner)
    held = tuple(linked.held(top, path) for path in paths)
    return Published(top, held, licence, report, digest, items, about, tables)


def link(top: Path, about: linked.About, tables: Sequence[columns.Table]) -> None:
    """croissant.json and ro-crate-metadata.json, over all that is there but the traces."""
    traces = top / BUNDLE / "trials"
    paths = sorted(p for p in top.rglob("*") if p.is_file() and traces not in p.parents)
    held = [linked.held(top, path) for path in paths]
    made = {
        linked.CROISSANT: linked.croissant(about, held, tables),
        linked.CRATE: linked.crate(about, held),
    }
    for name, value in made.items():
        text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
        (top / name).write_text(text, encoding="utf-8")


def _common(suites: Mapping[str, str]) -> str:
    """The one licence of all suites, else `other`."""
    found = {licence_of(suite).lower() for suite in suites}
    return found.pop() if len(found) == 1 and "unknown" not in found else "other"


def _about(report: Report) -> str:
    return (
        f"{report.title}: {report.trials_analysed} trials of {len(report.arms)} recovery "
        f"strategies under preregistered faults (HFR-Bench, origin {report.origin})."
    )


def _checklist(items: Sequence[Item]) -> str:
    lines = (f"- {item.answer}: {item.asked}. {item.fact} (`{item.where}`)" for item in items)
    return "\n".join(["# Checklist", "", *lines, ""])


def _scan(top: Path, paths: Sequence[Path], scanner: Scanner) -> None:
    """Raises InvalidExperimentError for the first files that would give something away."""
    hits = [
        str(hit)
        for path in paths
        for hit in seeds.scan(scanner, path.relative_to(top).as_posix(), path.read_bytes())
    ]
    names = "\n".join(path.relative_to(top).as_posix() for path in paths)
    hits += [str(hit) for hit in scanner.scan("a file's name", names.encode())]
    if hits:
        raise InvalidExperimentError(f"nothing was published, for: {'; '.join(hits[:10])}")


@contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    """A bundle's files in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="hfr-publish-") as temporary, opened(path) as files:
        folder = Path(temporary).resolve()
        for name in files.names:
            if seal.known(name):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(files.read(name))
        yield folder
