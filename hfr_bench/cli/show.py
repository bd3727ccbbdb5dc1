"""`hfr-bench show`: one trial, from its first line to its last."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

import click

from hfr_bench.cli.show_schedule import drawn, schedule_view
from hfr_bench.errors import BadInputError
from hfr_bench.lab.find import find_trial, is_schedule
from hfr_bench.lab.register import load
from hfr_bench.lab.store import Store
from hfr_bench.lab.timeline import Line, StepLines, Timeline, seconds, timeline
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.schedule import Lasts
from hfr_bench.model.task import task_name
from hfr_bench.model.trial import TrialResult

WIDTH = 98
_INDENT = 30
_LOUD = {"injected": "!", "organic": "!", "duplicate": "!!", "unwanted": "!!"}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.argument("trial")
@click.option("--round", "round_", type=click.IntRange(1), help="Which round; default: the last.")
@click.option("--schedule", "planned", is_flag=True, help="The schedule of a trial, as a grid.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def show(folder: Path, trial: str, round_: int | None, planned: bool, as_json: bool) -> int:
    """TRIAL of FOLDER's experiment as a timeline: what was tried, seen, injected, decided, done.

    TRIAL is the beginning of a trial_id, GROUP/ARM, or the path of a trace. Times are of the
    trial's own clock. The beginning of a schedule_id, or a trial with --schedule, gives the grid of
    what is planned, point by occurrence; of a trial that was run, also what it met.
    """
    experiment = load(folder)
    if planned or is_schedule(experiment.plan, trial):
        grid = schedule_view(folder, experiment, trial, round_)
        click.echo(grid.dumps() if as_json else "\n".join(drawn(grid, WIDTH)))
        return 0
    row, file = find_trial(folder, experiment.plan, trial, round_)
    trace = Store(folder).trace(file)
    schedule = experiment.book.schedule(row.trial.schedule_id)
    try:
        made = timeline(trace.events, schedule, (f"unreadable: {line}" for line in trace.bad))
    except ValueError as error:
        raise BadInputError(f"{file.path}: {error}") from error
    click.echo(made.dumps() if as_json else "\n".join(story(made)))
    return 0


def story(made: Timeline) -> Iterator[str]:
    """The timeline as lines of at most WIDTH columns, readable without colour."""
    yield from _head(made)
    for step in made.steps:
        yield ""
        yield from _step(step)
    yield ""
    if made.packet is not None:
        yield from _packet(made.packet)
    yield from _end(made.result)


def _head(made: Timeline) -> Iterator[str]:
    start = made.start
    yield f"{start.arm}: trial {made.trial_id} ({start.origin}, round {start.round})"
    facts = {
        "task": task_name(start.suite, start.task_id),
        "seed": f"{start.seed}, {start.profile} (rate {start.rate:g})",
        "group": start.pair_group,
        "ran in": f"{start.sandbox}, {start.clock} clock"
        + ("" if start.injected else ", injectors taken out"),
        "faults": f"{made.scheduled} scheduled; at steps that it came to: "
        + ("" if made.planned else "none"),
    }
    for name, text in facts.items():
        yield from _folded(f"  {name:8}", text)
    for event in made.planned:
        lands = {None: "", True: ", lands", False: ", does not land"}[event.effect_lands]
        yield from _folded(
            "    - ", f"{event.kind} at {event.point} #{event.occurrence} from attempt "
            f"{event.attempt}, {_lasting(event.lasts)}{lands}; best end: {event.safe_outcome}",
        )  # fmt: skip
    for note in made.notes:
        yield from _folded("  ! ", note)


def _lasting(lasts: Lasts) -> str:
    only = ", at its first target only" if lasts.over == "one" else ""
    until = {"target": "changes", "request": "is smaller", "trial": "ends"}
    if lasts.unit in until:
        return f"until the {lasts.unit} {until[lasts.unit]}{only}"
    return f"for {lasts.n} {lasts.unit.removesuffix('s') if lasts.n == 1 else lasts.unit}{only}"


def _step(step: StepLines) -> Iterator[str]:
    yield f"step {step.number}  {step.title}" if step.number else "between steps"
    for line in step.lines:
        yield from _folded(_place(line), _text(line))
    if step.end:
        yield f"{'':12}= {step.end}"


def _place(line: Line) -> str:
    attempt = f"a{line.attempt}" if line.attempt else ""
    return f"  {line.t_us / 1e6:9.3f} {_LOUD.get(line.mark, ''):>2} {attempt:3} {line.what:8}"


def _text(line: Line) -> str:
    return f"{line.text}  [{line.mark.upper()}]" if line.mark else line.text


def _packet(packet: EscalationPacket) -> Iterator[str]:
    yield f"handed to a person at step {packet.step}: {packet.reason}"
    told = {
        "status": packet.status,
        "done": ", ".join(key[:12] for key in packet.committed),
        "unknown": ", ".join(key[:12] for key in packet.unknown),
        "evidence": packet.evidence,
        "advice": packet.suggestion,
    }
    for name, text in told.items():
        yield from _folded(f"  {name:10}", text or "-")


def _end(result: TrialResult | None) -> Iterator[str]:
    if result is None:
        yield "the trace does not end: the trial was cut off"
        return
    if result.outcome is None:
        yield f"VOID ({result.void}): {result.void_reason}; it measured nothing"
        return
    out = result.outcome
    reason = f" ({out.reason})" if out.reason else ""
    word = "succeeded" if out.succeeded else "did not succeed"
    yield from _folded("", f"end: {out.end}{reason}; {word}")
    yes = {True: "yes", False: "no", None: "-"}
    yield from _folded(
        "  ", f"goal met {yes[out.goal_met]}, accepted {yes[out.accepted]}, in time "
        f"{yes[out.in_time]}, packet true {yes[out.packet_true]}, official {out.official:g}",
    )  # fmt: skip
    yield from _folded(
        "  ", f"effects {out.effects}: {out.duplicates} duplicate, {out.unwanted} unwanted, "
        f"{out.partial} partial; repeated without effect {out.duplicate_dispatches}; answers of "
        f"effects lost {out.lost_effects}",
    )  # fmt: skip
    cost = "unknown" if result.cost_microusd is None else f"${result.cost_microusd / 1e6:.4f}"
    yield from _folded(
        "  ", f"{result.steps} steps, {result.attempts} attempts, {result.reads} reads; cost "
        f"{cost}; {seconds(result.latency_us)}, of it injected {seconds(result.injected_wait_us)}, "
        f"back-off {seconds(result.backoff_us)}, people {seconds(result.human_us)}",
    )  # fmt: skip


def _folded(before: str, text: str) -> Iterator[str]:
    """Text behind a label, its further lines below its first one."""
    indent = " " * min(len(before), _INDENT)
    yield from wrap(
        text, WIDTH, initial_indent=before, subsequent_indent=indent, break_on_hyphens=False
    ) or [before.rstrip()]
