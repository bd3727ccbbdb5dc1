"""What an experiment that was run says about the size of the next one."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from hfr_bench.errors import BadInputError
from hfr_bench.lab.register import Experiment
from hfr_bench.model.trial import TrialResult
from hfr_bench.stats.metrics import METRICS, each
from hfr_bench.stats.power import Pilot, pilot

SIZED = tuple(name for name, metric in METRICS.items() if metric.den is each and not metric.percent)
"""Metrics with a difference in every pair: those whose variance a pilot can tell."""


def piloted(
    experiment: Experiment,
    results: Iterable[TrialResult],
    arms: tuple[str, str],
    metric: str,
    rate: float | None,
) -> Pilot:
    """Paired differences of two arms by task, and what their variance is made of.

    Args:
        experiment: what was registered.
        results: graded trials, controls left out (`lab.compare.graded`).
        arms: the arm, and the one it is held against.
        metric: one of SIZED.
        rate: one registered rate; None: all above 0 (all of a task's pairs count as its seeds).

    Raises:
        BadInputError: an unknown arm, metric or rate (what there is gets listed), an unknown
            price, too few pairs, or pairs that all differ alike.
    """
    _check(experiment, arms, metric, rate)
    column = METRICS[metric].num
    values: dict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
    for trial in results:
        if trial.arm in arms and (trial.rate > 0 if rate is None else trial.rate == rate):
            value = column(trial)
            if value is None:
                raise BadInputError(f"{metric}: the price of trial {trial.trial_id} is unknown")
            values[trial.suite, trial.task_id, trial.pair_group][trial.arm] = value
    by_task: dict[str, list[float]] = defaultdict(list)
    for (suite, task, _), found in sorted(values.items()):
        if len(found) == 2:
            by_task[f"{suite}/{task}"].append(float(found[arms[0]] - found[arms[1]]))
    if len(by_task) < 2:
        raise BadInputError(
            f"{experiment.path}: pairs of {arms[0]} and {arms[1]} in {len(by_task)} task(s); a "
            f"pilot needs two at least. Run more: `hfr-bench run {experiment.path}`"
        )
    made = pilot(by_task)
    if not (made.spread.between or made.spread.within):
        raise BadInputError(
            f"{experiment.path}: {metric} of {arms[0]} and {arms[1]} differs alike in all pairs of "
            f"{made.tasks} tasks, which tells no variance; state one (`hfr-bench power "
            "--discordant`, `--sd`), or chances of an event (`--rare`)"
        )
    return made


def _check(experiment: Experiment, arms: tuple[str, str], metric: str, rate: float | None) -> None:
    known = [arm.name for arm in experiment.prereg.arms]
    for arm in arms:
        if arm not in known:
            raise BadInputError(f"no arm {arm!r}; there are: {', '.join(known)}")
    if arms[0] == arms[1]:
        raise BadInputError(f"{arms[0]} against itself differs in nothing; name two arms")
    if metric not in SIZED:
        raise BadInputError(f"--metric {metric}: power is told of {', '.join(SIZED)}")
    rates: Sequence[float] = experiment.prereg.faults.rates
    if rate is not None and rate not in rates:
        raise BadInputError(f"no rate {rate:g}; there are: {', '.join(f'{r:g}' for r in rates)}")
