"""Table 17 of the paper: what is planned of each suite, and what was measured of it, if anything.

A cell is filled by a live experiment that is complete and valid, and by nothing else; rehearsals
stand in rows of their own, without the numbers that only restate their script.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.register import RESTATING, Experiment, check_content, load
from hfr_bench.lab.rendering.cells import cell, percent
from hfr_bench.lab.store import Store
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.registered import PENDING
from hfr_bench.model.report import POOLED, Report
from hfr_bench.model.terms import Origin

METRICS17 = ("sr", "csr", "scr", "cps", "p95", "dup_1000")
SCRIPT = "script"
"""In place of a rehearsal's number that its script decides."""


class Line(NamedTuple):
    """An arm of a row. `cells`: by metric of METRICS17, rates above 0 together; or `pending`."""

    suite: str
    tasks: str
    rates: str
    models: str
    arm: str
    origin: str
    cells: tuple[str, ...]


def planned() -> dict[str, Preregistration]:
    """The shipped registrations by suite, in the paper's order."""
    return {
        suite: content.read_record(path, Preregistration)
        for suite, path in content.table17().items()
    }


def lines(folders: Iterable[Path]) -> tuple[Line, ...]:
    """The table, with what these experiments measured.

    Raises BadInputError for an experiment of another suite, or of several.
    """
    rows = planned()
    found: dict[str, list[tuple[Experiment, Report]]] = {suite: [] for suite in rows}
    for folder in folders:
        experiment = load(folder)
        suites = {selection.suite for selection in experiment.prereg.suites}
        if len(suites) != 1 or not suites <= set(rows):
            raise BadInputError(
                f"{folder}: is of {', '.join(sorted(suites))}; a row of table 17 is of one of "
                f"{', '.join(rows)}"
            )
        found[suites.pop()].append((experiment, _report(experiment)))
    made: list[Line] = []
    for suite, prereg in rows.items():
        live = [one for one in found[suite] if one[1].origin is Origin.LIVE]
        if not live:
            made += _pending(suite, prereg)
        for experiment, report in (*live, *(one for one in found[suite] if one not in live)):
            made += _measured(suite, experiment, report)
    return tuple(made)


def _report(experiment: Experiment) -> Report:
    kinds = check_content(experiment).kinds
    store = Store(experiment.path, indexed=True)
    frozen = experiment.prereg, experiment.lock, experiment.plan
    return analyse(*frozen, store, experiment.book.like, kinds)


def _pending(suite: str, prereg: Preregistration) -> list[Line]:
    sample = prereg.suites[0].sample
    tasks = str(sample.n) if sample else PENDING
    cells = (PENDING,) * len(METRICS17)
    return [
        Line(suite, tasks, _rates(prereg.faults.rates), _models(prereg), arm.name, PENDING, cells)
        for arm in prereg.arms
    ]


def _measured(suite: str, experiment: Experiment, report: Report) -> list[Line]:
    """One line an arm; `pending` in all cells while trials lack, or if it is not valid."""
    estimates = {(e.metric, e.arm): e for e in report.estimates if e.pool == POOLED}
    rehearsal = report.origin is not Origin.LIVE
    tasks = f"{report.tasks}*" if report.below_protocol else str(report.tasks)
    made = []
    for arm in report.arms:
        cells = []
        for metric in METRICS17:
            if not (report.complete and report.valid):
                cells.append(PENDING)
            elif rehearsal and metric in RESTATING:
                cells.append(SCRIPT)
            else:
                found = cell(estimates.get((metric, arm)))
                cells.append(f"{found.main} [{found.extra}]" if found.extra else found.main)
        shown = _rates(report.rates), _models(experiment.prereg)
        made.append(Line(suite, tasks, *shown, arm, report.origin.value, tuple(cells)))
    return made


def _rates(rates: Sequence[float]) -> str:
    return "/".join(percent(rate).replace(" ", "") for rate in rates if rate > 0)


def _models(prereg: Preregistration) -> str:
    return ", ".join(dict.fromkeys(filter(None, (prereg.model.agent, prereg.model.backup))))
