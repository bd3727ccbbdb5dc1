"""`hfr-bench status`: blinded progress and the delivery audit."""

from pathlib import Path

import click

from hfr_bench import content
from hfr_bench.lab.register import check_content, load
from hfr_bench.lab.status import Status
from hfr_bench.lab.status import status as read_status


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def status(folder: Path, as_json: bool) -> int:
    """How far FOLDER's experiment is, and whether its faults arrive. Shows no arm's outcome."""
    experiment = load(folder)
    check_content(experiment)
    found = read_status(experiment, content.kinds())
    click.echo(found.model_dump_json(indent=2) if as_json else _text(found))
    return 0 if found.delivered else 1


def _text(found: Status) -> str:
    voids = sum(found.voids.values())
    lines = [
        f"{found.name} ({found.origin}), registration {found.prereg_digest[:12]}",
        f"  {found.graded} of {found.planned} trials graded, {found.lacking} to run, {voids} void",
    ]
    lines += [f"  void, {cause}: {count}" for cause, count in found.voids.items()]
    lines.append("  delivery (all arms together):")
    for row in found.delivery:
        mark = "" if row.delivered == row.reached else "   <- NOT ALL DELIVERED: invalid"
        lines.append(f"    {row.kind:24} {row.delivered} of {row.reached} reached{mark}")
    if not found.delivery:
        lines.append("    no fault was reached yet")
    lines += [f"  unreadable: {line}" for line in found.bad_lines]
    lines += [f"  index: {line}" for line in found.index]
    return "\n".join(lines)
