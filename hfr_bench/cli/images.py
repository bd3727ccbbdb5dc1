"""`hfr-bench images`: build the container images of the suites ahead of the first run."""

import json
from pathlib import Path

import click

from hfr_bench import plugins
from hfr_bench.cli.options import place, place_options
from hfr_bench.lab.images import build_images


@click.command()
@click.argument("suites", nargs=-1)
@place_options
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def images(
    suites: tuple[str, ...], sandbox: str | None, data_dir: tuple[str, ...], as_json: bool
) -> None:
    """Build the container images of SUITES (none named: of all) that the engine lacks.

    A run does so by itself; this takes the minute beforehand, and says which image it will be.
    """
    suites = suites or tuple(plugins.offered("suites"))
    found = build_images(suites, place(sandbox, data_dir, suites, Path()))
    if as_json:
        click.echo(json.dumps([image._asdict() for image in found], indent=2))
        return
    for image in found:
        what = image.image_id or f"the sandbox {image.sandbox} needs no image"
        click.echo(f"{image.suite:10} {what}")
