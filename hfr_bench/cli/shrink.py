"""`hfr-bench shrink`: the smallest schedule that still breaks a trial, and playing it again."""

from collections.abc import Iterator
from pathlib import Path

import click

from hfr_bench.cli.options import place, place_options, tell
from hfr_bench.cli.show import story
from hfr_bench.errors import BadInputError
from hfr_bench.faults.shrinking import TRIALS
from hfr_bench.lab.find import find_trial
from hfr_bench.lab.register import load
from hfr_bench.lab.shrink import Played, Still, read_case, replay, smallest
from hfr_bench.lab.timeline import timeline
from hfr_bench.model.schedule import Lasts
from hfr_bench.model.task import task_name


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), required=False)
@click.argument("trial", required=False)
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="The case.")
@click.option(
    "--still",
    type=click.Choice(["harm", "failure", "escalation"]),
    help="What must stay so; by default the worst that the trial shows, in this order.",
)
@click.option("--round", "round_", type=click.IntRange(1), help="Which round; default: the last.")
@click.option(
    "--most",
    type=click.IntRange(1),
    default=TRIALS,
    show_default=True,
    help="So many trials at the most.",
)
@click.option(
    "--replay",
    "case_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Play a case again; exit code 0 if it breaks as it says.",
)
@click.option("--show", "shown", is_flag=True, help="Draw the trial under what is left.")
@place_options
def shrink(
    folder: Path | None,
    trial: str | None,
    out: Path | None,
    still: Still | None,
    round_: int | None,
    most: int,
    case_file: Path | None,
    shown: bool,
    sandbox: str | None,
    data_dir: tuple[str, ...],
) -> int:
    """Make the schedule of TRIAL as small as it can be with the trial still breaking.

    TRIAL of FOLDER's experiment is named as for `show`. It is run again and again in rehearsal,
    outside the experiment, with fewer and milder faults. What is left is written as a case
    (--out), which holds all that `--replay` needs.
    """
    if case_file is not None:
        if folder is not None or out is not None or still is not None or round_ is not None:
            raise BadInputError("--replay takes a case alone: no FOLDER, TRIAL, --out or --still")
        played = _again(case_file, sandbox, data_dir)
    elif folder is None or trial is None:
        raise BadInputError("say which: shrink FOLDER TRIAL, or shrink --replay CASE")
    else:
        experiment = load(folder)
        suites = tuple(selection.suite for selection in experiment.prereg.suites)
        where = place(sandbox, data_dir, suites, folder)
        row, file = find_trial(folder, experiment.plan, trial, round_)
        played = smallest(experiment, row, file, still=still, most=most, place=where)
    if shown:
        drawn = timeline(played.events, played.case.schedule, ())
        click.echo("\n".join(story(drawn)) + "\n")
    click.echo("\n".join(_told(played)))
    if out is not None:
        out.write_text(played.case.text(), encoding="utf-8")
        click.echo(f"  written; again: hfr-bench shrink --replay {out}")
    return 0 if played.broke else 1


def _again(case_file: Path, sandbox: str | None, data_dir: tuple[str, ...]) -> Played:
    case = read_case(case_file)
    suites = tuple(selection.suite for selection in case.prereg.suites)
    played = replay(case, place(sandbox, data_dir, suites, case_file.resolve().parent))
    for note in played.notes:
        tell(f"note: {note}")
    return played


def _told(played: Played) -> Iterator[str]:
    """What is left, and whether it breaks."""
    case = played.case
    trial, out = case.trial, played.result.outcome
    assert out is not None
    word = "breaks" if played.broke else "does NOT break as expected"
    where = f"{task_name(trial.suite, trial.task_id)}, seed {trial.seed}"
    yield f"{trial.arm} at {where}: {word}: {case.expected}"
    yield (
        f"  end {out.end}, {out.duplicates} duplicate, {out.unwanted} unwanted, {out.partial} "
        f"partial effects; {played.result.attempts} attempts"
    )
    few = "" if case.minimal else "; the trials were used up, it may go on (--most)"
    yield f"  {len(case.schedule.events)} of {case.faults} faults left, {case.tried} trials{few}"
    for event in case.schedule.events:
        lands = {None: "", True: ", lands", False: ", does not land"}[event.effect_lands]
        given = "".join(f", {name} {value}" for name, value in event.params.items())
        yield (
            f"    - {event.kind} at {event.point} #{event.occurrence} from attempt "
            f"{event.attempt}, {_lasting(event.lasts)}{lands}{given}"
        )


def _lasting(lasts: Lasts) -> str:
    until = {"target": "changes", "request": "is smaller", "trial": "ends"}
    if lasts.unit in until:
        return f"until the {lasts.unit} {until[lasts.unit]}"
    return f"for {lasts.n} {lasts.unit.removesuffix('s') if lasts.n == 1 else lasts.unit}"
