"""`hfr-bench dataset`: the tasks of trials that went badly, as a registration of their own."""

from pathlib import Path
from typing import cast

import click

from hfr_bench.lab.dataset import Rule, choose, summary, write
from hfr_bench.lab.register import load
from hfr_bench.model.dataset import TROUBLES, Trouble


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "-o",
    "--output",
    "to",
    type=click.Path(path_type=Path, file_okay=False),
    help="A new folder for dataset.json and a prereg.yaml of these tasks.",
)
@click.option(
    "--trouble",
    "troubles",
    multiple=True,
    type=click.Choice(TROUBLES),
    default=Rule().troubles,
    show_default=True,
    help="What counts as having gone badly; may be given again.",
)
@click.option("--arm", "arms", multiple=True, help="Only trials of this arm; may be given again.")
@click.option(
    "--least",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Such trials that a task needs to be taken.",
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def dataset(
    folder: Path,
    to: Path | None,
    troubles: tuple[str, ...],
    arms: tuple[str, ...],
    least: int,
    as_json: bool,
) -> int:
    """The tasks of FOLDER's trials that failed or were escalated, ready to be registered.

    Without -o they are listed. Tasks chosen by how they went describe themselves alone, and part of
    their trouble was chance: the new registration says so.
    """
    experiment = load(folder)
    named = tuple(cast("Trouble", name) for name in TROUBLES if name in troubles)
    made = choose(experiment, Rule(named, arms, least))
    if to is not None:
        write(experiment, made, to)
    click.echo(made.model_dump_json(indent=2) if as_json else "\n".join(summary(made)))
    if to is not None:
        click.echo(f"next: edit {to / 'prereg.yaml'}, then `hfr-bench freeze {to}`", err=True)
    return 0
