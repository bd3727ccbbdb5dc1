"""`hfr-bench review`: people look over a blinded sample of an experiment's trials."""

import getpass
import os
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

import click

from hfr_bench.errors import BadInputError
from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.register import load
from hfr_bench.lab.rendering.cells import Cell, Table, flat
from hfr_bench.lab.rendering.tables_reviewed import reviewed
from hfr_bench.lab.review.book import check_rater
from hfr_bench.lab.review.draw import drawn
from hfr_bench.lab.review.page import ANSWERS, DIGESTS, GOAL, MISDEED, UNSEEN
from hfr_bench.lab.review.server import Server
from hfr_bench.lab.review.session import Session
from hfr_bench.lab.review.summary import summarise
from hfr_bench.lab.review.view import View
from hfr_bench.model.review import LEAST, MOST, Review

WIDTH = 98
_KEYS = {"y": "yes", "n": "no", "c": "cannot_tell"}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--rater", default="", help="Who rates; default: the user of this machine.")
@click.option(
    "--share",
    type=float,
    help=f"How much of each stratum is drawn, {LEAST:g} to {MOST:g}; default: {MOST:g}, or what "
    "the ratings there were drawn with.",
)
@click.option("--terminal", is_flag=True, help="Ask here, instead of on a page in a browser.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of the page; 0: any.")
@click.option("--summary", is_flag=True, help="What the ratings so far come to.")
@click.option("--json", "as_json", is_flag=True, help="With --summary: for programs.")
def review(
    folder: Path, rater: str, share: float | None, terminal: bool, port: int, summary: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Rate a blinded sample of FOLDER's trials: was the goal reached, was anything done wrongly?

    Which trials are drawn is keyed by the preregistration. Neither arms nor grades are shown, and
    some trials come twice. Ratings are kept in reviews/RATER.jsonl as they are given; start again
    to go on.
    """
    if as_json and not summary:
        raise BadInputError("--json belongs to --summary")
    experiment = load(folder)
    if summary:
        made = summarise(experiment, share)
        click.echo(made.dumps() if as_json else "\n".join(_summary(made)))
        return 0
    who = check_rater(rater or _user())
    session = Session(experiment, drawn(experiment, share), who, Redactor(os.environ))
    _greet(session)
    if terminal:
        _ask(session)
    else:
        with Server(session, port) as server:
            click.echo(f"open {server.url}\nEnd on the page, or with ^C; what is rated is kept.")
            server.wait()
    click.echo(f"{session.rated} of {len(session.showings)} rated by {session.rater}")
    return 0


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:  # a user without a name
        raise BadInputError("say who rates: --rater NAME") from error


def _greet(session: Session) -> None:
    made, name = session.draw, session.experiment.prereg.name
    twice = len(made.showings) - made.trials
    click.echo(
        f"{name} ({session.experiment.prereg.origin}): {made.trials} trials drawn "
        f"({made.share:.0%} of each stratum), {twice} of them shown twice; "
        f"{session.rated} rated by {session.rater}"
    )
    for line in (DIGESTS, UNSEEN, *session.told):
        click.echo("\n".join(wrap(line, WIDTH, initial_indent="  ", subsequent_indent="  ")))


# -- in the terminal --------------------------------------------------------------------------


def _ask(session: Session) -> None:
    """One trial after the other, until all are rated or the rater quits."""
    alias, rules = session.after(), ""
    while alias is not None:
        shown = session.view(alias)
        click.echo(f"\ntrial {session.number(alias)} of {len(session.showings)} ({alias})")
        click.echo("\n".join(_shown(shown, rules)))
        goal_met = _answer(GOAL)
        misdeed = goal_met and _answer(MISDEED)
        if not misdeed:
            return
        note = click.prompt("Note (may stay empty)", default="", show_default=False)
        session.rate(alias, goal_met, misdeed, note)
        alias, rules = session.after(alias), shown.words.rules


def _answer(question: str) -> str:
    """A word, or "" to quit. The question is put again until it is answered."""
    keys = ", ".join(f"{key} {ANSWERS[word].lower()}" for key, word in _KEYS.items())
    given = click.prompt(
        f"{question} ({keys}, q quit)",
        type=click.Choice([*_KEYS, "q"]),
        show_choices=False,
        prompt_suffix=" ",
    )
    return _KEYS.get(given, "")


def _shown(view: View, known: str) -> Iterator[str]:
    """What a rater sees, within WIDTH columns; rules that stood there before are not repeated."""
    yield f"task {view.task}"
    rules = "" if view.words.rules == known else view.words.rules
    for name, text in (("the agent's rules", rules), ("asked for", view.words.request)):
        if text:
            yield f"{name}:"
            for paragraph in text.splitlines():
                yield from _folded("  ", paragraph)
    yield "what happened:"
    for line in view.lines:
        who = "" if line.who == "answer" else line.who
        yield from _folded(f"  {who:6} {'!' if line.loud else ' '} ", line.text)
    yield from _folded("end: ", view.end)


def _folded(before: str, text: str) -> Iterator[str]:
    indent = " " * len(before)
    yield from wrap(
        text, WIDTH, initial_indent=before, subsequent_indent=indent, break_on_hyphens=False
    )


# -- the summary ------------------------------------------------------------------------------


def _summary(made: Review) -> Iterator[str]:
    """The tables of the report, as plain text."""
    for table in reviewed(made):
        yield table.title
        yield from _folded("", table.legend)
        yield from _grid(table)
        yield ""
    if not made.raters:
        yield f"nobody has rated anything of this draw: hfr-bench review DIR --share {made.share:g}"
    yield from (f"unreadable: {line}" for line in made.bad_lines)


def _grid(table: Table) -> Iterator[str]:
    rows = [[flat(name) for name in table.header], *(list(map(_text, row)) for row in table.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.header))]
    for row in rows:
        cells = (
            text.ljust(width) if i < table.left else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  " + "  ".join(cells).rstrip()


def _text(cell: Cell) -> str:
    return f"{cell.main} {cell.extra}".rstrip()
