"""`hfr-bench show` of a schedule: the grid of what is planned, and of what a trial met."""

from collections.abc import Iterator
from pathlib import Path

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.faults.audit import audit
from hfr_bench.lab.find import find_schedule, find_trial
from hfr_bench.lab.grid import ScheduleView, blocks, grid, view
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.store import Store
from hfr_bench.model.task import task_name

_WHERE = 2


def schedule_view(
    folder: Path, experiment: Experiment, name: str, round_: int | None
) -> ScheduleView:
    """The schedule that is named, or that of the trial that is named, with what that one met.

    A trial that was not run yet has met nothing. Raises BadInputError for a name of neither.
    """
    row, schedule_id = find_schedule(experiment.plan, name)
    schedule = experiment.book.schedule(schedule_id)
    if row is None:
        return view(schedule)
    try:
        _, file = find_trial(folder, experiment.plan, row.trial.trial_id, round_)
    except BadInputError:
        if round_ is not None:
            raise
        return view(schedule)
    trace = Store(folder).trace(file)
    found = audit(trace.events, schedule, content.kinds(), injected=row.trial.injected)
    return view(schedule, row.trial.trial_id, found, trace.events)


def drawn(made: ScheduleView, width: int) -> Iterator[str]:
    """The grid as lines, readable without colour; below it what its letters and signs mean."""
    planned = made.schedule
    place = f"{task_name(planned.suite, planned.task_id)} seed {planned.seed}"
    yield f"schedule {planned.schedule_id}: {place}"
    yield f"  profile {planned.profile}"
    yield (
        f"  {planned.design}, rate {planned.rate:g}, up to {planned.horizon} occurrences of each "
        f"point; {len(planned.events)} faults planned"
    )
    if made.trial_id is not None:
        yield (
            f"  trial {made.trial_id} met {len(made.reached)} of them, {len(made.delivered)} as "
            "declared; shown as far as it came"
        )
    if not planned.events:
        return
    if after := {event.after for event in planned.events if event.after}:
        yield f"  all others wait until {min(after).partition('/')[2]} was met"
    found = grid(made)
    for block in blocks(found, width - _WHERE):
        yield ""
        yield from (f"  {line}" for line in block)
    yield ""
    for kind, letter in found.letters.items():
        yield f"  {letter:3} {kind}"
    for sign, meaning in found.signs:
        yield f"  {sign:3} {meaning}"
