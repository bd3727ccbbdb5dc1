"""`hfr-bench index`: bring the index of an experiment up to date, for questions in SQL."""

import json
from pathlib import Path

import click

from hfr_bench.errors import InfrastructureError
from hfr_bench.lab.database import FILE, Unusable, compact, unusable
from hfr_bench.lab.index import gather
from hfr_bench.lab.ingest import Ingest
from hfr_bench.lab.register import check_content, load
from hfr_bench.lab.store import Store


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--compact", "compacted", is_flag=True, help="Copy all trace lines into Parquet, too."
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def index(folder: Path, compacted: bool, as_json: bool) -> int:
    """Bring FOLDER's hfr.duckdb up to date: `trial`, a row a trial; `event`, a row a trace line.

    Made of the traces alone; deleting it (or parquet/) loses nothing. `report` and `status` keep
    it up to date by themselves.
    """
    experiment = load(folder)
    kinds = check_content(experiment).kinds
    store = Store(folder, indexed=True)
    facts = gather(store, Ingest(experiment.prereg, experiment.plan, experiment.book.like, kinds))
    if store.said:
        raise InfrastructureError("; ".join(store.said))
    told: dict[str, object] = {
        "index": str(folder / FILE),
        "trials": len(facts),
        "whole": sum(one.checked.result is not None for one in facts),
        "bad_lines": [str(line) for one in facts for line in one.flaws],
    }
    if compacted:
        try:
            told |= compact(folder)._asdict()
        except Unusable as error:
            raise InfrastructureError(f"{folder / FILE}: {unusable(error)}") from error
    click.echo(json.dumps(told, indent=2) if as_json else _text(told))
    return 0


def _text(told: dict[str, object]) -> str:
    lines = [f"{told['index']}: {told['trials']} trial files, {told['whole']} of them whole"]
    if "parts" in told:
        lines.append(
            f"  {told['files']} of them in {told['parts']} Parquet files; {told['left']} stay JSONL"
        )
    bad = told["bad_lines"]
    assert isinstance(bad, list)
    return "\n".join([*lines, *(f"  unreadable: {line}" for line in bad)])
