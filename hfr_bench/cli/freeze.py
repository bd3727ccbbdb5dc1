"""`hfr-bench freeze`: from here on the experiment may not change."""

from pathlib import Path

import click

from hfr_bench.cli.options import place, place_options
from hfr_bench.lab.register import freeze as freeze_experiment
from hfr_bench.lab.register import load_prereg


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@place_options
def freeze(folder: Path, sandbox: str | None, data_dir: tuple[str, ...]) -> None:
    """Validate FOLDER/prereg.yaml; write its lock, fault schedules and plan."""
    suites = tuple(selection.suite for selection in load_prereg(folder).suites)
    lock = freeze_experiment(folder, place(sandbox, data_dir, suites, folder))
    tasks = sum(len(source.tasks) for source in lock.sources)
    click.echo(f"frozen {lock.name} ({lock.origin}) as {lock.prereg_digest[:12]}")
    for source in lock.sources:
        click.echo(
            f"  suite {source.suite}: {len(source.tasks)} tasks of "
            f"{source.distribution} {source.version}"
        )
    click.echo(f"  {lock.trials} trials of {tasks} tasks, {lock.schedules} fault schedules")
    click.echo(f"  date: {lock.frozen_at} ({lock.timestamp_evidence})")
    for note in lock.notes:
        click.echo(f"  note: {note}")
    click.echo(f"next: hfr-bench run {folder}")
