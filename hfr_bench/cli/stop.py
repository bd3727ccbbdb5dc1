"""`hfr-bench stop`: the kill switch."""

from pathlib import Path

import click

from hfr_bench.lab.killswitch import stop as stop_run


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="So many seconds for the run to end; injection stops at once.",
)
def stop(folder: Path, wait_s: float) -> int:
    """Stop all injection in the run that is at work in FOLDER, and end that run.

    Nothing finished is lost; what was at work is not counted, and is run again by the next `run`.
    The same as `kill -USR1` of its process.
    """
    found = stop_run(folder, wait_s)
    if not found.pid:
        click.echo("no run is at work here: nothing is injected")
        return 0
    click.echo(f"injection is stopped (process {found.pid})")
    if not found.ended:
        click.echo("its run has not ended yet; it is cleaning up", err=True)
        return 3
    click.echo(f"the run has ended: what was finished is kept; next: hfr-bench run {folder}")
    return 0
