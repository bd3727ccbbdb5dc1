"""The tables of the blinded spot check: how many were looked over, what was found, who agrees."""

from collections.abc import Iterator
from typing import Any

from hfr_bench.lab.rendering.cells import Cell, Table, bracketed
from hfr_bench.model.review import AgreementRow, Review, ShareRow, StratumRow

QUESTIONS = {"goal_met": "Goal", "misdeed": "Misdeed"}
SHARES = {"false_accept": "False accepts", "misdeed": "Misdeeds"}
STRATA = {
    "escalated": "handed to a person",
    "verify_failed": "a check failed",
    "degraded": "accepted, degraded",
    "plain": "accepted, plainly",
}


def reviewed(review: Review | None) -> tuple[Table, ...]:
    """The tables; none without a review, and only the first while nothing of its draw is rated."""
    if review is None:
        return ()
    found = (shares(review), agreement(review)) if review.raters else ()
    return sample(review), *found


def _title(review: Review, text: str) -> str:
    return f"{text} | {review.origin.value}"


def sample(review: Review) -> Table:
    """What was drawn of what, and how far the raters have come."""
    rows = [_stratum(row) for row in review.strata]
    come = "; ".join(f"{r.rater} {r.rated}/{r.showings}" for r in review.raters)
    twice = review.showings - review.trials
    legend = (
        f"A keyed draw of {review.share:.0%} of each stratum, one trial at least, blind to the "
        f"arm; {twice} of {review.trials} trials are shown twice. {review.never_drawn} trials that "
        f"were neither accepted nor handed over are not drawn. Rated so far: {come or 'nothing'}."
    )
    legend += f" {review.stale} ratings of another draw are left out." if review.stale else ""
    header = ("Stratum", "Trials", "Drawn", "Weight")
    title = _title(review, "Blinded spot check")
    return Table(title, header, tuple(rows), legend)


def _stratum(row: StratumRow) -> tuple[Cell, ...]:
    weight = f"{row.weight:.1f}" if row.drawn else "-"
    counts = (Cell(str(row.population)), Cell(str(row.drawn)), Cell(weight))
    return Cell(STRATA.get(row.name, row.name)), *counts


def shares(review: Review) -> Table:
    """False accepts and misdeeds among accepted trials, as people saw them."""
    rows = tuple(_share(row) for row in review.shares)
    legend = (
        "False accepts: the goal was not reached. Misdeeds: something was done that should not "
        "have been. Of all accepted trials, all arms together, weighted up from the rated ones; "
        f"{review.level:.0%} intervals, exact on the effective n."
    )
    header = ("Among accepted trials", "Rater", "Seen k/n", "%", "Effective n", "Not said")
    return Table(_title(review, "What people found"), header, rows, legend, 2)


def _share(row: ShareRow) -> tuple[Cell, ...]:
    value, bounds = "-", ""
    if row.value is not None and row.low is not None and row.high is not None:
        value = f"{row.value * 100:.1f}*"
        bounds = bracketed(f"{row.low * 100:.1f}, {row.high * 100:.1f}")
        if row.events == 0:
            bounds = f"≤ {row.high * 100:.1f}"
    return (
        Cell(SHARES[row.metric]),
        Cell(row.rater),
        Cell(f"{row.events}/{row.n}"),
        Cell(value, bounds),
        Cell(f"{row.effective_n:.1f}"),
        Cell(str(row.untold)),
    )


def agreement(review: Review) -> Table:
    """Raters with each other, with themselves, and with the checker that they did not see."""
    rows = tuple(_agreement(row) for row in review.agreement)
    legend = (
        "Was the goal reached, was there a misdeed: over trials that both sides answered with yes "
        "or no. yy yn ny nn: the 2x2, the first side's answer first. Kappa and alpha are undefined "
        "(-) where only one answer was given, and low where one answer is rare: read them with "
        "the 2x2. No bounds: too one-sided, or no disagreement at all."
    )
    header = ("Question", "Between", "n", "Agree %", "yy yn ny nn", "Kappa", "Alpha")
    return Table(_title(review, "Agreement"), header, rows, legend, 2)


def _agreement(row: AgreementRow) -> tuple[Cell, ...]:
    together = row.kind == "all"
    cells = f"{row.yes_yes} {row.yes_no} {row.no_yes} {row.no_no}"
    between = {"repeats": f"{row.first}, twice", "checker": f"{row.first}, checker"}
    return (
        Cell(QUESTIONS[row.question]),
        Cell(between.get(row.kind, ", ".join(filter(None, (row.first, row.second))))),
        Cell(str(row.n)),
        Cell("-" if row.raw is None else f"{row.raw * 100:.0f}"),
        Cell("-" if together else cells),
        _coefficient(row.kappa, row.kappa_low, row.kappa_high),
        _coefficient(row.alpha, row.alpha_low, row.alpha_high),
    )


def _coefficient(value: float | None, low: float | None, high: float | None) -> Cell:
    if value is None:
        return Cell("-")
    bounds = "" if low is None or high is None else f"{low:.2f}, {high:.2f}"
    return Cell(f"{value:.2f}", bracketed(bounds))


def csv_rows(review: Review | None) -> Iterator[dict[str, Any]]:
    """The same as rows of the report's CSV: shares, then raw agreement, kappa and alpha."""
    if review is None:
        return
    for share in review.shares:
        yield {
            "row": "review", "metric": share.metric, "arm": share.rater, "value": share.value,
            "low": share.low, "high": share.high, "method": "exact", "events": share.events,
            "n": share.n, "note": f"effective n {share.effective_n:.3f}",
        }  # fmt: skip
    for row in review.agreement:
        shared = {"row": "agreement", "arm": row.first, "against": row.second, "n": row.n}
        cells = f"yy {row.yes_yes}, yn {row.yes_no}, ny {row.no_yes}, nn {row.no_no}"
        shared["note"] = f"{row.question}; {cells}" + (f"; {row.note}" if row.note else "")
        for name in ("raw", "kappa", "alpha"):
            bounds = {side: getattr(row, f"{name}_{side}", None) for side in ("low", "high")}
            yield shared | bounds | {"metric": name, "value": getattr(row, name)}
