"""`hfr-bench replay`: a live experiment again, from the responses that it has recorded."""

from pathlib import Path

import click

from hfr_bench.cli.options import place, place_options
from hfr_bench.lab.execute import Options
from hfr_bench.lab.register import load
from hfr_bench.lab.replay import replay as replay_experiment

_SHOWN = 10


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), required=True, help="A new directory."
)
@click.option(
    "-n",
    "--workers",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Trials side by side.",
)
@place_options
def replay(
    folder: Path, out: Path, workers: int, sandbox: str | None, data_dir: tuple[str, ...]
) -> int:
    """Run FOLDER's live experiment again from its recorded responses: no key, no model.

    Exit code 0: every graded trial went the recorded way, but for time; 1: some did not, and which.
    """
    experiment = load(folder)
    suites = tuple(selection.suite for selection in experiment.prereg.suites)
    where = place(sandbox, data_dir, suites, folder)
    found = replay_experiment(experiment, out, Options(workers), where)
    click.echo(f"replayed: {found.same} of {found.of} trials went the recorded way")
    if found.misses:
        click.echo(f"  {found.misses} trial(s) asked for what is not recorded, and are voids")
    for line in found.parted[:_SHOWN]:
        click.echo(f"  parted: {line}")
    if len(found.parted) > _SHOWN:
        click.echo(f"  ... and {len(found.parted) - _SHOWN} more")
    click.echo(f"next: hfr-bench report {out}")
    return 1 if found.parted else 0
