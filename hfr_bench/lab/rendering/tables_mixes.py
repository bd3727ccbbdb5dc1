"""The tables of single faults, and of the mixes that they are reweighted to."""

from collections.abc import Iterator, Sequence

from hfr_bench.lab.rendering.cells import (
    Cell,
    Table,
    bounds_of,
    exact_mark,
    head,
    number,
    ordered,
    signed,
    titled,
)
from hfr_bench.lab.rendering.tables_evidence import abreast
from hfr_bench.model.mix import Source
from hfr_bench.model.mixed import KindEffect, LeftOut, MixAnswer, MixRow
from hfr_bench.model.prereg import EXHAUSTIVE
from hfr_bench.model.report import Report
from hfr_bench.stats.metrics import METRICS
from hfr_bench.stats.names import SAME, TOO_FEW

FIRST = ("sr", "harm_1000")
"""Whose tables are shown before all others."""
OTHERS = ("csr", "esc", "cost_mean", "latency_mean")
BRIEF = (*FIRST, "esc", "cost_mean")
"""Of a mix, on the first page."""


def effects(report: Report, metrics: Sequence[str] = (*FIRST, *OTHERS)) -> tuple[Table, ...]:
    """For each metric, what one fault of each kind changes in each arm; empty without any."""
    return tuple(table for metric in metrics for table in _of_metric(report, metric))


def _of_metric(report: Report, metric: str) -> Iterator[Table]:
    found = {(e.layer, e.kind, e.lands, e.arm): e for e in report.effects if e.metric == metric}
    kinds = dict.fromkeys(key[:3] for key in found)
    exact = report.design == EXHAUSTIVE
    legend = (
        "A trial with one fault minus its fault-free twin (same task, seed, arm), mean over the "
        "trials; Faults: of each arm. "
    )
    legend += (
        "Every step of the tasks once: no sampling of faults, only of tasks."
        if exact
        else "Of sampled schedules those with one planned fault on the twin's way; once it has "
        "struck, a changed course may meet more."
    )
    for part, arms in abreast(ordered(report)):
        rows = [
            [
                Cell(named(kind, lands)),
                Cell(str(max(e.faults for k, e in found.items() if k[:3] == (layer, kind, lands)))),
                *(_effect(found.get((layer, kind, lands, arm))) for arm in arms),
            ]
            for layer, kind, lands in kinds
        ]
        if rows:
            name = head(metric, report).replace("%", "pp")
            title = f"One fault: change of {name}{part}"
            yield titled(report, title, ("Kind", "Faults", *arms), rows, legend)


def named(kind: str, lands: bool | None) -> str:
    """A kind, or those of its faults that landed, or were lost."""
    return kind if lands is None else f"  {kind} {'landed' if lands else 'lost'}"


def _effect(found: KindEffect | None) -> Cell:
    if found is None or found.difference is None:
        return Cell("-", found.note if found is not None else "")
    unit = METRICS[found.metric].unit
    text = signed(found.difference, unit) + exact_mark(found.method)
    return Cell(text, bounds_of(found.low, found.high, unit) or found.note)


# -- mixes ------------------------------------------------------------------------------------


def mixes(report: Report) -> tuple[Table, ...]:
    """The first page's: what is expected of each arm under each mix, and what nobody measured."""
    return tuple(
        table
        for one in report.mixes
        for table in (*_expected(report, one, BRIEF), *_not_measured(report, one))
    )


def whole_mixes(report: Report) -> tuple[Table, ...]:
    """All metrics, and what each mix rests on."""
    return tuple(
        table
        for one in report.mixes
        for table in (
            *_expected(report, one, (*FIRST, *OTHERS)),
            *_not_measured(report, one),
            *_rests_on(report, one),
        )
    )


def _expected(report: Report, one: MixAnswer, metrics: Sequence[str]) -> Iterator[Table]:
    about = f"mix {one.name}" + ("" if one.unit == "trial" else ", a trial with one fault")
    if one.rows:
        header = ("Arm", *_heads(report, metrics, one))
        rows = [_valued(one, arm, metrics) for arm in ordered(report)]
        yield titled(report, f"Expected under {about}", header, rows, told(one))
    elif one.notes:
        notes = [[Cell(f"{note[:1].upper()}{note[1:]}.")] for note in one.notes]
        legend = "No number is given, and why."
        yield titled(report, f"Nothing is told of {about}", ("Why",), notes, legend)
    found = {(row.metric, row.arm): row for row in one.rows if row.against}
    against = next((row.against for row in found.values()), "")
    rows = [
        [Cell(f"{arm} - {against}"), *(_ranged(found.get((m, arm)), signs=True) for m in metrics)]
        for arm in ordered(report)
        if (metrics[0], arm) in found
    ]
    if rows:
        heads = [head(metric, report).replace("%", "pp") for metric in metrics]
        legend = f"First arm minus {against}: same tasks, seeds, faults and mix."
        yield titled(report, f"Differences under {about}", ("Arm", *heads), rows, legend)


def told(one: MixAnswer) -> str:
    """What a mix comes to in an experiment, and what is to be known before believing it."""
    if one.unit == "trial":
        calls = ", ".join(f"{n:.3g} {of.replace('_', ' ')}" for of, n in one.calls.items())
        text = f"{_range(one.faults_least, one.faults_most)} faults a trial of {calls}."
    else:
        text = "How often anything fails is not said: of a trial with exactly one fault."
    text += "".join(f" {note[:1].upper()}{note[1:]}." for note in one.notes)
    text += " a..b: what the mix does not know decides between the two; below, the interval."
    if _beyond(one):
        text += " With the rest: if every fault that no trial covers failed, or succeeded."
    return text + (f" Source: {cited(one.source)}." if one.source else "")


def cited(source: Source) -> str:
    """A source in a few words."""
    more = " et al." if len(source.authors) > 1 else ""
    who = f"{source.authors[0]}{more}" if source.authors else source.title
    return ", ".join(part for part in (who, str(source.year or ""), source.id) if part)


def _range(low: float, high: float) -> str:
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def _heads(report: Report, metrics: Sequence[str], one: MixAnswer) -> list[str]:
    made = [head(metric, report) for metric in metrics]
    return [*made, "SR % with\nthe rest"] if _beyond(one) else made


def _beyond(one: MixAnswer) -> bool:
    return any(row.worst is not None or row.best is not None for row in one.rows)


def _valued(one: MixAnswer, arm: str, metrics: Sequence[str]) -> list[Cell]:
    found = {row.metric: row for row in one.rows if row.arm == arm and not row.against}
    cells = [Cell(arm), *(_ranged(found.get(metric)) for metric in metrics)]
    success = found.get("sr")
    if _beyond(one) and success is not None:
        ends = (success.worst, success.best)
        cells.append(Cell("..".join("-" if e is None else number(e, "share") for e in ends)))
    elif _beyond(one):
        cells.append(Cell("-"))
    return cells


def _ranged(row: MixRow | None, *, signs: bool = False) -> Cell:
    """Both ends of a range, or the one value that there is; its interval."""
    if row is None or row.least is None or row.most is None:
        return Cell("-", row.note if row is not None else "")
    unit = METRICS[row.metric].unit
    ends = [signed(end, unit) if signs else number(end, unit) for end in (row.least, row.most)]
    text = ends[0] if ends[0] == ends[1] else "..".join(ends)
    note = row.note if row.note in (SAME, TOO_FEW) else "no interval"
    return Cell(text + exact_mark(row.method), bounds_of(row.low, row.high, unit) or note)


def _not_measured(report: Report, one: MixAnswer) -> Iterator[Table]:
    legend = (
        "No trial of this experiment has such a fault: it counts as no fault at all, and nothing "
        "else is scaled up for it."
    )
    header = ("In the mix", "Kind", "Calls", "How much")
    rows = [_left(row) for row in one.left_out]
    if rows:
        yield titled(report, f"Not measured, of mix {one.name}", header, rows, legend, left=4)


def _left(row: LeftOut) -> list[Cell]:
    times, unit = (100.0, "% of the faults") if row.unit == "share" else (1.0, "of 1,000 calls")
    much = f"{_range(row.least * times, row.most * times)} {unit}"
    kind = row.kind or "(nothing of ours is like it)"
    return [Cell(row.what), Cell(kind), Cell(row.of.replace("_", " ")), Cell(much)]


def _rests_on(report: Report, one: MixAnswer) -> Iterator[Table]:
    """Source, figures taken from it, and what it does not tell."""
    rows: list[tuple[str, str]] = []
    if one.source is not None:
        source = one.source
        rows += [("source", f"{', '.join(source.authors)}: {source.title}"), ("id", source.id)]
        rows += [("where", source.where), ("read", source.read)]
        rows += [("figure", figure) for figure in source.figures]
    rows += [("not known", text) for text in one.not_known]
    shown = [[Cell(name), Cell(text)] for name, text in rows if text]
    if shown:
        legend = "What was taken from where, and what the source does not tell."
        title = f"What mix {one.name} rests on"
        yield titled(report, title, ("", "In the mix's own words"), shown, legend, left=2)
