"""`hfr-bench inbox`: escalations that wait for a person, and a place to answer them."""

import getpass
import os
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import cast

import click

from hfr_bench.errors import BadInputError
from hfr_bench.lab.inbox import Inbox, Waiting, answer, find
from hfr_bench.lab.inbox import inbox as read_inbox
from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.register import load
from hfr_bench.model.inbox import WORDS, Word
from hfr_bench.model.task import task_name

WIDTH = 98


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--answer",
    "answered",
    type=(str, click.Choice(WORDS)),
    metavar="TRIAL WORD",
    help=f"Answer the escalation of TRIAL (the beginning of its id): {', '.join(WORDS)}.",
)
@click.option("--note", default="", help="Why; kept with the answer.")
@click.option("--by", default="", help="Who answers; default: the user of this machine.")
@click.option("--all", "everything", is_flag=True, help="List what is answered, too.")
@click.option("--unblind", is_flag=True, help="Name the arms.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def inbox(
    folder: Path,
    answered: tuple[str, str] | None,
    note: str,
    by: str,
    everything: bool,
    unblind: bool,
    as_json: bool,
) -> int:
    """Escalations of FOLDER's experiment that wait for a person, from its complete rounds.

    Arms are not named. Answers are appended to inbox.jsonl; no trial and no result is changed.
    """
    if answered is None and (note or by):
        raise BadInputError("--note and --by belong to --answer TRIAL WORD")
    experiment, redactor = load(folder), Redactor(os.environ)
    box = read_inbox(experiment, redactor, unblind=unblind)
    if answered is not None:
        to = find(box, answered[0])
        line = answer(folder, to, cast("Word", answered[1]), by or _user(), note, redactor)
        told = f"{line.trial_id}: {line.answer} by {line.who}"
        click.echo(line.dumps() if as_json else told)
        return 0
    click.echo(box.dumps() if as_json else "\n".join(_lines(box, everything=everything)))
    return 0


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:  # a user without a name
        raise BadInputError("say who answers: --by NAME") from error


def _lines(box: Inbox, *, everything: bool) -> Iterator[str]:
    """The queue, within WIDTH columns, readable without colour."""
    waiting, done = len(box.unanswered), len(box.waiting) - len(box.unanswered)
    told = f"{waiting} escalation{'s' * (waiting != 1)} waiting, {done} answered"
    yield f"{box.name} ({box.origin}): {told}"
    for one in box.waiting if everything else box.unanswered:
        yield ""
        yield from _escalation(one)
    yield from (f"unreadable: {line}" for line in box.bad_lines)


def _escalation(one: Waiting) -> Iterator[str]:
    arm = f", arm {one.arm}" if one.arm else ""
    where = f"{task_name(one.suite, one.task_id)}, seed {one.seed}, rate {one.rate:g}{arm}"
    yield from _folded(f"{one.trial_id}  ", where)
    when = f"step {one.step} ({one.status}), {one.at_us / 1e6:.2f} s" if one.step else one.status
    facts = {
        "reason": f"{one.reason}; {when}",
        "done": ", ".join(key[:12] for key in one.committed),
        "unknown": ", ".join(key[:12] for key in one.unknown),
        "evidence": one.evidence,
        "advice": one.suggestion,
    }
    for name, text in facts.items():
        yield from _folded(f"  {name:9}", text or "-")
    for said in one.answers:
        note = f": {said.note}" if said.note else ""
        yield from _folded("  answer   ", f"{said.answer} by {said.who}, {said.at}{note}")


def _folded(before: str, text: str) -> Iterator[str]:
    yield from wrap(
        text, WIDTH, initial_indent=before, subsequent_indent=" " * 11, break_on_hyphens=False
    )
