"""`hfr-bench look`: the interim look that is due, as registered."""

from pathlib import Path

import click

from hfr_bench.lab.execute import check_owner
from hfr_bench.lab.interim import take
from hfr_bench.lab.register import check_content, load
from hfr_bench.lab.runlock import only_one


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="For programs: the line of looks.jsonl.")
def look(folder: Path, as_json: bool) -> int:
    """Take the look at FOLDER's experiment that is due, and write it down in looks.jsonl.

    Only under a registered `stopping_rule` of looks. Tells whether to stop, and no estimate.
    """
    experiment = load(folder)
    check_owner(experiment)
    kinds = check_content(experiment).kinds
    with only_one(folder):
        found = take(experiment, kinds)
    if as_json:
        click.echo(found.dumps())
        return 0
    crossed = ", ".join(found.crossed) or "none"
    click.echo(f"look {found.look} of {found.of}, {found.tasks} tasks, {found.trials} trials")
    click.echo(f"  |z| to reach: {found.bound:.3f}; claims that did: {crossed}")
    if found.stop:
        click.echo(f"STOP: every claim of the first family did\nnext: hfr-bench report {folder}")
    else:
        click.echo(f"go on\nnext: hfr-bench run {folder}")
    return 0
