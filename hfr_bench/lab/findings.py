"""The report's fields of `model.findings`: the front, what was believed, where arms differ."""

from collections.abc import Sequence
from typing import Any

from hfr_bench.lab.believed import belief_rows
from hfr_bench.lab.controls import Ran
from hfr_bench.lab.disagree import disagreements
from hfr_bench.lab.fronts import fronts
from hfr_bench.model.prereg import Lock, Preregistration
from hfr_bench.stats.columns import Columns
from hfr_bench.stats.estimate import Setting


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
        "fronts": fronts(prereg, setting, rates, table),
        "beliefs": belief_rows(arms, ((one.result.arm, one.facts.believed) for one in main)),
        "disagreements": disagreements(setting.pairs, table.trials, lock.prereg_digest),
    }
