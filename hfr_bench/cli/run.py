"""`hfr-bench run`: what the plan still lacks."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import click

from hfr_bench.cli.options import min_valid_option, place, place_options, tell
from hfr_bench.lab.execute import Options, Progress, Summary
from hfr_bench.lab.execute import run as run_experiment
from hfr_bench.lab.journal import Durability
from hfr_bench.lab.looks import ended
from hfr_bench.lab.register import load

PLAIN_EVERY = 10  # per cent between two lines where there is no terminal


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "-n",
    "--workers",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Trials side by side.",
)
@click.option(
    "--max-cost-usd",
    type=click.FloatRange(min=0, min_open=True),
    help="Start no trial that could take the whole experiment's cost past this; "
    "what is complete by then is kept, and the report names the stop.",
)
@min_valid_option
@click.option(
    "--durability",
    type=click.Choice(["process", "power"]),
    default="process",
    show_default=True,
    help="What a trace survives at any moment: the death of a process, or of the power.",
)
@click.option(
    "--no-record",
    is_flag=True,
    help="Do not keep a live model's responses (DIR/cassettes), which a replay needs.",
)
@place_options
def run(
    folder: Path,
    workers: int,
    max_cost_usd: float | None,
    min_valid: float,
    durability: Durability,
    no_record: bool,
    sandbox: str | None,
    data_dir: tuple[str, ...],
) -> int:
    """Run the trials that FOLDER's plan still lacks; running it again resumes."""
    experiment = load(folder)
    suites = tuple(selection.suite for selection in experiment.prereg.suites)
    where = replace(place(sandbox, data_dir, suites, folder), record=not no_record)
    if where.sandbox and where.sandbox != experiment.prereg.sandbox:
        tell(f"sandbox: {where.sandbox} (registered: {experiment.prereg.sandbox})")
    with _progress() as show:
        options = Options(workers, max_cost_usd, durability, show)
        summary = run_experiment(experiment, options, where)
    click.echo(_told(summary))
    if summary.due:
        click.echo(f"{summary.due} is due\nnext: hfr-bench look {folder}")
        return 0
    click.echo(f"next: hfr-bench report {folder}")
    return 0 if summary.valid >= min_valid or ended(folder) else 1


def _told(summary: Summary) -> str:
    """A few lines on what this call did."""
    planned = summary.planned
    if not summary.ran and not summary.stopped:
        text = f"complete: all {planned} trials were there already"
    else:
        text = f"ran {summary.ran} trials"
        if summary.already:
            text += f" ({summary.already} of {planned} were there already)"
        text += f"; {summary.voids} void"
    if summary.stopped:
        text += (
            f"\nstopped early, {summary.graded} of {planned} trials graded: {summary.stopped}; "
            "run again with a higher bound to go on"
        )
    if summary.reaped:
        text += f"\nremoved what a killed run had left: {', '.join(summary.reaped)}"
    if summary.dropped:
        text += (
            f"\n{summary.dropped} pair group(s) stayed void in every round and are dropped; "
            "the report counts them"
        )
    return text


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None]]:
    """A bar on a terminal, a line now and then elsewhere. Blinded: no arm, no outcome."""
    if sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield _Lines()


class _Lines:
    """Plain progress: a line every so many per cent."""

    def __init__(self) -> None:
        self._told = 0

    def __call__(self, progress: Progress) -> None:
        share = 100 * progress.done // max(1, progress.total)
        if share >= self._told + PLAIN_EVERY or progress.done == progress.total:
            self._told = share
            text = f"{progress.done}/{progress.total} trials ({share} %), {progress.voids} void"
            with suppress(BrokenPipeError):  # nobody reads it any more; the run goes on
                click.echo(text, err=True)


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415 - only where there is a terminal
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as RichProgress  # noqa: PLC0415

    columns = (
        TextColumn("trials"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[voids]} void"),
    )
    with RichProgress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("trials", total=None, voids=0)

        def show(progress: Progress) -> None:
            bar.update(task, completed=progress.done, total=progress.total, voids=progress.voids)

        yield show
