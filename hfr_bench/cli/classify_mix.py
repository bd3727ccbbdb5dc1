"""`hfr-bench classify FILE --mix`: recorded responses to a fault mix for `report --mix`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import yaml

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.lab.logs import NOT_TOLD, Judge, Logged, mixed
from hfr_bench.model.terms import Channel

HEAD = "# Made by `hfr-bench classify --mix`. A list of kinds: a log cannot tell them apart.\n"


def write_mix(
    logged: Sequence[Logged],
    judge: Judge,
    given: Mapping[Channel, int | None],
    source: str,
    output: Path,
) -> None:
    """Write the mix of some recorded responses, and tell what it is and is not made of.

    `given`: all calls that the log is of, by channel, as the user says; None: those in the log, if
    successes are among them.

    Raises:
        BadInputError: no failure, too few calls, or a name that no mix may have.
    """
    calls = {channel: _calls(channel, number, logged) for channel, number in given.items()}
    name = output.stem.lower().replace(" ", "-")
    try:
        known = {channel: number for channel, number in calls.items() if number is not None}
        made = mixed(logged, content.kinds(), judge, known, name, source)
    except ValueError as error:
        raise BadInputError(str(error)) from error
    text = HEAD + yaml.safe_dump(made, sort_keys=False, allow_unicode=True, width=100)
    output.write_text(text, encoding="utf-8")
    content.mix(str(output))  # whatever is wrong with it is told at once
    _tell(made["faults"], made["not_known"], output)


def _calls(channel: Channel, given: int | None, logged: Sequence[Logged]) -> int | None:
    mine = [one for one in logged if one.channel is channel]
    if given is None and any(one.fault is None for one in mine):
        return len(mine)
    return given


def _tell(faults: Sequence[Mapping[str, Any]], not_known: Sequence[str], output: Path) -> None:
    for one in faults:
        amount = f"{one['per_1000']:.3g} of 1,000" if "per_1000" in one else f"{one['share']:.1%}"
        near = " or ".join(one["kinds"]) or "NOTHING OF OURS IS LIKE IT"
        click.echo(f"{amount:>16} {one['of']}: {one['what']}: {near}", err=True)
    for text in not_known:
        mark = "no log tells" if text in NOT_TOLD else "this log does not tell"
        click.echo(f"{mark}: {text}", err=True)
    click.echo(f"wrote {output}; use it: hfr-bench report DIR --mix {output}")
