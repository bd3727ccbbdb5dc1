"""`hfr-bench export`: an experiment's trials in the forms that other tools read."""

import os
from pathlib import Path

import click

from hfr_bench.lab.exports.write import FORMS
from hfr_bench.lab.exports.write import export as write
from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.register import load

_NEXT = {
    "atif": "validate one: python -m harbor.utils.trajectory_validator FILE",
    "inspect": "look at them: inspect view --log-dir {to}",
    "otel": "each line is a request of OTLP/HTTP's: POST it to a collector's /v1/traces",
}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--as",
    "form",
    required=True,
    type=click.Choice(list(FORMS)),
    help="Harbor ATIF 1.8, Inspect AI's .eval, or OpenTelemetry's OTLP/JSON.",
)
@click.option(
    "-o",
    "--output",
    "to",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="A new folder for them.",
)
@click.option("--arm", "arms", multiple=True, help="Only this arm; may be given again.")
def export(folder: Path, form: str, to: Path, arms: tuple[str, ...]) -> int:
    """FOLDER's trials, in a form that another tool reads.

    The rounds that count, without controls. Texts are not in traces: digests stand for them.
    Faults, decisions, effects and origin go where the form keeps what is its user's own.
    """
    done = write(load(folder), form, to, Redactor(os.environ), arms)
    click.echo(f"{done.trials} trials in {done.files} file{'s' * (done.files != 1)}: {to}")
    click.echo(_NEXT[form].format(to=to), err=True)
    return 0
