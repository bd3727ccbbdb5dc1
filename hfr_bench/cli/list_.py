"""`hfr-bench list`: what there is."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from hfr_bench import content, plugins
from hfr_bench.cli.options import place, place_options
from hfr_bench.lab.offer import all_kinds
from hfr_bench.lab.wire import Place, open_suite
from hfr_bench.model.prereg import SuiteSelection

Row = dict[str, str]
PLUGS = tuple(group for group in plugins.GROUPS if group != "injectors")


@click.command("list")
@click.argument("what", type=click.Choice([*PLUGS, "injectors", "faults", "mixes", "tasks"]))
@click.argument("suite", required=False)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@place_options
def list_(
    what: str, suite: str | None, as_json: bool, sandbox: str | None, data_dir: tuple[str, ...]
) -> None:
    """List WHAT there is; `list tasks SUITE` lists a suite's tasks."""
    name = suite or "tau2"
    special: dict[str, Callable[[], Iterator[Row]]] = {
        "faults": _faults,
        "mixes": _mixes,
        "tasks": lambda: _tasks(name, place(sandbox, data_dir, (name,), Path())),
    }
    rows = list(special[what]() if what in special else _plugs(what))
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        first, *rest = row.values()
        click.echo(f"{first:26} {'  '.join(rest)}".rstrip())


def _plugs(group: str) -> Iterator[Row]:
    for name, point in plugins.offered(group).items():
        text = (point.load().__doc__ or "").strip().splitlines()
        yield {"name": name, "what": text[0] if text else "", "from": plugins.origin_of(point)}


def _faults() -> Iterator[Row]:
    for kind, whose in all_kinds().values():
        manner = "silent" if kind.silent else "explicit"
        row = {"name": kind.kind, "layer": kind.layer.value, "manner": manner, "what": kind.title}
        yield row | {"from": whose}


def _mixes() -> Iterator[Row]:
    for name, mix in content.mixes().items():
        source = mix.source
        origin = f"{source.title} ({source.year}, {source.id})" if source else ""
        yield {"name": name, "what": mix.title, "source": origin}


def _tasks(name: str, where: Place) -> Iterator[Row]:
    with open_suite(name, where) as (suite, _):
        for task in suite.select(SuiteSelection(suite=name, pool="base")):
            yield {"task_id": task.task_id, "stratum": task.stratum}
