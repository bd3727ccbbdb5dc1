"""A report as files that people and programs read, and what their bytes hang on."""

import hashlib
import platform
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import hfr_bench
from hfr_bench import __version__
from hfr_bench.lab import seal
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.rendering import render
from hfr_bench.lab.rendering.sides import sides
from hfr_bench.lab.store import Store
from hfr_bench.model.bundle import Bundle, Environment
from hfr_bench.model.report import Report

PACKAGES = ("numpy", "scipy", "pydantic", "rfc8785", "jinja2", "markupsafe")
"""Whose versions stand behind the digits, and the bytes, of the report."""

HTML = "report.html"
_CODE = (".py", ".html", ".css", ".js")


def pages(report: Report, experiment: Experiment, *, drawn: bool = True) -> dict[str, bytes]:
    """A report as the bundle's files; HTML only where its libraries are installed.

    `experiment`: the page shows some of its traces. `drawn`: HTML at all.

    Equal reports give equal bytes, given equal `PACKAGES`.
    """
    made = {
        seal.REPORT: render.to_json(report),
        "report.md": render.to_markdown(report),
        seal.README: _readme(report),
    }
    if drawn:
        with suppress(ImportError):
            from hfr_bench.lab.rendering.html import to_html  # noqa: PLC0415 - an extra

            plan, store = experiment.plan, Store(experiment.path)
            told = sides(report, plan, store, experiment.book.schedule)
            made[HTML] = to_html(report, told)
    return {name: text.encode() for name, text in made.items()}


@cache
def environment() -> Environment:
    """What makes a report here."""
    return Environment(
        harness_version=__version__,
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        system=platform.system(),
        machine=platform.machine(),
        packages={name: _version(name) for name in PACKAGES},
        code=code_digest(),
    )


@cache
def code_digest() -> str:
    """SHA-256 over what makes numbers and pages of traces: two states of one version differ."""
    whole = hashlib.sha256()
    package = Path(hfr_bench.__file__).parent  # not from here: this file may move
    for part in ("model", "faults", "stats", "lab"):
        for path in sorted(p for p in (package / part).rglob("*.*") if p.suffix in _CODE):
            whole.update(path.relative_to(package).as_posix().encode() + b"\0")
            whole.update(path.read_bytes())
    return whole.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def describe(report: Report, damaged: tuple[str, ...] = ()) -> Bundle:
    """What a report says of its experiment, as a bundle says it."""
    return Bundle(
        name=report.name,
        title=report.title,
        origin=report.origin,
        prereg_digest=report.prereg_digest,
        traces_digest=report.traces_digest,
        harness_version=__version__,
        complete=report.complete,
        valid=report.valid,
        trials_planned=report.trials_planned,
        trials_analysed=report.trials_analysed,
        control_trials=report.control_trials,
        groups_dropped=report.groups_dropped,
        damaged=damaged,
    )


def _readme(report: Report) -> str:
    well = report.complete and report.valid
    warning = "" if well else f"\n**{render.verdict(report)}**: believe no number in here.\n"
    return f"""\
# {report.title}

A bundle of HFR-Bench {__version__}: experiment `{report.name}`, origin **{report.origin}**.
{warning}
Verify it with HFR-Bench {__version__} (no engine, no key, no network):

    hfr-bench verify PATH          # the zip, or the directory that holds this file

or only that no file changed: `sha256sum -c {seal.MANIFEST}`.

| | |
|---|---|
| `prereg.yaml`, `prereg.lock.json` | what was registered before the run, and its digests |
| `parents/`, `prereg.lock.json.tsr` | what it amends; a timestamp; where there are |
| `prices.json` | the rows of the price table that a live model was charged by |
| `schedules/`, `plan.jsonl` | every planned fault and trial |
| `trials/` | the traces, as written; all numbers follow from them |
| `looks.jsonl` | the registered looks that were taken, if there are any |
| `cassettes/` | a live model's recorded responses, where they were asked for |
| `run.jsonl` | when it was run (hosts and process numbers taken out) |
| `reviews/` | what people said of a blinded sample, where they did |
| `report.json`, `report.md`, `report.html` | what came out |
| `kinds/`, `matrices/` | faults of the experiment's own, where it has some |
| `content.json`, `content/suites/` | fault kinds, matrix, fault points, seeds told; contracts |
| `bundle.json` | what this bundle says of itself, and the end of every hash chain |
| `environment.json` | what made the report |
| `redaction.json`, `redactions.jsonl` | what was taken out, where it was redacted |
| `{seal.MANIFEST}`, `statement.json` | digests of all files; an unsigned in-toto statement |
"""
