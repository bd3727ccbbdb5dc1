"""`hfr-bench compare`: two arms over the same tasks, seeds and faults."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap

import click
from rich.console import Console
from rich.text import Text

from hfr_bench.cli.noting import note_look
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.compare import compare as compared
from hfr_bench.lab.compare import graded
from hfr_bench.lab.register import check_content, load
from hfr_bench.lab.rendering.cells import difference, head, percent
from hfr_bench.lab.store import Store
from hfr_bench.model.comparison import Comparison, Discordant, Side
from hfr_bench.model.report import Report
from hfr_bench.model.task import task_name

WIDTH = 98


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.argument("arm")
@click.argument("against")
@click.option("--rate", type=float, help="One fault rate (0.2); default: all above 0 together.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def compare(folder: Path, arm: str, against: str, rate: float | None, as_json: bool) -> int:
    """ARM minus AGAINST in FOLDER's experiment: which trials differ, by how much, what they met."""
    experiment = load(folder)
    faults = check_content(experiment)
    store = Store(folder)
    report = analyse(
        experiment.prereg,
        experiment.lock,
        experiment.plan,
        store,
        experiment.book.schedule,
        faults.kinds,
    )
    note_look(experiment, report)
    found = compared(experiment, report, graded(experiment, store), arm, against, rate)
    if as_json:
        click.echo(found.dumps())
    else:
        _print(found, report)
    return 0 if found.valid else 1


def _print(found: Comparison, report: Report) -> None:
    """On a terminal the headings stand out; elsewhere it is plain text."""
    console = Console(highlight=False, soft_wrap=True)
    for style, line in lines(found, report):
        console.print(Text(line, style=style))


def lines(found: Comparison, report: Report) -> Iterator[tuple[str, str]]:
    """The comparison as (style, line)."""
    where = "all rates above 0" if found.rate is None else f"{percent(found.rate)} faults"
    yield "bold", f"{found.arm} against {found.against}, {where} ({found.origin})"
    if not found.valid:
        yield "bold red", "INVALID: see `hfr-bench report`. Do not use the numbers."
    if not found.complete:
        yield "yellow", "INCOMPLETE: only pair groups that are complete in all arms are compared."
    yield (
        "",
        f"{found.title}: {found.pairs} pairs of {found.tasks} tasks, {found.level:.0%} intervals",
    )
    yield "", ""
    yield "bold", "Success"
    yield "", f"  both {found.both}, neither {found.neither}"
    yield from _listed(f"  only {found.arm}: {len(found.won)}", found.won)
    yield from _listed(f"  only {found.against}: {len(found.lost)}", found.lost)
    yield "", ""
    yield "bold", f"Harm differs in {len(found.harm)} pairs"
    yield from _listed("", found.harm)
    yield "", ""
    yield "bold", f"Differences, {found.arm} minus {found.against}"
    yield from _differences(found, report)
    yield "", ""
    yield "bold", "Faults met"
    for met in found.exposure:
        yield "", f"  {met.arm}: {met.reached} in {met.trials} trials, {met.delivered} delivered"


def _listed(title: str, pairs: Sequence[Discordant]) -> Iterator[tuple[str, str]]:
    """Each pair on a line, and below it how both trials ended and by which id `show` knows them."""
    if title:
        yield "", title
    for pair in pairs:
        where = f"{task_name(pair.suite, pair.task_id)}, seed {pair.seed}, {percent(pair.rate)}"
        folded = wrap(where, WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 6)
        yield from (("", line) for line in folded)
        yield "dim", f"      {_side(pair.ours)} | {_side(pair.theirs)}"


def _side(side: Side) -> str:
    named = ("duplicate", side.duplicates), ("unwanted", side.unwanted), ("partial", side.partial)
    harm = "".join(f", {n} {word}" for word, n in named if n)
    return f"{side.trial_id[:8]} {side.end}{harm}"


def _differences(found: Comparison, report: Report) -> Iterator[tuple[str, str]]:
    for one in found.differences:
        shown = difference(one)
        name = head(one.metric, report).replace("%", "pp")
        bounds = f"[{shown.extra}]" if one.low is not None else shown.extra
        yield "", f"  {name:22} {shown.main:>22}  {bounds}".rstrip()
    yield (
        "dim",
        "  pp: percentage points; (a:b): pairs in which only the first, only the second has it",
    )
