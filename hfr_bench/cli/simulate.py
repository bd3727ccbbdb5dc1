"""`hfr-bench simulate`: the paper's synthetic study, on the very strategies of real runs."""

import os
from pathlib import Path
from typing import Any

import click

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.lab.synthetic.crowds import STUDIES
from hfr_bench.lab.synthetic.jobs import made_with
from hfr_bench.lab.synthetic.params import Rules, World
from hfr_bench.lab.synthetic.render import lines, paragraph
from hfr_bench.lab.synthetic.studies import Effort
from hfr_bench.lab.synthetic.tables import TABLES, Size, study


@click.command()
@click.argument("table", type=click.Choice([*TABLES, "all", "studies"]), default="all")
@click.option(
    "--rules",
    type=click.Choice(["literal", "paper"]),
    default="literal",
    show_default=True,
    help="paper: with the unstated rules that its numbers need.",
)
@click.option("--beside", is_flag=True, help="Play the other rules, too.")
@click.option("--seeds", type=click.IntRange(min=1), help="Default: the paper's.")
@click.option("--tasks", type=click.IntRange(min=1), help="Of a seed. Default: the paper's.")
@click.option(
    "--world",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Another world (as suites/synthetic/world.yaml).",
)
@click.option("-n", "--workers", type=click.IntRange(min=1), help="Processes. Default: all cores.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--only", type=click.Choice(list(STUDIES)), multiple=True, help="Of the studies.")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path, file_okay=False), help="Where studies go."
)
def simulate(**given: Any) -> int:
    """Play the paper's TABLE (12, 13, 14, 15, C1 or all) and hold it against its numbers.

    `studies`: where the paper's model is silent (retry storms, tenants, incidents, verifiers,
    queries that lie, prices): tables and figures, written to the folder of -o.

    Exit code 1: with --rules paper at full size, a cell is outside its band or an order is broken.
    """
    workers = given["workers"] or os.cpu_count() or 1
    if given["table"] == "studies":
        return _studies(given, workers)
    if given["only"] or given["out"]:
        raise click.UsageError("--only and -o are options of `simulate studies`")
    return _tables(given, workers)


def _tables(given: dict[str, Any], workers: int) -> int:
    rules: Rules = given["rules"]
    other: Rules = "literal" if rules == "paper" else "paper"
    path = given["world"]
    found = study(
        [one for one in TABLES if given["table"] in (one, "all")],
        rules,
        Size.of(given["seeds"], given["tasks"]),
        made_with(),
        workers=workers,
        base=None if path is None else content.read_record(path, World),
        beside=other if given["beside"] else None,
    )
    click.echo(found.dumps() if given["as_json"] else "\n".join(lines(found)))
    judged = rules == "paper" and found.size == Size() and path is None
    return int(judged and bool(found.outside or not all(r.holds for r in found.relations)))


def _studies(given: dict[str, Any], workers: int) -> int:
    out: Path | None = given["out"]
    effort = Effort(given["tasks"] or Effort().tasks, given["seeds"] or Effort().seeds, workers)
    found = [STUDIES[name](effort) for name in given["only"] or STUDIES]
    page = [
        "# Studies in the model world (synthetic)",
        "",
        made_with(),
        "",
        *(line for one in found for line in paragraph(one)),
    ]
    if given["as_json"]:
        click.echo("\n".join(one.dumps() for one in found))
    else:
        click.echo("\n".join(page))
    if out is not None:
        _write(out, found, page)
    return 0


def _write(out: Path, found: list[Any], page: list[str]) -> None:
    try:
        from hfr_bench.lab.synthetic.figures import drawn  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise BadInputError(
            "figures need matplotlib: pip install 'hfr-bench[report]', or leave -o out"
        ) from error
    out.mkdir(parents=True, exist_ok=True)
    for one in found:
        (out / f"{one.name}.svg").write_text(drawn(one), encoding="utf-8")
    (out / "studies.md").write_text("\n".join(page), encoding="utf-8")
