"""`hfr-bench gateway`: the fault gateway alone, for agents with a runtime of their own."""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.lab.program import addresses
from hfr_bench.lab.standalone import Sampled, Setup, Standing, stand
from hfr_bench.model.gateway import GatewaySummary
from hfr_bench.model.schedule import FaultSchedule
from hfr_bench.model.task import SealedTask

_LISTEN = re.compile(r"(?:(127\.0\.0\.1|localhost):)?(\d{1,5})\Z")
_ENDED = {
    "asked": "it was told to",
    "command": "the command ended",
    "timeout": "the command took too long and was ended",
    "failed": "the log could not be written",
}


@click.command()
@click.option(
    "--upstream", metavar="URL", help="The model server: a base URL on loopback (.../v1)."
)
@click.option(
    "--rehearse",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Instead of it: the scripted stand-in, playing the sealed task in this YAML file.",
)
@click.option(
    "--coordinates",
    is_flag=True,
    help="URL is a rehearsal server: tell it suite, task, seed and where each request is.",
)
@click.option(
    "--schedule",
    "schedule_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="One fault schedule: a line as in schedules/*.jsonl.",
)
@click.option("--matrix", help="Or draw one: from this fault matrix.  [default: wire]")
@click.option("--rate", type=click.FloatRange(0, 1), help="The chance of a fault.  [default: 0.2]")
@click.option("--seed", type=click.IntRange(0), help="Keys the draw.  [default: 1]")
@click.option("--suite", help="So does this label.  [default: black-box]")
@click.option("--task", help="And this one.  [default: task]")
@click.option(
    "--steps",
    type=click.IntRange(1, 1000),
    default=60,
    show_default=True,
    help="So many model calls does a drawn schedule cover.",
)
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Where the truth goes, a line a request; a drawn schedule goes beside it.",
)
@click.option(
    "--listen",
    default="127.0.0.1:0",
    show_default=True,
    help="Loopback address; port 0: a free one.",
)
@click.option(
    "--timeout-s",
    type=click.FloatRange(min=0, min_open=True),
    help="End COMMAND after so many seconds.",
)
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON, on standard output.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def gateway(
    listen: str,
    timeout_s: float | None,
    as_json: bool,
    command: tuple[str, ...],
    **asked: Any,
) -> int:
    """Put any agent under a fault schedule: a proxy between it and its model server.

    Prints the addresses that model clients must use, and runs until ^C or SIGTERM. With
    `-- COMMAND ARGS` it starts the agent with them set, and ends with it. SIGUSR1 is the kill
    switch: no further fault, requests go through. Where the agent is in its trial is inferred: a
    request after a failed one is the next attempt of the same step, any other is the next step.

    Exit code 1: the trial is not valid (the model server failed by itself, the switch was pulled),
    or COMMAND failed.
    """
    if timeout_s is not None and not command:
        raise BadInputError("--timeout-s bounds a command: add `-- COMMAND ARGS`")
    if command and shutil.which(command[0]) is None:
        raise BadInputError(f"cannot start {command[0]!r}: there is no such command")
    port, sealed = _port(listen), _stand_in(asked)
    setup = Setup(
        schedule=_schedule(asked, sealed),
        log=asked["log"],
        upstream=asked["upstream"] or "",
        rehearse=sealed,
        coordinates=asked["coordinates"],
        port=port,
        command=command,
        timeout_s=timeout_s,
    )
    summary = stand(setup, lambda standing: _up(standing, asked["log"]))
    click.echo(summary.dumps() if as_json else told(summary))
    return exit_code(summary, command=bool(command))


def exit_code(summary: GatewaySummary, *, command: bool) -> int:
    """130 for a command that was interrupted, 1 for what may not be believed or did not succeed."""
    if command and summary.ended == "asked":
        return 130
    failed = command and summary.exit_code != 0
    return 0 if summary.valid and not failed else 1


def told(summary: GatewaySummary) -> str:
    """The summary in a few lines."""
    calls = (
        f"model calls: {summary.attempts} in {summary.steps} steps ({summary.told} told where they "
        f"are, the rest inferred); {summary.forwarded} reached the model server; "
        f"{summary.repeated} were the same request again"
    )
    faults = (
        f"faults: {len(summary.fates)} scheduled, {summary.reached} reached: "
        f"{summary.count('masked')} masked by retries below the agent, "
        f"{summary.count('surfaced')} surfaced; {summary.count('not_reached')} not reached"
    )
    ended = f"ended after {summary.lasted_us / 1e6:.1f} s: {_ENDED[summary.ended]}"
    lines = [ended, calls, faults]
    if summary.elsewhere:
        lines.append(f"{summary.elsewhere} planned events are of other layers: not on this wire")
    lines += [
        f"  {one.kind} at {one.point} #{one.occurrence}: {one.fate}, {one.attempts} attempt(s)"
        + (f", next one after {one.waited_us / 1e6:.2f} s" if one.waited_us else "")
        for one in summary.fates
        if one.fate != "not_reached"
    ]
    lines += [f"NOT VALID: {why}" for why in _doubts(summary)]
    if summary.exit_code:
        lines.append(f"the command ended with exit code {summary.exit_code}")
    return "\n".join(lines)


def _doubts(summary: GatewaySummary) -> Iterator[str]:
    if summary.organic:
        yield f"{summary.organic} request(s) failed at the model server, and nobody injected that"
    if summary.unplanned:
        yield f"{summary.unplanned} request(s) met something else than was planned"
    if summary.switched_off:
        yield "the kill switch was pulled: some faults were left out"


def _up(standing: Standing, log: Path) -> None:
    """The addresses, a line each, so that a shell can read them; the rest is for people."""
    click.echo(f"log: {log}; end with ^C; kill -USR1 {os.getpid()} stops all injection", err=True)
    for name, url in addresses(standing.base_url).items():
        click.echo(f"{name}={url}", err=bool(standing.setup.command))


def _port(listen: str) -> int:
    found = _LISTEN.match(listen)
    if found is None or int(found[2]) > 65535:
        raise BadInputError(
            f"--listen {listen}: 127.0.0.1:PORT; faults are injected on loopback only"
        )
    return int(found[2])


def _stand_in(asked: Mapping[str, Any]) -> SealedTask | None:
    """What the stand-in is to play. Raises BadInputError unless exactly one thing answers."""
    path = asked["rehearse"]
    if (asked["upstream"] is None) is (path is None):
        raise BadInputError("one of --upstream URL and --rehearse FILE says what answers")
    if path is not None and asked["coordinates"]:
        raise BadInputError("--coordinates is for --upstream; the stand-in of --rehearse has them")
    return None if path is None else content.read_record(path, SealedTask)


def _schedule(asked: Mapping[str, Any], sealed: SealedTask | None) -> FaultSchedule:
    """As given, or drawn and written down. Raises BadInputError."""
    path, log = asked["schedule_file"], asked["log"]
    labels = {"suite": asked["suite"], "task_id": asked["task"], "seed": asked["seed"]}
    if sealed is not None:
        labels = {"suite": sealed.suite, "task_id": sealed.task_id} | _given(labels)
    named = _given({"matrix": asked["matrix"], "rate": asked["rate"], **labels})
    if path is None:
        schedule = Sampled(**named, steps=asked["steps"]).schedule()
        _write(log.with_name(f"{log.name}.schedule.jsonl"), schedule)
        return schedule
    schedule = _read(path)
    for name, value in named.items():
        held = getattr(schedule, name, None)
        if held != value:
            raise BadInputError(f"--schedule {path}: its {name} is {held!r}, not {value!r}")
    return schedule


def _given(labels: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in labels.items() if value is not None}


def _read(path: Path) -> FaultSchedule:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"--schedule {path}: {error}") from error
    if len(lines) != 1:
        raise BadInputError(
            f"--schedule {path}: it holds {len(lines)} lines; give it one, for example "
            f"`grep SCHEDULE_ID {path} > one.jsonl`"
        )
    try:
        schedule = FaultSchedule.loads(lines[0])
    except ValidationError as error:
        raise BadInputError(f"--schedule {path}: {content.explain(error)}") from error
    return schedule


def _write(path: Path, schedule: FaultSchedule) -> None:
    """Before the first call. Raises BadInputError rather than write over another one."""
    text = schedule.dumps() + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        if path.read_text(encoding="utf-8") != text:
            raise BadInputError(f"{path}: holds another schedule; name another --log") from error
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror or error}") from error
