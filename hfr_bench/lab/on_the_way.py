"""The report's parts about what trials met, what they did about it, and where they part."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from hfr_bench.faults.observe import rows as observation_rows
from hfr_bench.lab.controls import Ran, came
from hfr_bench.lab.divergence import divergence, reference
from hfr_bench.lab.forks import forks
from hfr_bench.lab.joint import cohort_rows
from hfr_bench.lab.states import states
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.report import DivergenceRow, ObservationRow


def on_the_way(
    prereg: Preregistration, rates: Sequence[float], ran: Sequence[Ran], silent: tuple[str, ...]
) -> dict[str, Any]:
    """The fields. `silent`: kinds that were met and give no error."""
    return {
        "silent_kinds": silent,
        "rates": tuple(rates),
        "observations": _observations(ran),
        "exposure": _exposure(prereg, rates, ran),
        "divergence": _divergence(prereg, rates, ran),
        "forks": forks(came(ran), [arm.name for arm in prereg.arms]),
        "cohorts": cohort_rows(prereg, [(one.row, one.facts.joint) for one in ran]),
        "states": states(one.result for one in ran if one.row.control is None),
    }


def _observations(ran: Iterable[Ran]) -> tuple[ObservationRow, ...]:
    """Observation points of all trials but the controls."""
    found = observation_rows(one.facts.audit for one in ran if one.row.control is None)
    return tuple(ObservationRow(**row._asdict()) for row in found)


def _divergence(
    prereg: Preregistration, rates: Sequence[float], ran: Sequence[Ran]
) -> tuple[DivergenceRow, ...]:
    """Where each arm parts from the one that sees the truth."""
    main = ((one.row.trial, one.facts.path) for one in ran if one.row.control is None)
    return divergence(reference(prereg), main, rates)


def _exposure(
    prereg: Preregistration, rates: Sequence[float], ran: Iterable[Ran]
) -> tuple[dict[str, Any], ...]:
    """How many faults each arm met at each rate; arms diverge after their first one."""
    sums: dict[tuple[str, float], Counter[str]] = {
        (arm.name, rate): Counter() for arm in prereg.arms for rate in rates
    }
    for one in ran:
        if one.row.control is not None:
            continue
        cell = sums[one.row.trial.arm, one.row.trial.rate]
        cell["trials"] += 1
        kinds = one.facts.audit.sums.values()
        cell["scheduled"] += sum([kind.scheduled for kind in kinds])
        cell["reached"] += sum([kind.reached for kind in kinds])
        cell["delivered"] += sum([kind.delivered for kind in kinds])
    names = ("trials", "scheduled", "reached", "delivered")
    return tuple(
        {"arm": arm, "rate": rate} | {name: cell[name] for name in names}
        for (arm, rate), cell in sums.items()
    )
