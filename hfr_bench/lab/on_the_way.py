"""The report's parts about what trials met, what they did about it, and where they part."""

from collections.abc import Iterable, Sequence
from typing import Any

from hfr_bench.faults.observe import rows as observation_rows
from hfr_bench.lab.calm import live_fork
from hfr_bench.lab.controls import Ran, came, went
from hfr_bench.lab.divergence import divergence, reference
from hfr_bench.lab.forks import forks
from hfr_bench.lab.joint import cohort_rows
from hfr_bench.lab.prefixed import prefix_rows
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
        "prefixes": prefix_rows(prereg, went(prereg, ran)) if live_fork(prereg) else (),
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
    sums = {(arm.name, rate): (0, 0, 0, 0) for arm in prereg.arms for rate in rates}
    for one in ran:
        if one.row.control is not None:
            continue
        key = one.row.trial.arm, one.row.trial.rate
        trials, scheduled, reached, delivered = sums[key]
        for kind in one.facts.audit.sums.values():
            scheduled += kind.scheduled
            reached += kind.reached
            delivered += kind.delivered
        sums[key] = trials + 1, scheduled, reached, delivered
    names = ("trials", "scheduled", "reached", "delivered")
    return tuple(
        {"arm": arm, "rate": rate} | dict(zip(names, found, strict=True))
        for (arm, rate), found in sums.items()
    )
