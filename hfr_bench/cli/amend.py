"""`hfr-bench amend`: a registration that follows a frozen one, and says what had been seen."""

from pathlib import Path

import click

from hfr_bench.lab.amending import amend as amend_registration
from hfr_bench.lab.register import load


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--reason", required=True, help="Why; every reader of the report is told.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The new directory; default: FOLDER-amended.",
)
def amend(folder: Path, reason: str, output: Path | None) -> None:
    """Write a child of the frozen registration in FOLDER, to be edited and frozen.

    Hypotheses that it changes after trials were seen are exploratory.
    """
    experiment = load(folder)
    out = output or folder.resolve().with_name(f"{folder.resolve().name}-amended")
    seen = amend_registration(experiment.prereg, experiment.lock, folder, out, reason)
    click.echo(f"wrote {out / 'prereg.yaml'}: amends {experiment.lock.prereg_digest[:12]}")
    click.echo(f"  {seen} finished trials had been seen by now")
    click.echo(f"next: edit it, then `hfr-bench freeze {out}`")
