"""The tables that tell whether the numbers may be believed: what was met, seen, void, checked."""

from collections.abc import Iterator, Sequence

from hfr_bench.lab.rendering.cells import (
    Cell,
    Table,
    named,
    number,
    ordered,
    stressed_rates,
    titled,
)
from hfr_bench.model.report import (
    AuditRow,
    CohortRow,
    DivergenceRow,
    ForkRow,
    ObservationRow,
    Report,
)

ARMS_ABREAST = 5
"""Columns of arms beside each other, so that a table of kinds and arms fits 132 columns."""


def abreast(arms: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Arms in groups that fit beside each other, each with what a title adds."""
    for first in range(0, len(arms), ARMS_ABREAST):
        some = arms[first : first + ARMS_ABREAST]
        whole = len(arms) <= ARMS_ABREAST
        yield "" if whole else f", arms {first + 1}-{first + len(some)} of {len(arms)}", some


def delivery(report: Report) -> Table:
    """Kinds over all arms; an arm gets a line of its own only where something is wrong."""
    kinds = _kinds(report)
    masked = any(row.masked for row in report.audit)
    sums = tuple(name for name in _AUDIT_SUMS if masked or name != "masked")
    rows = []
    for (layer, kind), found in kinds.items():
        rows.append(_audit_row(kind, layer, "all", found, sums))
        rows += [_audit_row(kind, layer, row.arm, [row], sums) for row in found if not row.right]
    if len(kinds) > 1:
        rows.append(_audit_row("all kinds", "", "all", report.audit, sums))
    legend = (
        "Recomputed from what the outer recorder saw. Reached must equal delivered; scheduled "
        "counts every step that might have come. "
    )
    legend += (
        "Masked: hidden by a layer that the arm declares." if masked else "Nothing was masked."
    )
    header = ("Kind", "Layer", "Arm", *(_AUDIT_SUMS[name] for name in sums), "Instead")
    return titled(report, "Delivery audit", header, rows, legend, left=3)


def _kinds(report: Report) -> dict[tuple[str, str], list[AuditRow]]:
    kinds: dict[tuple[str, str], list[AuditRow]] = {}
    for row in report.audit:
        kinds.setdefault((row.layer, row.kind), []).append(row)
    return kinds


def _audit_row(
    kind: str, layer: str, arm: str, found: Sequence[AuditRow], sums: Sequence[str]
) -> list[Cell]:
    counts = [sum(getattr(row, name) for row in found) for name in sums]
    instead = [text for row in found for text in row.mismatched] if arm != "all" else []
    return [
        Cell(kind),
        Cell(layer),
        Cell(arm),
        *(Cell(str(n)) for n in counts),
        Cell(instead[0] if instead else ""),
    ]


_AUDIT_SUMS = {
    "scheduled": "Scheduled",
    "not_reached": "Not\nreached",
    "reached": "Reached",
    "delivered": "Delivered",
    "masked": "Masked",
}


def delivery_by_arm(report: Report) -> tuple[Table, ...]:
    """Every kind in every arm: delivered of reached, and of scheduled; totals below."""
    found = {(row.layer, row.kind, row.arm): row for row in report.audit}
    legend = (
        "Delivered/reached, of all that were scheduled (the rest was not come to); +m: masked; "
        "!: something else was seen. Control trials count with their arm."
    )
    made = []
    for part, arms in abreast(ordered(report)):
        rows = [
            [Cell(kind), *(_delivered([found.get((layer, kind, arm))]) for arm in arms)]
            for layer, kind in _kinds(report)
        ]
        total = [_delivered([row for row in report.audit if row.arm == arm]) for arm in arms]
        rows.append([Cell("all kinds"), *total])
        title = f"Delivery by kind and arm{part}"
        made.append(titled(report, title, ("Kind", *arms), rows, legend))
    return tuple(made) if report.audit else ()


def _delivered(found: Sequence[AuditRow | None]) -> Cell:
    rows = [row for row in found if row is not None]
    if not rows:
        return Cell("-")
    delivered, reached, masked, scheduled = (
        sum(getattr(row, name) for row in rows)
        for name in ("delivered", "reached", "masked", "scheduled")
    )
    mark = "" if all(row.right for row in rows) else " !"
    more = f" +{masked}" if masked else ""
    return Cell(f"{delivered}/{reached}{more}{mark}", f"of {scheduled}")


def organic(report: Report) -> Table | None:
    """Errors of the model service itself, by arm; None where there were none."""
    if not any(row.absorbed or row.exhausted for row in report.organic):
        return None
    found = {row.arm: row for row in report.organic}
    rows = [
        [Cell(arm), Cell(str(found[arm].absorbed)), Cell(str(found[arm].exhausted))]
        for arm in ordered(report)
        if arm in found
    ]
    legend = (
        "Nobody injected these: their hits carry no injection's id. Absorbed: tried again above "
        "the injector, unseen by the arm and untimed. Exhausted: no answer came; a void."
    )
    return titled(report, "Organic errors", ("Arm", "Absorbed", "Exhausted"), rows, legend)


def observations(report: Report) -> tuple[Table, ...]:
    """Observation points, kind by kind, passed by each arm; empty where none could be told.

    A kind that was delivered, and of which nothing could be told, has a line that says so.
    """
    found = {(row.layer, row.kind, row.point, row.arm): row for row in report.observations}
    if not found:
        return ()
    told = {key[:2] for key in found}
    silent = [
        (layer, kind, "(none could be told)")
        for (layer, kind), rows in _kinds(report).items()
        if (layer, kind) not in told and any(row.delivered for row in rows)
    ]
    every = dict.fromkeys([*(key[:3] for key in found), *silent])
    points = sorted(every, key=lambda key: key[:2])
    shown = [arm for arm in ordered(report) if any(key[3] == arm for key in found)]
    return tuple(_observed(report, found, points, arms, part) for part, arms in abreast(shown))


def _observed(
    report: Report,
    found: dict[tuple[str, str, str, str], ObservationRow],
    points: Sequence[tuple[str, str, str]],
    arms: Sequence[str],
    part: str,
) -> Table:
    rows = [
        [
            Cell(kind),
            Cell(point.replace("_", " ")),
            *(_passed(found.get((layer, kind, point, arm))) for arm in arms),
        ]
        for layer, kind, point in points
    ]
    legend = (
        "Of the delivered faults of which it can be told, at how many the arm did what table 16 of "
        "the paper looks for. Arms meet different faults: they diverge after the first one."
    )
    header = ("Kind", "Observation point", *arms)
    return titled(report, f"Observation points passed{part}", header, rows, legend, left=2)


def _passed(row: ObservationRow | None) -> Cell:
    if row is None or not row.n:
        return Cell("-")
    return Cell(f"{row.held}/{row.n}", f"{row.held / row.n:.0%}")


def exposure(report: Report) -> Table | None:
    """How many planned faults each arm's trials met."""
    found = {(row["arm"], row["rate"]): row for row in report.exposure}
    rates = stressed_rates(report)
    if not rates:
        return None
    rows = [
        [Cell(arm), *(_met(found[arm, rate]) for rate in rates if (arm, rate) in found)]
        for arm in ordered(report)
    ]
    legend = (
        "Planned faults that each arm's trials met, and per trial. Arms diverge after the first "
        "one: who ends early meets fewer."
    )
    header = ["Arm", *(named(report, rate) for rate in rates)]
    return titled(report, "Exposure: faults reached", header, rows, legend)


def _met(row: dict[str, int]) -> Cell:
    return Cell(
        str(row["reached"]), f"{row['reached'] / row['trials']:.2f}" if row["trials"] else ""
    )


def forks(report: Report) -> Table | None:
    """What each arm made of each sort of first fault; None in other designs."""
    if not report.forks:
        return None
    found: dict[tuple[str, str], list[ForkRow]] = {}
    for row in report.forks:
        point, _, kind = row.fork.partition("/")[2].partition("/")
        found.setdefault((f"{kind} at {point.partition('#')[0]}", row.arm), []).append(row)
    sorts = sorted({sort for sort, _ in found})
    arms = [arm for arm in ordered(report) if any(key[1] == arm for key in found)]
    rows = [[Cell(sort), *(_made_of(found.get((sort, arm))) for arm in arms)] for sort in sorts]
    legend = (
        "Succeeded / trials that came to the fork (below: harm, handed over). All arms come to a "
        "fork in the same state; its continuations share it, so these are counts without "
        "intervals. JSON has each fork."
    )
    return titled(report, "Forks, by first fault", ("First fault", *arms), rows, legend)


def prefixes(report: Report) -> Table | None:
    """What a live fork's trials were played before their first faults; None elsewhere."""
    if not report.prefixes:
        return None
    found = {row.arm: row for row in report.prefixes}
    rows = [
        [
            *(Cell(arm), Cell(str(row.trials)), Cell(str(row.parted))),
            *(Cell(str(row.played)), Cell(str(row.asked - row.played))),
            Cell("unknown" if row.cost_microusd is None else f"{row.cost_microusd / 1e6:.4f}"),
        ]
        for arm in ordered(report)
        if (row := found.get(arm)) is not None
    ]
    legend = (
        "Trials that were played what the calm trial of their task and seed was answered, up to "
        "their first fault. Parted: asked for what is not recorded, and went on live; such trials "
        "stay in their arm's estimates and are left out of the counts by first fault. $: charged "
        "for played answers as recorded, and not paid again."
    )
    header = ("Arm", "Trials", "Parted", "Answers played", "Live", "$ not paid")
    return titled(report, "Recorded prefixes", header, rows, legend)


def _made_of(rows: Sequence[ForkRow] | None) -> Cell:
    kept = [row for row in rows or () if row.same_state and row.came]
    if not kept:
        return Cell("-")
    won, came = sum(row.succeeded for row in kept), sum(row.came for row in kept)
    harm, people = sum(row.harm for row in kept), sum(row.escalated for row in kept)
    return Cell(f"{won}/{came}", f"{harm}, {people}")


def divergence(report: Report) -> Table | None:
    """Where trials of one pair group part; None where it was not looked at."""
    if not report.divergence:
        return None
    found = {(row.arm, row.rate): row for row in report.divergence}
    rates = tuple(dict.fromkeys(row.rate for row in report.divergence))
    rows = [
        [Cell(arm), *(_parted(found[arm, rate]) for rate in rates if (arm, rate) in found)]
        for arm in ordered(report)
        if any((arm, rate) in found for rate in rates)
    ]
    legend = (
        f"Against {report.divergence[0].against}, same task, seed and faults: pairs whose steps "
        "differ, and the median step where they part (+n: steps after the first failed attempt)."
    )
    header = ["Arm", *(named(report, rate) for rate in rates)]
    return titled(report, "Divergence: where pairs part", header, rows, legend)


def states(report: Report) -> Table | None:
    """Verdict and state side by side; None where they never come apart."""
    if not report.states:
        return None
    rows = [
        [
            *(Cell(row.suite), Cell(row.arm), Cell(named(report, row.rate))),
            Cell(f"{row.official}/{row.trials}"),
            Cell(f"{row.trials - row.same}/{row.trials}"),
            Cell(str(row.resolved_other)),
            Cell(str(row.same_failed)),
        ]
        for row in report.states
    ]
    legend = (
        "Official: the suite's own verdict. Other state: the world at the end is not that of the "
        "same arm, task and seed without faults. Unseen: officially right, and another state."
    )
    header = ["Suite", "Arm", "Faults", "Official", "Other state", "Unseen", "Same, but failed"]
    return titled(report, "Verdict and state", header, rows, legend)


def _parted(row: DivergenceRow) -> Cell:
    share = f" {row.diverged / row.groups:.0%}" if row.groups else ""
    after = "" if row.after is None else f" ({row.after:+d})"
    return Cell(
        f"{row.diverged}/{row.groups}{share}", "" if row.step is None else f"step {row.step}{after}"
    )


def voids(report: Report) -> Table | None:
    """Voids and what they could do to SR; None where there were none."""
    rows = [
        [
            Cell(row.arm),
            Cell(str(row.voids)),
            Cell(", ".join(f"{cause} {n}" for cause, n in row.causes.items())),
            Cell(str(row.dropped)),
            Cell(_between(row.sr_worst, row.sr_best, "share")),
            Cell(_between(row.harm_worst, row.harm_best, "per_1000")),
        ]
        for row in report.voids
        if row.voids or row.dropped
    ]
    if not rows:
        return None
    header = ("Arm", "Voids", "Causes", "Dropped", "SR % at\nworst, best")
    legend = (
        "Trials that measured nothing because our own side broke; never an arm's failure. At "
        "worst, at best: if every dropped trial had failed and done as much harm as the worst "
        "trial of any arm, or had succeeded and done none."
    )
    return titled(report, "Voids", (*header, "Harm/1000 at\nworst, best"), rows, legend)


def _between(worst: float | None, best: float | None, unit: str) -> str:
    if worst is None or best is None:
        return ""
    return f"{number(worst, unit)}, {number(best, unit)}"


def cohorts(report: Report) -> Table | None:
    """What the state that cohorts share did, by arm and rate; None where there are none."""
    if not report.cohorts:
        return None
    rows = []
    for arm in ordered(report):
        for rate in report.rates:
            found = [row for row in report.cohorts if (row.arm, row.rate) == (arm, rate)]
            if any(getattr(row, name) for row in found for name in _COHORT_SUMS):
                sums = [_per_cohort(found, name) for name in _COHORT_SUMS]
                size = f"{len(found)} of {min(r.trials for r in found)}"
                most = max(r.trials for r in found)
                size += f"-{most}" if most > min(r.trials for r in found) else ""
                rows.append([Cell(arm), Cell(named(report, rate)), Cell(size), *sums])
    header = (
        *("Arm", "Faults", "Cohorts", "Breaker openings", "Trials begun\nunder an open breaker"),
        *("Calls\nkept back", "Retries\nrefused"),
    )
    legend = (
        "Sums over all cohorts, and the least and most of one. Kept back: calls that did not go "
        "out, since a breaker was open. Refused: failures met when the tenant had no retries left, "
        "though step and task had. Arms that are not listed: nothing. Every cohort: --format csv."
    )
    return titled(report, "What cohorts share did", header, rows, legend, left=3)


_COHORT_SUMS = ("openings", "began_open", "kept_back", "refused")


def _per_cohort(found: Sequence[CohortRow], name: str) -> Cell:
    counts = [getattr(row, name) for row in found]
    return Cell(str(sum(counts)), f"{min(counts)}-{max(counts)}")


def checks(report: Report) -> Table:
    """The controls."""
    words = {True: "ok", False: "FAILED", None: "not checked"}
    rows = [
        [
            Cell("INVALID" if c.decides and c.passed is False else words[c.passed]),
            Cell(c.name),
            Cell(c.detail),
        ]
        for c in report.controls
    ]
    legend = "Checks on the harness itself. INVALID: no number may be used; FAILED: a warning."
    return titled(report, "Controls", ("Result", "Check", "Detail"), rows, legend, left=3)
