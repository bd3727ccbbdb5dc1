"""`hfr-bench images`: build the container images of the suites ahead of the first run."""

import json
from pathlib import Path
from typing import Any

import click

from hfr_bench import plugins
from hfr_bench.cli.options import place, place_options, settings_of, settings_option
from hfr_bench.lab.images import Wanted, build_images


@click.command()
@click.argument("suites", nargs=-1)
@place_options
@settings_option
@click.option("--task", "tasks", metavar="ID", multiple=True, help="Whose, if each has its own.")
@click.option("--pool", help="Whose, if each task has its own: a pool of the suite.")
@click.option(
    "--repos",
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Git mirrors to build tasks' images from, where no registry has them.",
)
@click.option(
    "--python",
    "pythons",
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Pythons to build them with, by version (3.9.18/bin/python3.9).",
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def images(
    suites: tuple[str, ...],
    sandbox: str | None,
    data_dir: tuple[str, ...],
    settings: tuple[str, ...],
    as_json: bool,
    **whose: Any,
) -> None:
    """Build the container images of SUITES (none named: of all) that the engine lacks.

    A run does so by itself; this takes the minute beforehand, and says which image it will be.
    Where every task has an image of its own (swe_bench), a run does not: name tasks here. Their
    images are pulled where a registry has them, and else built from --repos and --python.
    """
    wanted = Wanted(config=settings_of(settings), **whose)
    named = suites or tuple(plugins.offered("suites"))
    found = build_images(suites, place(sandbox, data_dir, named, Path()), wanted)
    if as_json:
        click.echo(json.dumps([image._asdict() for image in found], indent=2))
        return
    for image in found:
        what = image.image_id or f"the sandbox {image.sandbox} needs no image"
        click.echo(f"{image.task or image.suite:10} {what}")
