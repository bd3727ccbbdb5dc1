"""`hfr-bench status`: blinded progress and the delivery audit."""

from collections.abc import Iterator
from pathlib import Path

import click

from hfr_bench.lab.register import check_content, load
from hfr_bench.lab.status import KindDelivery, Status
from hfr_bench.lab.status import status as read_status
from hfr_bench.model.report import AuditRow

_SUMS = ("scheduled", "reached", "delivered", "masked", "not reached")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--arms", is_flag=True, help="The delivery audit of every kind in every arm, too.")
def status(folder: Path, as_json: bool, arms: bool) -> int:
    """How far FOLDER's experiment is, and whether its faults arrive. Shows no arm's outcome."""
    experiment = load(folder)
    found = read_status(experiment, check_content(experiment).kinds)
    click.echo(found.model_dump_json(indent=2) if as_json else "\n".join(_text(found, arms=arms)))
    return 0 if found.delivered else 1


def _text(found: Status, *, arms: bool) -> Iterator[str]:
    voids = sum(found.voids.values())
    yield f"{found.name} ({found.origin}), registration {found.prereg_digest[:12]}"
    yield f"  {found.graded} of {found.planned} trials graded, {found.lacking} to run, {voids} void"
    yield from (f"  void, {cause}: {count}" for cause, count in found.voids.items())
    yield from _delivery(found, arms=arms)
    for row in found.organic:
        if row.absorbed or row.exhausted:
            yield f"  organic, {row.arm}: {row.absorbed} absorbed, {row.exhausted} not"
    yield from (f"  {line}" for line in (*found.looks, found.forks) if line)
    yield from (f"  unreadable: {line}" for line in found.bad_lines)
    yield from (f"  index: {line}" for line in found.index)


def _delivery(found: Status, *, arms: bool) -> Iterator[str]:
    """Kinds that were reached, over all arms, with totals; on demand each arm's beneath."""
    reached = [row for row in found.delivery if row.reached]
    yield "  delivery, of the trials that have run (all arms together):"
    if not reached:
        yield "    no fault was reached yet"
        return
    yield f"    {'':26}" + "".join(f"{name:>13}" for name in _SUMS)
    for row in reached:
        yield _line(row.kind, row)
        if arms:
            mine = [one for one in found.by_arm if (one.layer, one.kind) == (row.layer, row.kind)]
            yield from (_line(f"  {one.arm}", one) for one in mine)
    every = {name: sum(getattr(r, name) for r in found.delivery) for name in _COUNTS}
    yield _line("all kinds", KindDelivery(kind="", layer="", **every))


_COUNTS = ("scheduled", "reached", "delivered", "masked")


def _line(name: str, row: KindDelivery | AuditRow) -> str:
    counts = (row.scheduled, row.reached, row.delivered, row.masked, row.scheduled - row.reached)
    mark = "" if row.right else "   <- NOT ALL DELIVERED: invalid"
    return f"    {name:26}" + "".join(f"{count:13}" for count in counts) + mark
