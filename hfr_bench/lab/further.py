"""The report's further metrics: from the trials and their measures to rows.

What hangs on the trace (`stats.further`) and on prices (`stats.utility`), over all rates above 0
taken together; tokens, calls and the like also without faults.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hfr_bench.lab.controls import Ran
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.report import POOLED
from hfr_bench.model.trial import TrialResult
from hfr_bench.model.worth import PriceRatios
from hfr_bench.stats.columns import Columns, Picked
from hfr_bench.stats.estimate import Setting, estimate
from hfr_bench.stats.further import FURTHER, FURTHER_PAIRED, Judged
from hfr_bench.stats.utility import coverage, utilities

ORACLE = "oracle_recovery"
Arms = dict[str, Picked]


def further(
    prereg: Preregistration, setting: Setting, ran: Iterable[Ran], table: Columns
) -> dict[str, Any]:
    """The report's fields `further`, `further_contrasts`, `utility` and `coverage`.

    Args:
        prereg: its arms, baseline and prices.
        setting: the one weight matrix; its rate is a blank.
        ran: the analysed trials, controls included (they are left out).
        table: the results of the others.
    """
    main = [one for one in ran if one.row.control is None]
    calm = {_twin(one.result): one.result for one in main if one.result.rate == 0}
    judged = [Judged(one.result, one.facts.measures, calm.get(_twin(one.result))) for one in main]
    more, arms = Columns(judged, beside=table), [arm.name for arm in prereg.arms]
    rates = [rate for rate in table.rates() if rate > 0]
    made: dict[str, Any] = {"further": (), "further_contrasts": ()}
    if calm:
        _add(made, {arm: more.cell(arm, [0.0]) for arm in arms}, setting, {"rate": 0.0})
    if not rates:
        return made
    pooled = {arm: more.cell(arm, rates) for arm in arms}
    _add(made, pooled, setting, {"rate": None, "pool": POOLED})
    results = {arm: table.cell(arm, rates) for arm in arms}
    told = [arm.name for arm in prereg.arms if arm.strategy == ORACLE]
    prices = prereg.analysis.prices or PriceRatios()
    baseline = prereg.analysis.baseline
    made["utility"] = tuple(
        utilities(results, prices, setting, baseline, told[0] if told else None)
    )
    made["coverage"] = tuple(coverage(results, setting))
    return made


def _twin(trial: TrialResult) -> tuple[str, str, int, str]:
    """What a trial shares with its fault-free twin."""
    return trial.suite, trial.task_id, trial.seed, trial.arm


def _add(made: dict[str, Any], arms: Arms, setting: Setting, where: dict[str, Any]) -> None:
    """Estimates and contrasts of some trials, labelled with where they are of."""
    found, compared = estimate(arms, replace(setting, rate=0.0), FURTHER, FURTHER_PAIRED)
    made["further"] += tuple(one.model_copy(update=where) for one in found)
    made["further_contrasts"] += tuple(one.model_copy(update=where) for one in compared)
