"""What an experiment of this size can show of each of its hypotheses, worked out before the run.

From registered variances, or defaults that are named as such. Rare counts are exact (the sign
test's own power); shares and amounts use the normal approximation (`stats.power`).
"""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import NamedTuple

from hfr_bench.model.prereg import Hypothesis, Preregistration
from hfr_bench.model.registered import ClaimPower, Powering, Variance
from hfr_bench.stats.metrics import METRICS, Metric
from hfr_bench.stats.power import Aim, binary_sd, effect_for, rate_for, spread, worth

SHARE_SD, ICC = 0.571, 0.3
"""Of a pair's difference in success, and of pairs of one task, where nothing is registered: two
arms at 66 and 72 % (facts of a simulation: docs/preregistration.md says which)."""
PROTOCOL, MANY = 200, 500
"""Tasks that the protocol asks for of each suite; of one whose differences vary much."""
MUCH = 0.5
"""Standard deviation of a task's mean difference in a share above which they do: 200 tasks then
show no 10 percentage points."""
FEW_SEEDS = 3


class Size(NamedTuple):
    """What a claim rests on: units (tasks, cohorts), and pairs of trials in each."""

    units: int
    pairs: int


def size_of(prereg: Preregistration, claim: Hypothesis, tasks: Sequence[int]) -> Size:
    """The size behind one claim. `tasks`: how many of each suite."""
    rates = sum(rate > 0 for rate in prereg.faults.rates) if claim.rate is None else 1
    pairs = len(prereg.seeds) * rates
    if prereg.cohorts is None:
        return Size(sum(tasks), pairs)
    units = sum(ceil(n / prereg.cohorts.size) for n in tasks)
    # A cohort under one seed is a unit of its own chance, but its tasks are drawn together.
    return Size(units, max(1, pairs * sum(tasks) // max(1, units)))


def claims(prereg: Preregistration, tasks: Sequence[int]) -> tuple[ClaimPower, ...]:
    """What can be shown of each hypothesis; nothing for designs whose trials are not drawn.

    `tasks`: how many of each suite.
    """
    if prereg.faults.design != "sampled":
        return ()
    wanted = prereg.power or Powering()
    families = [claim.family for claim in prereg.hypotheses]
    return tuple(
        _claim(
            claim,
            size_of(prereg, claim, tasks),
            Aim(wanted.target, (1 - prereg.analysis.level) / families.count(claim.family)),
            next((one for one in wanted.variances if one.metric == claim.metric), None),
        )
        for claim in prereg.hypotheses
    )


def _claim(claim: Hypothesis, size: Size, aim: Aim, given: Variance | None) -> ClaimPower:
    metric = METRICS[claim.metric]
    # Equivalence must clear two margins at once: each test may err half as often.
    test = aim if claim.direction != "equal" else Aim(1 - (1 - aim.power) / 2, aim.alpha)
    said = ClaimPower(
        id=claim.id,
        metric=claim.metric,
        unit=metric.unit,
        tasks=size.units,
        pairs=size.pairs,
        power=aim.power,
        alpha=aim.alpha,
        margin=claim.margin,
    )
    found = _detectable(metric, size, test, given)
    made = said.model_copy(update=found)
    small = claim.margin < 0 or claim.direction == "equal"
    under = small and made.detectable is not None and abs(claim.margin) < made.detectable
    return made.model_copy(update={"underpowered": under})


def _detectable(metric: Metric, size: Size, aim: Aim, given: Variance | None) -> dict[str, object]:
    """The fields of ClaimPower that say how much, by which method, from what."""
    rare = metric.counts and metric.better == "lower"
    if given is not None and given.chances is not None:
        return _exact(metric, size, aim, min(given.chances), given.icc, given.source)
    if given is None and rare:
        return _exact(metric, size, aim, 0.0, ICC, "default: none in the better arm")
    if given is None and metric.unit != "share":
        return {"note": f"no default variance of {metric.name}: register power.variances"}
    if given is None:
        sd, icc, basis = SHARE_SD, ICC, "default"
    else:
        one = binary_sd(*given.discordant) if given.discordant is not None else given.sd or 0.0
        # Chances and discordant shares are of a trial; a stated sd is in the record's own unit.
        sd = one * (metric.scale if given.discordant is not None else 1)
        icc, basis = given.icc, given.source
    whole = spread(sd, icc).of(size.pairs)
    return {
        "basis": basis,
        "sd": sd,
        "icc": icc,
        "detectable": effect_for(size.units, whole, aim),
        "method": "normal",
    }


def _exact(
    metric: Metric, size: Size, aim: Aim, low: float, icc: float, basis: str
) -> dict[str, object]:
    """The smallest chance of an event, beyond `low`, that the sign test finds often enough."""
    least = rate_for(size.units, low, size.pairs, icc, aim)
    found: dict[str, object] = {"basis": basis, "icc": icc, "method": "exact"}
    if least is None:
        worth_ = worth(size.units, size.pairs, icc)
        return found | {"note": f"{worth_} independent pairs show no difference at all"}
    return found | {"detectable": (least - low) * metric.scale}


def notes(
    prereg: Preregistration, suites: Sequence[tuple[str, int]], found: Sequence[ClaimPower]
) -> Iterator[str]:
    """What a reader must know of the size. `suites`: name and number of tasks."""
    if prereg.faults.design == "sampled" and len(suites) > 1:
        for suite, tasks in suites:
            if tasks < PROTOCOL:
                yield f"below protocol: {tasks} tasks of {suite}, the protocol asks for {PROTOCOL}"
    for claim in found:
        if claim.underpowered and claim.detectable is not None:
            yield (
                f"underpowered: {claim.id} has the margin {abs(claim.margin):g}, and {claim.tasks} "
                f"tasks show no less than {claim.detectable:.3g} ({claim.unit})"
            )
        if claim.note:
            yield f"{claim.id}: detectable effect not told: {claim.note}"
    loose = [claim for claim in found if _varies(claim)]
    if loose and any(tasks < MANY for _, tasks in suites):
        names = ", ".join(dict.fromkeys(claim.metric for claim in loose))
        yield (
            f"below protocol: differences in {names} vary much; it then asks for {MANY} tasks of a "
            "suite"
        )


def _varies(claim: ClaimPower) -> bool:
    """Whether a task's mean difference in a share is expected to vary much."""
    if claim.unit != "share" or claim.sd is None or claim.icc is None:
        return False
    return spread(claim.sd, claim.icc).of(claim.pairs) > MUCH


def told(claim: ClaimPower) -> str:
    """A claim's power in a line."""
    if claim.detectable is None:
        return f"{claim.id} {claim.metric}: {claim.note or 'cannot be told'}"
    line = (
        f"{claim.id} {claim.metric}: detects {_amount(claim.detectable, claim.unit)} with power "
        f"{claim.power:.0%} at a two-sided error of {claim.alpha:.3g} ({claim.tasks} units x "
        f"{claim.pairs} pairs, {claim.method}; {claim.basis})"
    )
    return line + ("; UNDERPOWERED for its margin" if claim.underpowered else "")


def _amount(value: float, unit: str) -> str:
    match unit:
        case "share":
            return f"{value * 100:.1f} pp"
        case "per_1000":
            return f"{value:.3g} per 1000"
        case "microusd":
            return f"{value / 1e6:.4f} $"
        case "us":
            return f"{value / 1e6:.3g} s"
    return f"{value:.3g}"
