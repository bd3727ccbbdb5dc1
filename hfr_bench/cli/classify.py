"""`hfr-bench classify`: what recorded responses mean, and what the paper would do about them."""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from hfr_bench.cli.classify_mix import write_mix
from hfr_bench.errors import BadInputError
from hfr_bench.lab.logs import Logged
from hfr_bench.model.attempt import Fault, Observation
from hfr_bench.model.terms import Action, Channel, FaultClass, SideEffect
from hfr_bench.recovery.classifier.signals import is_rpc, parse
from hfr_bench.recovery.classify import classify as classify_failure
from hfr_bench.recovery.classify import flaw, readable

_NUMBERS = ("status", "latency_us", "exit_code", "rpc_code")
_TEXTS = ("exception", "phase", "schema_error", "finish_reason")

# Table 2's default action of each class; what depends on the call is told in `_action`.
_ACTIONS = {
    FaultClass.TRANSIENT: Action.RETRY,
    FaultClass.RATE_LIMIT: Action.RETRY,
    FaultClass.TIMEOUT: Action.RETRY,
    FaultClass.OVERLOAD: Action.DEGRADE_MODEL,
    FaultClass.TOOL_UNAVAILABLE: Action.DEGRADE_TOOL,
    FaultClass.CONTEXT_OVERFLOW: Action.COMPRESS,
    FaultClass.PERMANENT: Action.FAIL,
    FaultClass.REFUSAL: Action.ESCALATE,
    FaultClass.SEMANTIC: Action.RETRY,
}


@click.command()
@click.argument("file")
@click.option("--check", is_flag=True, help="Exit with 1 if a row's hfr_class is another one.")
@click.option("--mix", is_flag=True, help="Make a fault mix of them instead; needs -o.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Where the mix goes."
)
@click.option("--model-calls", type=click.IntRange(min=1), help="All calls that FILE is of.")
@click.option("--tool-calls", type=click.IntRange(min=1), help="The same of tools.")
def classify(
    file: str,
    check: bool,
    mix: bool,
    output: Path | None,
    model_calls: int | None,
    tool_calls: int | None,
) -> int:
    """Classify the recorded responses in FILE (- = standard input): JSONL in, JSONL out.

    A row: status, headers, body; also id, channel (model or tool), exception, latency_us,
    exit_code, level (R0-R3, of a tool). A line out: id, fault_class (null: no failure), secondary,
    confidence, evidence, action (table 2's default) and wait_ms (null: none stated).

    With --mix: a fault mix for `report --mix`. Rates of calls need to know how many there were: of
    a log with its successes they are counted, else --model-calls and --tool-calls say so (failures
    included); without either, the mix holds shares of the failures.
    """
    if mix:
        given = {Channel.MODEL: model_calls, Channel.TOOL: tool_calls}
        return _mix(file, output, given)
    if output is not None or model_calls or tool_calls:
        raise BadInputError("-o, --model-calls and --tool-calls go with --mix")
    bad = disagreeing = 0
    for place, line in _lines(file):
        try:
            row = _row(line)
            channel = _channel(row)
            fault = judge(channel, row)
        except ValueError as error:
            bad += 1
            click.echo(f"error: {place}: {error}", err=True)
            continue
        click.echo(json.dumps(_told(row, channel, fault), ensure_ascii=False))
        found = fault.fault_class.value if fault else None
        if check and "hfr_class" in row and row["hfr_class"] != found:
            disagreeing += 1
            evidence = f" ({fault.evidence})" if fault else ""
            click.echo(
                f"{place}: {row.get('id')}: hfr_class {row['hfr_class']}, found {found}{evidence}",
                err=True,
            )
    return 2 if bad else 1 if disagreeing else 0


def _mix(file: str, output: Path | None, given: Mapping[Channel, int | None]) -> int:
    """A fault mix of all rows, or none if one of them cannot be read."""
    if output is None:
        raise BadInputError("--mix needs -o FILE.yaml: where the mix goes")
    logged, bad = [], 0
    for place, line in _lines(file):
        try:
            row = _row(line)
            channel = _channel(row)
            logged.append(Logged(channel, row, judge(channel, row), _level(row)))
        except ValueError as error:
            bad += 1
            click.echo(f"error: {place}: {error}", err=True)
    if bad:
        raise BadInputError(f"{bad} rows cannot be read, so no mix was made: mend or drop them")
    source = "standard input" if file == "-" else Path(file).name
    write_mix(logged, judge, given, source, output)
    return 0


def _level(row: Mapping[str, Any]) -> SideEffect | None:
    """The side-effect level that a row names. Raises ValueError for one that there is not."""
    named = row.get("level")
    return None if named is None else SideEffect(named)


def _lines(file: str) -> Iterator[tuple[str, bytes]]:
    """(place, line) of every line that is not blank. Raises BadInputError for no such file."""
    name = "standard input" if file == "-" else file
    with ExitStack() as stack:
        try:
            source = sys.stdin.buffer if file == "-" else stack.enter_context(Path(file).open("rb"))
        except OSError as error:
            raise BadInputError(
                f"{file}: {error.strerror}; give a file of JSON lines, or - for standard input"
            ) from error
        for number, line in enumerate(source, start=1):
            if line.strip():
                yield f"{name}:{number}", line


def _row(line: bytes) -> dict[str, Any]:
    """A line as a row of the right types. Raises ValueError saying what is wrong."""
    try:
        row = json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(row, dict):
        raise ValueError(f"a row is an object, not {type(row).__name__}")
    for name in _NUMBERS:
        if not isinstance(row.get(name), int | None) or isinstance(row.get(name), bool):
            raise ValueError(f"{name} must be a whole number or null, got {row[name]!r}")
    for name in _TEXTS:
        if not isinstance(row.get(name), str | None):
            raise ValueError(f"{name} must be text or null, got {row[name]!r}")
    if not isinstance(row.get("headers"), dict | None):
        raise ValueError("headers must be an object of texts, or null")
    return row


def _channel(row: Mapping[str, Any]) -> Channel:
    """As the row says; else a tool's if its body speaks as tool servers do, else a model's."""
    named = row.get("channel")
    if named is None:
        rpc = isinstance(row.get("body"), str) and is_rpc(parse(row["body"])[1])
        tool = rpc or row.get("exit_code") is not None or row.get("rpc_code") is not None
        return Channel.TOOL if tool else Channel.MODEL
    try:
        return Channel(named)
    except ValueError:
        raise ValueError(f"channel must be model or tool, got {named!r}") from None


def judge(channel: Channel, row: Mapping[str, Any]) -> Fault | None:
    """What is wrong with a recorded response; None if nothing is."""
    body = row.get("body")
    if not isinstance(body, str):
        body = "" if body is None else json.dumps(body)
    status = row.get("status")
    exception = row.get("exception") or None
    code = row.get("exit_code")
    answered = exception is None and (
        readable(channel, body) if status is not None and 200 <= status < 300 else code == 0
    )
    seen = Observation(
        answered=answered,
        status=status,
        exception=exception,
        sent=row.get("sent") is not False,
        headers={str(k).lower(): str(v) for k, v in (row.get("headers") or {}).items()},
        body=body,
        finish_reason=row.get("finish_reason"),
        latency_us=row.get("latency_us") or 0,
        exit_code=code,
        rpc_code=row.get("rpc_code"),
        schema_error=row.get("schema_error") or "",
        phase=row.get("phase") or "",
    )
    return flaw(channel, seen) if answered else classify_failure(channel, seen)


def _told(row: Mapping[str, Any], channel: Channel, fault: Fault | None) -> dict[str, Any]:
    if fault is None:
        return {
            "id": row.get("id"),
            "fault_class": None,
            "secondary": None,
            "confidence": 1.0,
            "evidence": "",
            "action": Action.ACCEPT,
            "wait_ms": None,
        }
    wait_us = fault.retry_after_us
    return {
        "id": row.get("id"),
        "fault_class": fault.fault_class,
        "secondary": fault.secondary,
        "confidence": fault.confidence,
        "evidence": fault.evidence,
        "action": _action(fault, channel, row.get("level")),
        "wait_ms": None if wait_us is None else math.ceil(wait_us / 1000),
    }


def _action(fault: Fault, channel: Channel, level: Any) -> Action:
    """Table 2's default; a tool of unknown level may have written, so its outcome is asked for."""
    if fault.fault_class is FaultClass.TIMEOUT and channel is Channel.TOOL:
        return Action.RETRY if level == SideEffect.READ else Action.RECONCILE
    if fault.fault_class is FaultClass.PERMANENT and fault.repairable:
        return Action.REPLAN
    return _ACTIONS[fault.fault_class]
