"""Which arms are on the Pareto front, and in what share of the resamples; its rows and tables."""

from collections.abc import Sequence
from dataclasses import replace

from hfr_bench.lab.cells import ROLES, Cell, Table, faulty, ordered, short, titled
from hfr_bench.model.findings import FrontRow
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.report import POOLED, Report
from hfr_bench.model.trial import TrialResult
from hfr_bench.stats.columns import Columns
from hfr_bench.stats.estimate import Setting
from hfr_bench.stats.metrics import METRICS
from hfr_bench.stats.pareto import SPENT, membership

LEGEND = (
    "In what share of the resamples the arm is on the front: no other does as well in success, "
    "spending and harm, and better in one. Behind it, whether it is on the front of all that was "
    "measured. No p-value, and none below 10 tasks. Harm that was never seen is in no resample: "
    "its bound is in Table C. Yardsticks are left out."
)


def fronts(
    prereg: Preregistration, setting: Setting, rates: Sequence[float], table: Columns
) -> tuple[FrontRow, ...]:
    """Membership over all rates above 0 together, then at each of them where there are several."""
    arms = [arm.name for arm in prereg.arms if arm.strategy not in ROLES]
    faulty = [rate for rate in rates if rate > 0]
    if not faulty or len(arms) < 2:
        return ()
    found = _rows(arms, setting, table, None)
    for rate in faulty if len(faulty) > 1 else ():
        found += _rows(arms, setting, table, rate)
    return tuple(found)


def _rows(
    arms: Sequence[str], setting: Setting, table: Columns, rate: float | None
) -> list[FrontRow]:
    """At one rate, or at all above 0 together."""
    by_arm: dict[str, list[TrialResult]] = {arm: [] for arm in arms}
    for one in table.trials:
        if one.arm in by_arm and (one.rate > 0 if rate is None else one.rate == rate):
            by_arm[one.arm].append(one)
    picked = {arm: table.pick(trials) for arm, trials in by_arm.items()}
    found = membership(picked, replace(setting, rate=rate or 0.0))
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
    header = [f"{METRICS[metric].short}, {_place(report, where)}" for metric, where in columns]
    return titled(report, f"Pareto front, {faulty(report)}", ("Arm", *header), rows, LEGEND)


def _place(report: Report, where: float | str | None) -> str:
    """Where a front was looked at, in a word: the title says what is pooled."""
    return short(report, where) if isinstance(where, float) else "pooled"


def _cell(row: FrontRow | None) -> Cell:
    if row is None:
        return Cell("-")
    place = "on" if row.on_front else "off"
    return Cell(place) if row.share is None else Cell(f"{row.share:.0%}", place)
