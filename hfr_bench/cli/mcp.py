"""`hfr-bench mcp`: any MCP server under a schedule of faults, for any client."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click
from pydantic import ValidationError

from hfr_bench import content, plugins
from hfr_bench.cli.options import tell
from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.faults.audit import TrialAudit, rows
from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.generate import Draw, fitting_kinds, generate, mix_for
from hfr_bench.faults.mcp import LAYERS, audit_proxy, calls_in, trials
from hfr_bench.lab.clock import WallClock
from hfr_bench.lab.killswitch import KillSwitch, check_ours
from hfr_bench.model.matrix import FaultMatrix
from hfr_bench.model.record import short_id
from hfr_bench.model.schedule import FaultSchedule
from hfr_bench.model.task import FaultPoint
from hfr_bench.model.terms import SideEffect
from hfr_bench.model.trace import TraceEvent
from hfr_bench.owner import this_process
from hfr_bench.ports.injector import Scene

_HORIZON = 60
_SHOWN = 5
_INTERRUPTED = 130


@click.command()
@click.argument("command", nargs=-1)
@click.option(
    "--schedule",
    "schedule_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The faults: one schedule, a line of JSON (as in an experiment's schedules/).",
)
@click.option("--schedule-id", help="Which one, if the file holds several.")
@click.option("--matrix", help="Draw the schedule from this matrix and the server's tools/list.")
@click.option("--rate", type=click.FloatRange(0, 1), help="With --matrix: the chance of a fault.")
@click.option("--seed", type=int, default=1, show_default=True, help="With --matrix.")
@click.option(
    "--horizon",
    type=click.IntRange(1),
    default=_HORIZON,
    show_default=True,
    help="With --matrix: so many calls of each tool.",
)
@click.option(
    "--log",
    "log_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="What was sent, done and answered (JSONL; a new trial is added).",
)
@click.option(
    "--upstream", metavar="URL", help="The server, where it is one of streamable HTTP (loopback)."
)
@click.option(
    "--listen", metavar="HOST:PORT", help="Serve clients over HTTP (loopback); else over stdio."
)
@click.option("--audit", "only_audit", is_flag=True, help="Play nothing: audit --log, once more.")
def mcp(
    command: tuple[str, ...],
    schedule_file: Path | None,
    schedule_id: str | None,
    matrix: str | None,
    rate: float | None,
    seed: int,
    horizon: int,
    log_file: Path | None,
    upstream: str | None,
    listen: str | None,
    only_audit: bool,
) -> int:
    """Stand in the place of the MCP server that COMMAND starts, and play a schedule's faults.

    An agent's configuration names `hfr-bench mcp ... -- COMMAND` where it named COMMAND. All but
    tools' calls passes unaltered. At the end stands the delivery audit, on stderr; exit code 1 if a
    fault that was reached was not delivered. SIGUSR1 stops injection, and messages pass on.
    """
    if only_audit:
        return _audited(schedule_file, schedule_id, log_file)
    url, (host, port) = _url(upstream, command), _address(listen)
    proxy = plugins.find("injectors", "mcp_proxy")()
    levels: dict[str, SideEffect] = {}
    if schedule_file is not None:
        if matrix is not None or rate is not None:
            raise BadInputError("--schedule is drawn already: no --matrix and no --rate with it")
        schedule = _read(schedule_file, schedule_id)
    elif matrix is None or rate is None:
        raise BadInputError("say which faults: --schedule FILE, or --matrix NAME --rate R --seed N")
    elif log_file is None:
        raise BadInputError("--matrix needs --log FILE: what is drawn is written beside it first")
    else:
        server, points = proxy.points(command, url)
        levels = {point.target: point.level for point in points}
        draw = Draw("mcp", server, seed, f"{matrix}-{rate}", rate)
        schedule = _drawn(draw, points, content.matrix(matrix), horizon, proxy.kinds())
        _keep(schedule, log_file)
    ends = {"command": command, "url": url, "host": host, "port": port}
    return _play(proxy, ends, schedule, levels, log_file)


def _play(
    proxy: Any,
    ends: Mapping[str, Any],
    schedule: FaultSchedule,
    levels: Mapping[str, SideEffect],
    log_file: Path | None,
) -> int:
    """One trial between both ends, and its audit."""
    proxy.check(schedule, content.kinds())
    switch = KillSwitch(tell)
    scene = switch.scene(_scene(schedule))
    with _opened(log_file) as file:
        ended = proxy.serve(
            scene, **ends, file=file, levels=levels, ready=_ready, stopped=lambda: _stop(switch)
        )
    tell(f"hfr-bench mcp: trial {scene.trial_id}, {ended.calls} calls of tools")
    return _end(ended, _tell_audit(audit_proxy(ended.events, schedule, content.kinds())), switch)


def _stop(switch: KillSwitch) -> None:
    if not switch.pulled:
        switch.pull()
        tell("hfr-bench mcp: kill switch: no further fault is injected; messages pass on")


def _scene(schedule: FaultSchedule) -> Scene:
    """One trial on the wall's clock; every start of a proxy is another."""
    trial = short_id({"schedule": schedule.digest(), "owner": this_process()})
    cursor = Cursor(schedule.events, LAYERS)
    return Scene(trial, cursor, content.kinds(), WallClock(), lambda _body: None)


def _end(ended: Any, code: int, switch: KillSwitch) -> int:
    if ended.batches:
        tell(f"  {ended.batches} batches of messages passed whole, without faults")
    if ended.server_left:
        how = "" if ended.server_code is None else f" (code {ended.server_code})"
        tell(f"  the server ended by itself{how}; nobody injected that")
        return InfrastructureError.exit_code
    if switch.pulled:
        tell("  injection was stopped by SIGUSR1: the trial measures nothing")
        return _INTERRUPTED
    return code


def _ready(url: str) -> None:
    click.echo(url)
    sys.stdout.flush()
    tell(f"hfr-bench mcp: {url} takes the server's place; ^C ends it")


def _tell_audit(found: TrialAudit) -> int:
    """The delivery audit for a person; exit code 1 if it may not be believed."""
    for row in rows([found]):
        if row.reached or row.mismatched:
            tell(
                f"  {row.kind:28} scheduled {row.scheduled}, reached {row.reached}, "
                f"delivered {row.delivered}"
            )
    wrong = [one.mismatch for one in found.deliveries if not one.delivered]
    reached = len(found.deliveries)
    tell(f"  delivered {reached - len(wrong)} of {reached} faults that were reached")
    for text in wrong[:_SHOWN]:
        tell(f"  NOT delivered: {text}")
    for text in found.untrue[:_SHOWN]:
        tell(f"  NOT the server's answer: {text}")
    if found.failed:
        tell(f"  {len(found.failed)} calls failed by themselves; first: {found.failed[0]}")
    return 1 if wrong or found.untrue else 0


# -- what the options mean ------------------------------------------------------------------------


def _url(upstream: str | None, command: tuple[str, ...]) -> str:
    if bool(upstream) == bool(command):
        raise BadInputError(
            "say which server: a COMMAND behind `--`, or --upstream URL, and not both"
        )
    if upstream:
        if not upstream.startswith(("http://", "https://")):
            raise BadInputError(
                f"--upstream is the URL of an MCP server (http://...), not {upstream!r}"
            )
        check_ours(upstream, "the MCP server")
    return upstream or ""


def _address(listen: str | None) -> tuple[str, int]:
    if listen is None:
        return "", 0
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise BadInputError(
            f"--listen is HOST:PORT, as 127.0.0.1:0 (any free port), not {listen!r}"
        )
    check_ours(f"http://{listen}", "the proxy")
    return host.strip("[]"), int(port)


def _read(path: Path, wanted: str | None) -> FaultSchedule:
    """The one schedule of a file, or the one that is asked for."""
    found = []
    for number, line in enumerate(_lines(path), start=1):
        try:
            found.append(FaultSchedule.loads(line))
        except ValidationError as error:
            raise BadInputError(
                f"{path}:{number}: no schedule: {content.explain(error)}"
            ) from error
    ids = [one.schedule_id for one in found]
    chosen = [one for one in found if wanted in (None, one.schedule_id)]
    if len(chosen) != 1:
        raise BadInputError(
            f"{path}: {'no schedule' if not chosen else f'{len(chosen)} schedules'}"
            f"{f' {wanted!r}' if wanted else ''}; name one with --schedule-id; there are: "
            f"{', '.join(ids[:_SHOWN]) or 'none'}{', ...' if len(ids) > _SHOWN else ''}"
        )
    return chosen[0]


def _lines(path: Path) -> Iterator[str]:
    try:
        yield from (line for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _drawn(
    draw: Draw,
    points: Sequence[FaultPoint],
    matrix: FaultMatrix,
    horizon: int,
    playable: frozenset[str],
) -> FaultSchedule:
    """A schedule for a server's tools. Raises BadInputError where MCP cannot express it."""
    kinds = content.kinds()
    mixes = [(point, mix) for point in points if (mix := mix_for(point.point, matrix))]
    drawn = {kind.kind for point, mix in mixes for _, kind in fitting_kinds(point, mix, kinds)}
    if foreign := sorted(drawn - playable):
        raise BadInputError(
            f"the matrix {matrix.name!r} draws what MCP cannot express: {', '.join(foreign)}; "
            "`tools` and `semantic` draw nothing else"
        )
    if not drawn:
        raise BadInputError(
            f"the matrix {matrix.name!r} has no fault for any of {len(points)} tools"
        )
    return generate(draw, points, matrix, kinds, horizon)


def _keep(schedule: FaultSchedule, log_file: Path) -> None:
    """Write a drawn schedule beside the log, before anything is called. Never over another one."""
    path = log_file.with_suffix(".schedule.jsonl")
    text = schedule.dumps() + "\n"
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise BadInputError(
            f"{path}: another schedule was drawn for this log (the server's tools, or the options, "
            f"have changed): replay that one (--schedule {path}), or give another --log"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    tell(f"hfr-bench mcp: {len(schedule.events)} faults drawn; again: --schedule {path}")


@contextmanager
def _opened(log_file: Path | None) -> Iterator[IO[str] | None]:
    """The log, at its end; None without one."""
    if log_file is None:
        yield None
        return
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with log_file.open("a", encoding="utf-8") as file:
        yield file


def _audited(schedule_file: Path | None, schedule_id: str | None, log_file: Path | None) -> int:
    """Audit every trial of a log once more, from its lines alone."""
    if schedule_file is None or log_file is None:
        raise BadInputError("--audit takes a log and its schedule: --log FILE --schedule FILE")
    schedule, code, events = _read(schedule_file, schedule_id), 0, []
    for number, line in enumerate(_lines(log_file), start=1):
        try:
            events.append(TraceEvent.loads(line))
        except ValidationError as error:
            raise BadInputError(f"{log_file}:{number}: {content.explain(error)}") from error
    for name, lines in trials(events).items():
        tell(f"trial {name}, {calls_in(lines)} calls of tools")
        code = max(code, _tell_audit(audit_proxy(lines, schedule, content.kinds())))
    return code
