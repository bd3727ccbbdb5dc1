"""`hfr-bench telemetry`: an experiment's traces as metrics, alerts, decision events or spans."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, cast

import click

from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.register import Experiment, load
from hfr_bench.lab.spans import TrialSpans, export, trial_spans
from hfr_bench.lab.telemetry import (
    WINDOW,
    Telemetry,
    chosen_arms,
    counted,
    decisions,
    exposition,
    samples,
)
from hfr_bench.lab.telemetry import telemetry as read_telemetry


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--arm", "arms", multiple=True, help="Only this arm; may be given again.")
@click.option("--alerts", is_flag=True, help="What the six alert rules say, instead of metrics.")
@click.option(
    "--window",
    type=click.IntRange(1),
    default=WINDOW,
    show_default=True,
    help="Trials a window of the alert rules.",
)
@click.option("--decisions", "as_events", is_flag=True, help="Every decision event, as JSON lines.")
@click.option("--otlp", is_flag=True, help="Send the trials as spans to an OTLP collector.")
@click.option("--console", is_flag=True, help="Print the trials as spans.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def telemetry(
    folder: Path,
    arms: tuple[str, ...],
    alerts: bool,
    window: int,
    as_events: bool,
    otlp: bool,
    console: bool,
    as_json: bool,
) -> int:
    """What FOLDER's runtimes did, as they would tell a monitoring system (paper §5.5).

    Twelve metrics in Prometheus' text format, of the rounds that count, arm by arm. They show
    outcomes: before an experiment is finished, `status` is the blinded view.
    """
    experiment, redactor = load(folder), Redactor(os.environ)
    chosen = chosen_arms(experiment, arms)
    if alerts + as_events + otlp + console > 1:
        raise click.UsageError("--alerts, --decisions, --otlp and --console are one at a time")
    if otlp or console:
        to: Literal["otlp", "console"] = "otlp" if otlp else "console"
        sent = export(_spans(experiment, chosen, redactor), to)
        click.echo(f"{sent} spans sent", err=True)
        return 0
    if as_events:
        for event in decisions(experiment, chosen, redactor):
            click.echo(json.dumps(event, ensure_ascii=False))
        return 0
    found = read_telemetry(experiment, chosen, window)
    if found.graded < found.planned:
        click.echo(f"{found.graded} of {found.planned} trials are there", err=True)
    if alerts:
        _say_alerts(found, as_json=as_json)
    elif as_json:
        click.echo(json.dumps(_plain(found, redactor), indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(exposition(found, redactor)))
    return 0


def _spans(
    experiment: Experiment, arms: tuple[str, ...], redactor: Redactor
) -> Iterator[TrialSpans]:
    provider = experiment.prereg.model.llm
    for one in counted(experiment, arms):
        reading = one.reading
        yield trial_spans(reading.events, redactor, provider=provider, end_ns=reading.mark.mtime_ns)


def _say_alerts(found: Telemetry, *, as_json: bool) -> None:
    said = [
        {"arm": arm.arm, "windows": raised.windows, **raised.alert._asdict()}
        for arm in found.arms
        for raised in arm.alerts
    ]
    if as_json:
        click.echo(json.dumps({**_head(found), "alerts": said}, indent=2, ensure_ascii=False))
        return
    click.echo(f"{found.name} ({found.origin}): {len(said)} alert{'s' * (len(said) != 1)}")
    for one in said:
        windows = ", ".join(map(str, cast("tuple[int, ...]", one["windows"])))
        click.echo(f"  {one['arm']}: {one['rule']} (window {windows}): {one['said']}")


def _head(found: Telemetry) -> dict[str, object]:
    return {
        "name": found.name,
        "origin": found.origin,
        "prereg_digest": found.prereg_digest,
        "graded": found.graded,
        "planned": found.planned,
    }


def _plain(found: Telemetry, redactor: Redactor) -> dict[str, object]:
    return {
        **_head(found),
        "samples": [one.model_dump(exclude={"v"}) for one in samples(found, redactor)],
    }
