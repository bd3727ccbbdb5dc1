"""`hfr-bench validate`: is a suite fit to be registered?"""

import sys
from collections import defaultdict
from pathlib import Path

import click

from hfr_bench.cli.options import place, place_options, settings_of, settings_option
from hfr_bench.lab.validate import SuiteCheck, TaskCheck
from hfr_bench.lab.validate import validate as check_suite
from hfr_bench.lab.wire import open_suite
from hfr_bench.model.prereg import SuiteSelection


@click.command()
@click.argument("suite")
@click.option("--pool", default="base", show_default=True, help="Which tasks.")
@click.option("--task", "tasks", metavar="ID", multiple=True, help="These tasks, no pool.")
@settings_option
@place_options
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def validate(
    suite: str,
    pool: str,
    tasks: tuple[str, ...],
    settings: tuple[str, ...],
    sandbox: str | None,
    data_dir: tuple[str, ...],
    as_json: bool,
) -> int:
    """Try SUITE's controls on every task, and every tool's side-effect level, for real."""
    where = place(sandbox, data_dir, (suite,), Path())
    chosen = SuiteSelection(suite=suite, pool=None if tasks else pool, tasks=tasks)
    with open_suite(suite, where, config=settings_of(settings)) as (opened, _):
        found = check_suite(opened, chosen, _show)
    click.echo(found.model_dump_json(indent=2) if as_json else _text(found))
    return 1 if found.problems else 0


def _show(done: int, total: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{done}/{total} tasks", nl=done == total, err=True)


def _text(found: SuiteCheck) -> str:
    domains: dict[str, list[TaskCheck]] = defaultdict(list)
    for row in found.tasks:
        domains[row.domain].append(row)
    lines = [f"{found.suite}: {len(found.tasks)} tasks of {found.source}", "", "controls"]
    for domain, rows in domains.items():
        oracle = sum(row.oracle == 1.0 for row in rows)
        wanting = [row for row in rows if row.changes]
        nop = sum(row.nop == 0.0 for row in wanting)
        lines.append(
            f"  {domain:10} oracle 1.0 on {oracle}/{len(rows)}; "
            f"nop 0 on {nop}/{len(wanting)} tasks whose solution changes the world"
        )
    lines += ["", "tools: level, and what a repeat did at the oracle's calls"]
    for tool in found.tools:
        repeats = (
            f"changed {tool.changed}, error {tool.error}, nothing {tool.nothing}"
            if tool.level.writes
            else "never changed the world"
        )
        tried = f"{tool.sites} calls: {repeats}" if tool.verdict != "declared" else "not tried"
        name = f"{tool.domain}.{tool.tool}"
        lines.append(f"  {name:45} {tool.level}  {tool.verdict:9} {tried}")
        answers = ", ".join(f"{what} {n}" for what, n in tool.reconciled.items())
        if answers:
            lines.append(f"  {'':45}     reconcile: {answers}")
    if found.untried:
        shown = ", ".join(found.untried[:5]) + (", ..." if len(found.untried) > 5 else "")
        lines += ["", f"not tried, since nobody knows a solution: {len(found.untried)} ({shown})"]
    lines += ["", *(f"PROBLEM {text}" for text in found.problems)]
    lines.append("fit to be registered" if not found.problems else "NOT fit to be registered")
    return "\n".join(lines)
