"""The texts of tasks that may be shown: those of suites whose tasks are part of this distribution.

Other suites' tasks have licences of their own and stay ids. Nothing of a grader is read but what
the user says first, which the agent is told, too.
"""

from hfr_bench.errors import HfrError
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.review.view import Words
from hfr_bench.lab.sampling import resolved
from hfr_bench.lab.wire import Place, open_suite
from hfr_bench.model.prereg import SourcePin, SuiteSelection

OURS = "hfr-bench"
"""`SourcePin.distribution` of suites whose tasks are ours."""


def words(experiment: Experiment) -> tuple[dict[tuple[str, str], Words], tuple[str, ...]]:
    """Texts by (suite, task_id), and for each suite without them why a rater sees ids only."""
    found: dict[tuple[str, str], Words] = {}
    notes = []
    for selection, pin in zip(experiment.prereg.suites, experiment.lock.sources, strict=True):
        if pin.distribution != OURS:
            notes.append(f"{pin.suite}: tasks are shown by id, their texts are not ours to show")
            continue
        try:
            found |= _of(experiment, selection, pin)
        except HfrError as error:
            notes.append(f"{pin.suite}: tasks are shown by id: {error}")
    return found, tuple(notes)


def _of(
    experiment: Experiment, selection: SuiteSelection, pin: SourcePin
) -> dict[tuple[str, str], Words]:
    """A suite's texts, read from the suite itself. Raises HfrError if it is another by now."""
    place = Place(folder=experiment.path)
    with open_suite(selection.suite, place, config=selection.config) as (suite, _):
        selection = resolved(selection, suite).selection
        if suite.pin(selection) != pin:
            raise HfrError("the suite changed after freezing, its texts may be others")
        return {
            (selection.suite, task.task_id): Words(task.prompt, suite.sealed(task.task_id).opening)
            for task in suite.select(selection)
        }
