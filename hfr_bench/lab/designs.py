"""What freezing must know of a design before any trial: whether it can be made, and what it is."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hfr_bench.errors import BadInputError
from hfr_bench.faults import fork
from hfr_bench.lab.calm import live_fork
from hfr_bench.lab.plan import OracleOf, fork_trials
from hfr_bench.model.matrix import FaultMatrix
from hfr_bench.model.prereg import FORK, Preregistration

if TYPE_CHECKING:
    from hfr_bench.lab.wire import Bench

TRIALS_MAX = 200_000
"""More trials than this are not planned for the designs that grow unseen."""


def check_fork(
    prereg: Preregistration, bench: "Bench", matrix: FaultMatrix, oracle: OracleOf
) -> tuple[str, ...]:
    """Whether forks can be made, and what a reader must know of them.

    Raises BadInputError for nothing to fork at, and for too many trials.
    """
    tasks = tuple(bench.tasks.values())
    made_of = fork.Content(matrix, bench.kinds, prereg.limits.max_steps)
    models = prereg.agent != "oracle"
    fitting = sum(len(fork.candidates(t, oracle(t), made_of, models=models)) for t in tasks)
    if not fitting:
        raise BadInputError(
            f"faults.matrix: no kind of {matrix.name!r} fits any step of these tasks' solutions; "
            "`hfr-bench list faults` has the matrices"
        )
    forks, trials = fork_trials(prereg, tasks, made_of, oracle)
    if trials > TRIALS_MAX:
        raise BadInputError(
            f"faults.design: {FORK} makes {forks} forks of {len(tasks)} tasks, which is {trials} "
            f"trials, more than {TRIALS_MAX}; take fewer fork.points, continuations, tasks or arms"
        )
    assert prereg.faults.fork is not None
    each = prereg.faults.fork.continuations
    of_all = f"{forks} first faults of {fitting * len(prereg.seeds)} that fit"
    return (f"{FORK}: {of_all}; {each} continuation(s) each", *_live_notes(prereg))


def _live_notes(prereg: Preregistration) -> Iterator[str]:
    """What is run first where the model is live, and what that costs."""
    if live_fork(prereg):
        yield (
            f"{FORK}: live: of each task and seed the trial of {prereg.analysis.baseline} without "
            "faults is run first and recorded; all others are played what it was answered, in the "
            "time that it took, until they meet their first fault"
        )
        yield (
            f"{FORK}: live: first faults are at steps of the tasks' solutions; a model that goes "
            "another way never comes to some of them"
        )


def burst_notes(prereg: Preregistration, tasks: int) -> Iterator[str]:
    """Where the bursts are. Raises BadInputError for a window that holds no task."""
    for number, burst in enumerate(prereg.faults.bursts):
        inside = [n for n in range(tasks) if burst.covers(n, tasks)]
        where = f"faults.bursts.{number}"
        if not inside:
            raise BadInputError(
                f"{where}: no task lies from {burst.start:g} to {burst.end:g} of {tasks}; make the "
                "window wider, or register more tasks"
            )
        yield (
            f"{where}: tasks {inside[0] + 1} to {inside[-1] + 1} of {tasks}, "
            f"{', '.join(burst.points)} at {burst.rate:.0%} an attempt"
        )
