"""`hfr-bench learn`: a table for the strategy `hfr-learned`, from traces in which chance chose."""

import json
from pathlib import Path

import click

from hfr_bench.errors import BadInputError
from hfr_bench.lab.learning import EMPTY, Worth, lines, plain, snippet
from hfr_bench.lab.learning import learn as learn_from


@click.command()
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the arm there, as an entry of a registration's `arms`.",
)
@click.option(
    "--harm",
    type=click.FloatRange(0),
    default=Worth().harm,
    show_default=True,
    help="What a duplicate, unwanted or partial effect costs, in successes.",
)
@click.option(
    "--human",
    type=click.FloatRange(0),
    default=Worth().human,
    show_default=True,
    help="What an escalation costs, in successes.",
)
@click.option(
    "--holdout",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.4,
    show_default=True,
    help="Share of the tasks that the table is evaluated on.",
)
@click.option(
    "--least",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Choices of an action in a context that are needed to say what it is worth.",
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def learn(
    sources: tuple[Path, ...],
    output: Path | None,
    harm: float,
    human: float,
    holdout: float,
    least: int,
    as_json: bool,
) -> int:
    """Learn from SOURCES, experiments or bundles with an arm that explores.

    Such an arm has `strategy: hfr-learned` and `config: {learned: {explore: 1}}`: where HFR's rules
    leave several moves open, chance picks one of them. What is learned picks inside the same rules.
    """
    if output is not None and output.exists():
        raise BadInputError(f"{output}: is there already; nothing was changed")
    found = learn_from(sources, Worth(harm, human), holdout=holdout, least=least)
    if output is not None:
        output.write_text(snippet(found), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(plain(found), indent=2))
        return 0
    click.echo(
        f"{found.origin}: learned from {found.learned_from} episodes, {found.choices} choices"
    )
    for context, worths in found.table.items():
        told = ", ".join(
            f"{action} {worth:+.2f}"
            for action, worth in sorted(worths.items(), key=lambda w: -w[1])
        )
        click.echo(f"  {context}: {told}")
    if not found.table:
        click.echo("  nothing: no context with two actions that were tried often enough")
        click.echo(f"  {EMPTY}")
    click.echo("\n".join(lines(found)))
    if output is not None:
        click.echo(f"wrote {output}; put it under `arms` of a registration", err=True)
    return 0
