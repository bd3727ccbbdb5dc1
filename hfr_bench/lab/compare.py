"""Two arms side by side: which trials they differ in, and by how much, over the same faults.

The differences are those of the report: same weights, same intervals. Only pair groups that are
complete in all arms are compared.
"""

from collections.abc import Iterable, Mapping, Sequence

from hfr_bench.errors import BadInputError
from hfr_bench.lab.cohorts import drawn as drawn_units
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.store import Store, choose
from hfr_bench.model.comparison import Comparison, Discordant, Met, Side
from hfr_bench.model.report import POOLED, PairedEstimate, Report
from hfr_bench.model.trial import TrialResult
from hfr_bench.stats.bootstrap import draw, strata, units
from hfr_bench.stats.estimate import Setting, estimate
from hfr_bench.stats.metrics import outcome

Pair = tuple[TrialResult, TrialResult]


def compare(
    experiment: Experiment,
    report: Report,
    results: Sequence[TrialResult],
    arm: str,
    against: str,
    rate: float | None = None,
) -> Comparison:
    """Compare two arms at one rate, or over all rates above 0.

    Args:
        experiment: what was registered and planned.
        report: its report, for validity and exposure.
        results: the graded trials that the report is made of, controls left out.
        arm: the arm whose gains count as won.
        against: the arm that it is held against.
        rate: one of the registered rates; None: all above 0 together.

    Raises:
        BadInputError: an unknown arm or rate (what there is gets listed), the same arm twice, or
            no trials of both.
    """
    _check(report, arm, against, rate)
    chosen = [one for one in results if (one.rate == rate if rate is not None else one.rate > 0)]
    pairs = _pairs(chosen, arm, against)
    if not pairs:
        raise BadInputError(
            f"no pair group of {arm} and {against} is complete at this rate; run "
            f"`hfr-bench run {experiment.path}` first"
        )
    won, lost, both, harm = _sorted(pairs)
    same = ("name", "title", "origin", "valid", "complete", "level", "notes")
    return Comparison(
        **{name: getattr(report, name) for name in same},
        arm=arm,
        against=against,
        rate=rate,
        pool=POOLED if rate is None else "",
        pairs=len(pairs),
        tasks=len(units(chosen)),
        both=both,
        neither=len(pairs) - both - len(won) - len(lost),
        differences=_differences(experiment, results, pairs, rate),
        won=won,
        lost=lost,
        harm=harm,
        exposure=_exposure(report.exposure, (arm, against), rate),
    )


def graded(experiment: Experiment, store: Store) -> list[TrialResult]:
    """The results of the last complete round of every pair group, controls left out."""
    checked = [store.check(file) for file in store.files()]
    done = choose(experiment.plan, checked, experiment.prereg.void_rounds).trials
    found = [done.get(row.trial.trial_id) for row in experiment.plan if row.control is None]
    return [one.result for one in found if one is not None and one.result is not None]


def _check(report: Report, arm: str, against: str, rate: float | None) -> None:
    """Raises BadInputError for what is not there, and says what is."""
    for name in (arm, against):
        if name not in report.arms:
            raise BadInputError(f"no arm {name!r}; there are: {', '.join(report.arms)}")
    if arm == against:
        raise BadInputError(f"{arm} against itself differs in nothing; name two arms")
    if rate is not None and rate not in report.rates:
        known = ", ".join(f"{one:g}" for one in report.rates)
        raise BadInputError(f"no rate {rate:g}; there are: {known}")


def _pairs(results: Iterable[TrialResult], arm: str, against: str) -> list[Pair]:
    """The two trials of each pair group, in the order of suite, task, seed and rate."""
    groups: dict[str, dict[str, TrialResult]] = {}
    for result in results:
        if result.arm in (arm, against):
            groups.setdefault(result.pair_group, {})[result.arm] = result
    found = [(two[arm], two[against]) for two in groups.values() if len(two) == 2]
    return sorted(found, key=lambda two: (_order(two[0]), two[0].pair_group))


def _order(result: TrialResult) -> tuple[str, str, int, float]:
    return result.suite, result.task_id, result.seed, result.rate


def _sorted(
    pairs: Iterable[Pair],
) -> tuple[tuple[Discordant, ...], tuple[Discordant, ...], int, tuple[Discordant, ...]]:
    """Won, lost, how many both won, and those whose harm differs."""
    won, lost, harm, both = [], [], [], 0
    for ours, theirs in pairs:
        here = (outcome(ours).succeeded, outcome(theirs).succeeded)
        both += all(here)
        if here == (True, False):
            won.append(_discordant(ours, theirs))
        elif here == (False, True):
            lost.append(_discordant(ours, theirs))
        if outcome(ours).harm != outcome(theirs).harm:
            harm.append(_discordant(ours, theirs))
    return tuple(won), tuple(lost), both, tuple(harm)


def _discordant(ours: TrialResult, theirs: TrialResult) -> Discordant:
    return Discordant(
        suite=ours.suite,
        task_id=ours.task_id,
        seed=ours.seed,
        rate=ours.rate,
        ours=_side(ours),
        theirs=_side(theirs),
    )


def _side(result: TrialResult) -> Side:
    of = outcome(result)
    return Side(
        trial_id=result.trial_id,
        end=f"{of.end}: {of.reason}" if of.reason else of.end.value,
        succeeded=of.succeeded,
        duplicates=of.duplicates,
        unwanted=of.unwanted,
        partial=of.partial,
    )


def _differences(
    experiment: Experiment,
    results: Sequence[TrialResult],
    pairs: Sequence[Pair],
    rate: float | None,
) -> tuple[PairedEstimate, ...]:
    """All paired metrics, over the weights that the report draws from all its trials."""
    prereg = experiment.prereg
    drawn, index = drawn_units(prereg, experiment.plan, units(results))
    counts = draw(drawn, prereg.analysis.resamples, experiment.lock.prereg_digest)
    arm, against = pairs[0][0].arm, pairs[0][1].arm
    level, pairing = prereg.analysis.level, [(arm, against)]
    setting = Setting(rate or 0.0, level, index, counts, pairing, strata(drawn))
    arms = {arm: [ours for ours, _ in pairs], against: [theirs for _, theirs in pairs]}
    _, found = estimate(arms, setting)
    if rate is not None:
        return tuple(found)
    return tuple(one.model_copy(update={"rate": None, "pool": POOLED}) for one in found)


def _exposure(
    rows: Iterable[Mapping[str, object]], arms: Sequence[str], rate: float | None
) -> tuple[Met, ...]:
    """Faults met by each of the two, summed over the rates that are compared."""
    found = []
    names = ("trials", "reached", "delivered")
    kept = [row for row in rows if (row["rate"] == rate if rate is not None else row["rate"])]
    for arm in arms:
        sums = {n: sum(int(str(row[n])) for row in kept if row["arm"] == arm) for n in names}
        found.append(Met(arm=arm, **sums))
    return tuple(found)
