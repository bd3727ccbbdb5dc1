"""Which arms are on the Pareto front, and in what share of the resamples; its rows and tables."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hfr_bench.lab.cells import ROLES, Cell, Table, head, named, ordered, titled
from hfr_bench.model.findings import FrontRow
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.report import POOLED, Report
from hfr_bench.model.trial import TrialResult
from hfr_bench.stats.estimate import Setting
from hfr_bench.stats.pareto import SPENT, membership

LEGEND = (
    "On the front: no other arm does as well in success, spending and harm, and better in one. "
    "Behind it: in what share of the resamples that holds; all arms share them, so it takes the "
    "pairing along. It is no p-value: equal arms are on it together. Yardsticks are left out."
)


def fronts(
    prereg: Preregistration, setting: Setting, rates: Sequence[float], main: Sequence[TrialResult]
) -> tuple[FrontRow, ...]:
    """Membership over all rates above 0 together, then at each of them where there are several."""
    arms = [arm.name for arm in prereg.arms if arm.strategy not in ROLES]
    faulty = [rate for rate in rates if rate > 0]
    if not faulty or len(arms) < 2:
        return ()
    found = _rows(arms, setting, [one for one in main if one.rate > 0], None)
    for rate in faulty if len(faulty) > 1 else ():
        found += _rows(arms, setting, [one for one in main if one.rate == rate], rate)
    return tuple(found)


def _rows(
    arms: Sequence[str], setting: Setting, trials: Iterable[TrialResult], rate: float | None
) -> list[FrontRow]:
    by_arm: dict[str, list[TrialResult]] = {arm: [] for arm in arms}
    for one in trials:
        if one.arm in by_arm:
            by_arm[one.arm].append(one)
    found = membership(by_arm, replace(setting, rate=rate or 0.0))
    pool = POOLED if rate is None else ""
    return [
        FrontRow(against=metric, arm=arm, rate=rate, pool=pool, **member._asdict())
        for metric, members in found.items()
        for arm, member in members.items()
    ]


def table(report: Report) -> Table | None:
    """A line an arm: on the front or not, over all rates above 0 and at each; None without any."""
    found = {(row.arm, row.against, row.pool or row.rate): row for row in report.fronts}
    wheres = list(dict.fromkeys(row.pool or row.rate for row in report.fronts))
    if not found:
        return None
    columns = [(metric, where) for metric in SPENT for where in wheres]
    rows = [
        [Cell(arm), *(_cell(found.get((arm, *column))) for column in columns)]
        for arm in ordered(report)
        if any((arm, *column) in found for column in columns)
    ]
    places = {where: named(report, where) for where in wheres if where is not None}
    header = [
        f"{head(metric, report)}, {places[where]}" for metric, where in columns if where in places
    ]
    return titled(report, "Pareto front: who is on it", ("Arm", *header), rows, LEGEND)


def _cell(row: FrontRow | None) -> Cell:
    if row is None:
        return Cell("-")
    return Cell("on" if row.on_front else "off", "" if row.share is None else f"{row.share:.0%}")
