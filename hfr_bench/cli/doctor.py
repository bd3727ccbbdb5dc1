"""`hfr-bench doctor`: what this machine can run, and how to get the rest."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import click

from hfr_bench.errors import InfrastructureError
from hfr_bench.lab.doctor import NEEDED, Finding, can_run, examine

MARKS = {True: "ok", False: "NO", None: "-"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def doctor(as_json: bool) -> int:
    """Look at what this machine can run. Ends with 3 unless a sandbox and a suite work."""
    findings = examine(Path())
    fit = can_run(findings)
    if as_json:
        rows = [finding._asdict() for finding in findings]
        click.echo(json.dumps({"can_run": fit, "findings": rows}, indent=2))
    else:
        click.echo("\n".join(_lines(findings, fit)))
    return 0 if fit else InfrastructureError.exit_code


def _lines(findings: Sequence[Finding], fit: bool) -> Iterator[str]:
    width = max(len(finding.name) for finding in findings)
    for group, rows in groupby(findings, key=lambda finding: finding.group):
        yield group
        for row in rows:
            first, *more = row.found.splitlines() or [""]
            yield f"  {MARKS[row.ok]:3} {row.name:{width}}  {first}".rstrip()
            yield from (f"      {'':{width}}  {line}" for line in more)
            if row.advice:
                yield f"      {'':{width}}  -> {row.advice}"
    yield ""
    yield (
        "this machine can run experiments"
        if fit
        else f"this machine CANNOT run experiments: one each must work of {' and '.join(NEEDED)}"
    )
