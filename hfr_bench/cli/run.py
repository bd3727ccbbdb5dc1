"""`hfr-bench run`: what the plan still lacks."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from hfr_bench.lab.execute import Progress, Summary
from hfr_bench.lab.execute import run as run_experiment
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
def run(folder: Path, workers: int) -> int:
    """Run the trials that FOLDER's plan still lacks; running it again resumes."""
    experiment = load(folder)
    with _progress() as show:
        summary = run_experiment(experiment, workers, show)
    click.echo(_told(summary, len(experiment.plan)))
    click.echo(f"next: hfr-bench report {folder}")
    return 1 if summary.dropped else 0


def _told(summary: Summary, planned: int) -> str:
    """One or two lines on what this call did."""
    if not summary.ran:
        text = f"complete: all {planned} trials were there already"
    else:
        text = f"ran {summary.ran} trials"
        if summary.already:
            text += f" ({summary.already} of {planned} were there already)"
        text += f"; {summary.voids} void"
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
