"""`hfr-bench table17`: the paper's plan of real experiments, and what was measured of it."""

import json
from pathlib import Path

import click

from hfr_bench.lab.table17 import METRICS17, SCRIPT, lines
from hfr_bench.model.registered import PENDING
from hfr_bench.stats.metrics import METRICS

HEADER = ("suite", "tasks", "faults", "models", "arm", "origin")


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def table17(folders: tuple[Path, ...], as_json: bool) -> None:
    """Table 17 of the paper, filled by the experiments in FOLDERS.

    Only complete, valid, live experiments fill a row; what nobody ran reads `pending`.
    """
    found = lines(folders)
    if as_json:
        rows = [line._asdict() | dict(zip(METRICS17, line.cells, strict=True)) for line in found]
        click.echo(json.dumps([{k: v for k, v in row.items() if k != "cells"} for row in rows]))
        return
    header = (*HEADER, *(METRICS[name].short for name in METRICS17))
    table = [header, *((*line[:-1], *line.cells) for line in found)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    for row in table:
        padded = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        click.echo("  ".join(padded).rstrip())
    click.echo(
        f"\n{PENDING}: nobody ran it. Shares in %, CPS in $, p95 in s, all fault rates together."
    )
    if any(line.origin == "rehearsal" for line in found):
        click.echo(f"{SCRIPT}: a rehearsal's success restates its script, and is no result.")
    if any(line.tasks.endswith("*") for line in found):
        click.echo("*: fewer tasks than the protocol asks for.")
