"""The rows of a report's CSV that are neither estimates nor differences of rates."""

from collections.abc import Iterator
from typing import Any

from hfr_bench.lab.rendering.disagree import SORTS
from hfr_bench.model.mixed import KindEffect, MixAnswer
from hfr_bench.model.report import POOLED, Report
from hfr_bench.stats.names import keyed

COLUMNS = (
    *("origin", "row", "metric", "arm", "against", "rate", "pool", "value", "low", "high"),
    *("method", "events", "n", "pairs", "tasks", "better", "worse", "relative", "note"),
    *("most", "worst", "best", "scheduled", "not_reached", "masked"),
)
TWIN = "fault-free twin"
Row = dict[str, Any]


def evidence(report: Report) -> Iterator[Row]:
    """Further metrics, single faults, mixes, what was met and delivered, voids, partings."""
    yield from _further(report)
    for effect in report.effects:
        yield _effect(effect)
    for mix in report.mixes:
        yield from _mix(mix)
    yield from _met(report)
    yield from _delivered(report)
    yield from _cohorts(report)
    yield from _findings(report)
    for left in report.left_out:
        yield {
            "row": "left_out", "metric": left.id, "value": left.difference, "low": left.low,
            "high": left.high, "n": left.pairs, "method": left.method,
            "note": f"without {left.kind} {left.part}",
        }  # fmt: skip
    for row in report.voids:
        yield {"row": "void", "metric": "voids", "arm": row.arm, "value": row.voids}
        for metric, worst, best in (
            ("sr", row.sr_worst, row.sr_best), ("harm_1000", row.harm_worst, row.harm_best)
        ):  # fmt: skip
            yield {
                "row": "void bounds", "metric": metric, "arm": row.arm, "events": row.dropped,
                "n": row.graded + row.dropped, "worst": worst, "best": best,
            }  # fmt: skip


def _further(report: Report) -> Iterator[Row]:
    """As estimates and differences are; utility and regret name their prices in the note."""
    for estimate in report.further:
        yield {"row": "estimate"} | estimate.model_dump(exclude={"v"})
    for paired in report.further_contrasts:
        fields = paired.model_dump(exclude={"v", "difference", "relative_low", "relative_high"})
        yield {"row": "difference", "value": paired.difference} | fields
    for row in report.utility:
        price = {"arm": row.arm, "pool": POOLED, "n": row.n}
        price["note"] = f"person {row.human:g}, harm {row.harm:g} (in successes)"
        yield {
            "row": "utility", "metric": "utility", "value": row.value, "low": row.low,
            "high": row.high,
        } | price  # fmt: skip
        yield {
            "row": "utility", "metric": "difference", "against": report.baseline,
            "value": row.difference, "low": row.difference_low, "high": row.difference_high,
        } | price  # fmt: skip
        yield {
            "row": "utility", "metric": "regret", "value": row.regret, "low": row.regret_low,
            "high": row.regret_high,
        } | price  # fmt: skip
        for name in ("even_harm", "even_human"):
            yield {"row": "utility", "metric": name, "value": getattr(row, name)} | price
    for at in report.coverage:
        yield {
            "row": "risk", "metric": "wrong", "arm": at.arm, "pool": POOLED, "events": at.wrong,
            "n": at.covered, "value": at.wrong / at.covered if at.covered else None,
            "low": at.low, "high": at.high,
            "note": f"extra attempts: {'all' if at.extra is None else at.extra}; of {at.n} trials",
        }  # fmt: skip


def _effect(effect: KindEffect) -> Row:
    """`pool` names the kind, as a mix does; `value` is the change by one fault."""
    same = {"metric", "arm", "low", "high", "method", "tasks", "better", "worse", "note"}
    fields = effect.model_dump(include=same)
    fields |= {"against": TWIN, "pool": keyed(effect.kind, effect.lands)}
    return {"row": "effect", "value": effect.difference, "n": effect.faults} | fields


def _mix(mix: MixAnswer) -> Iterator[Row]:
    """`value` to `most`: the range over what the mix does not know."""
    same = {"metric", "arm", "against", "low", "high", "method", "most", "worst", "best", "note"}
    for row in mix.rows:
        yield {"row": "mix", "pool": mix.name, "value": row.least} | row.model_dump(include=same)
    for left in mix.left_out:
        yield {
            "row": "mix left out", "pool": mix.name, "metric": left.kind, "value": left.least,
            "most": left.most, "note": f"{left.what}: {left.unit} of {left.of}",
        }  # fmt: skip


def _met(report: Report) -> Iterator[Row]:
    for met in report.exposure:
        yield {
            "row": "exposure", "metric": "reached", "arm": met["arm"], "rate": met["rate"],
            "value": met["reached"], "n": met["trials"],
        }  # fmt: skip
    for parted in report.divergence:
        yield {
            "row": "divergence", "metric": "diverged", "arm": parted.arm,
            "against": parted.against, "rate": parted.rate, "value": parted.diverged,
            "events": parted.diverged, "n": parted.groups,
            "note": f"median step {parted.step}, {parted.after} after the first failed attempt",
        }  # fmt: skip
    for prefix in report.prefixes:
        yield {
            "row": "prefix", "metric": "parted", "arm": prefix.arm, "value": prefix.parted,
            "events": prefix.parted, "n": prefix.trials,
            "note": f"{prefix.played} of {prefix.asked} answers played",
        }  # fmt: skip
    for found in report.states:
        yield {
            "row": "states", "metric": "other_state", "arm": found.arm, "rate": found.rate,
            "value": found.trials - found.same, "events": found.trials - found.same,
            "n": found.trials,
            "note": f"{found.suite}: {found.official} official, {found.resolved_other} unseen",
        }  # fmt: skip


def _delivered(report: Report) -> Iterator[Row]:
    for kind in report.audit:
        yield {
            "row": "audit", "metric": kind.kind, "arm": kind.arm, "value": kind.delivered,
            "events": kind.delivered, "n": kind.reached, "note": "; ".join(kind.mismatched),
            "scheduled": kind.scheduled, "not_reached": kind.not_reached, "masked": kind.masked,
        }  # fmt: skip
    for row in report.organic:
        for name in ("absorbed", "exhausted"):
            yield {"row": "organic", "metric": name, "arm": row.arm, "value": getattr(row, name)}
    for point in report.observations:
        yield {
            "row": "observation", "metric": point.point, "arm": point.arm, "value": point.held,
            "events": point.held, "n": point.n, "note": point.kind,
        }  # fmt: skip


def _cohorts(report: Report) -> Iterator[Row]:
    for shared in report.cohorts:
        place = f"{shared.suite} cohort {shared.cohort}, seed {shared.seed}, {shared.profile}"
        for name in ("openings", "began_open", "kept_back", "refused"):
            yield {
                "row": "cohort", "metric": name, "arm": shared.arm, "rate": shared.rate,
                "value": getattr(shared, name), "n": shared.trials, "note": place,
            }  # fmt: skip


def _findings(report: Report) -> Iterator[Row]:
    for front in report.fronts:
        yield {
            "row": "front", "metric": front.against, "arm": front.arm, "rate": front.rate,
            "pool": front.pool, "value": front.share, "n": front.resamples,
            "note": "on the front" if front.on_front else "off the front",
        }  # fmt: skip
    for belief in report.beliefs:
        yield {
            "row": "belief", "metric": belief.kind or "(nothing injected)", "arm": belief.arm,
            "value": belief.n, "note": belief.believed or "none",
        }  # fmt: skip
    for row in report.disagreements:
        for sort in SORTS:
            n = getattr(row, sort)
            yield {
                "row": "disagreement", "metric": sort, "arm": row.arm, "against": row.against,
                "value": n, "events": n, "n": row.pairs,
            }  # fmt: skip
