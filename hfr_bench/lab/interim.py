"""Taking a look: the claims at the next stage, written down, then told; no estimate is shown."""

from collections.abc import Mapping

from hfr_bench.errors import BadInputError, InvalidExperimentError
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.look_bounds import look_row
from hfr_bench.lab.looks import ends_here, keep, stages, taken
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.rendering import render
from hfr_bench.lab.runlog import now
from hfr_bench.lab.store import Store
from hfr_bench.model.looks import Look
from hfr_bench.model.schedule import KindSpec


def take(experiment: Experiment, kinds: Mapping[str, KindSpec]) -> Look:
    """Take the look that is due, and write it down.

    Raises BadInputError where none is registered or due, and while trials of it lack;
    InvalidExperimentError where the trials so far are not valid.
    """
    folder, prereg = experiment.path, experiment.prereg
    found, done = stages(prereg, experiment.plan), taken(folder)
    if not found:
        raise BadInputError(f"{folder}: `stopping_rule: fixed_n` has no looks before the end")
    if done and done[-1].stop:
        raise BadInputError(f"{folder}: look {done[-1].look} has ended it; see the report")
    if len(done) + 1 >= len(found):
        raise BadInputError(f"{folder}: the last look is the report of the whole plan")
    stage = found[len(done)]
    made = analyse(
        prereg,
        experiment.lock,
        experiment.plan,
        Store(folder, indexed=True),
        experiment.book.like,
        kinds,
        look=stage.look,
    )
    if not made.complete:
        raise BadInputError(
            f"{folder}: {made.trials_analysed} of the trials of look {stage.look} are in; "
            f"`hfr-bench run {folder}` runs the others, and no further"
        )
    if not made.valid:
        raise InvalidExperimentError(f"{folder}: {render.verdict(made)}; no look is taken")
    verdicts = {row.id: row.verdict for row in made.hypotheses}
    row = look_row(stage)
    look = Look(
        look=stage.look,
        of=stage.of,
        at=now(),
        share=row.share,
        tasks=row.tasks,
        trials=row.trials,
        bound=row.bound,
        traces_digest=made.traces_digest,
        crossed=tuple(name for name, verdict in verdicts.items() if verdict == "supported"),
        stop=ends_here(verdicts, {row.id: row.family for row in made.hypotheses}),
    )
    keep(folder, look)
    return look
