"""The report's fields of `model.findings`: the front, what was believed, where arms differ."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hfr_bench.lab.believed import belief_rows
from hfr_bench.lab.controls import Ran
from hfr_bench.lab.rendering.cells import ROLES
from hfr_bench.lab.rendering.disagree import disagreements
from hfr_bench.model.findings import FrontRow
from hfr_bench.model.prereg import Lock, Preregistration
from hfr_bench.model.report import POOLED
from hfr_bench.stats.columns import Columns
from hfr_bench.stats.estimate import Setting
from hfr_bench.stats.pareto import membership


def findings(
    prereg: Preregistration,
    lock: Lock,
    setting: Setting,
    rates: Sequence[float],
    ran: Sequence[Ran],
    table: Columns,
) -> dict[str, Any]:
    """Of all analysed trials but the harness's own controls, in the order of the plan.

    `table`: their results.
    """
    main = [one for one in ran if one.row.control is None]
    arms = [arm.name for arm in prereg.arms]
    return {
        "fronts": _fronts(prereg, setting, rates, table),
        "beliefs": belief_rows(arms, ((one.result.arm, one.facts.believed) for one in main)),
        "disagreements": disagreements(setting.pairs, table.trials, lock.prereg_digest),
    }


def _fronts(
    prereg: Preregistration, setting: Setting, rates: Sequence[float], table: Columns
) -> tuple[FrontRow, ...]:
    """Membership over all rates above 0 together, then at each of them where there are several."""
    arms = [arm.name for arm in prereg.arms if arm.strategy not in ROLES]
    faulty = [rate for rate in rates if rate > 0]
    if not faulty or len(arms) < 2:
        return ()
    found = _rows(arms, setting, table, None, faulty)
    for rate in faulty if len(faulty) > 1 else ():
        found += _rows(arms, setting, table, rate, [rate])
    return tuple(found)


def _rows(
    arms: Sequence[str],
    setting: Setting,
    table: Columns,
    rate: float | None,
    rates: Sequence[float],
) -> list[FrontRow]:
    """At one rate, or at all above 0 together: then it has no name of its own."""
    picked = {arm: table.cell(arm, rates) for arm in arms}
    found = membership(picked, replace(setting, rate=rate or 0.0))
    pool = POOLED if rate is None else ""
    return [
        FrontRow(against=metric, arm=arm, rate=rate, pool=pool, **member._asdict())
        for metric, members in found.items()
        for arm, member in members.items()
    ]
