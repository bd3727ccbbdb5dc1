"""`hfr-bench clean`: what a killed run has left, and nobody else's."""

import json
from pathlib import Path

import click

from hfr_bench.lab.clean import clean as clean_experiment


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def clean(folder: Path, as_json: bool) -> None:
    """Remove the containers, networks, volumes and processes that FOLDER's runs have left.

    Results stay, and so does everything of any other experiment.
    """
    found = clean_experiment(folder)
    if as_json:
        click.echo(json.dumps(found._asdict(), indent=2))
        return
    for name in found.removed:
        click.echo(f"removed {name}")
    if not found.removed:
        click.echo("nothing was left")
    for line in found.unasked:
        click.echo(f"not asked: {line}", err=True)
