"""A report's words, its first page, and the whole of it as Markdown, CSV or JSON.

The first page shows all rates above 0 taken together, rounded; the detailed tables are in
`lab/rendering/tables.py`. The terminal's own look is in `cli/report_text.py`.
"""

import csv
import io
from collections.abc import Sequence

from hfr_bench.lab.looks import told
from hfr_bench.lab.rendering.cells import (
    EXHAUSTIVE,
    FORK,
    GEAR,
    Cell,
    Table,
    brief,
    brief_difference,
    faulty,
    finder,
    flat,
    head,
    number,
    ordered,
    short,
    titled,
    yardsticks,
)
from hfr_bench.lab.rendering.rows import COLUMNS, evidence
from hfr_bench.lab.rendering.tables import COSTS, PAIRED, A, B, C, tables
from hfr_bench.lab.rendering.tables_confirm import anytime, left_out, tests
from hfr_bench.lab.rendering.tables_confirm import csv_rows as always
from hfr_bench.lab.rendering.tables_deviations import csv_rows as deviating
from hfr_bench.lab.rendering.tables_deviations import deviations
from hfr_bench.lab.rendering.tables_evidence import checks, cohorts, delivery, organic, voids
from hfr_bench.lab.rendering.tables_mixes import mixes
from hfr_bench.lab.rendering.tables_reviewed import csv_rows, reviewed
from hfr_bench.model.report import POOLED, HypothesisRow, Report
from hfr_bench.model.terms import Origin
from hfr_bench.stats.metrics import METRICS
from hfr_bench.stats.names import FEW

# The headline's metrics and column names. Giving up must not win: success, clean success and
# harm come first, and safe completion, in which an arm that gives up looks best, is in Table C.
HEADLINE = {
    "sr": "SR\n%",
    "csr": "CSR\n%",
    "harm_1000": "Harm\nk/n, /1000",
    "dup_ambiguous": "Dup/\nambig.",
    "esc": "ESC\n%",
    "cps": "CPS\n$",
    "ra": "RA\n",
    "p95": "p95\ns",
}
BOUNDED = ("sr", "harm_1000", "dup_1000")
"""Whose intervals the first page shows; all others are in the detailed tables."""
DECIDING = ("sr", "harm_1000", "cost_mean")
"""Whose paired differences the first page shows."""
TRUTH = "oracle_recovery"

PAIRING = (
    "Every arm met the same tasks, seeds and planned faults; only its recovery differs. "
    "Compare arms by the paired differences, not by whether their intervals overlap."
)
ORDER = (
    "Read success, clean success and harm before safe completion (Table C): an arm that gives up "
    "early completes safely and achieves nothing."
)
DRAWN = (
    "Intervals that are not exact are percentiles of resampled tasks (cohorts, where registered). "
    "Of few, these would lie too close together; they are read as far out as a t interval asks "
    "(expanded percentiles: of 10 those of 98.3 % for 95 %, of 30 of 96.2 %, of 200 of 95.2 %)."
)
COUNTS = (
    "k/n counts events: 0/63 with ≤ 46.4 means that none was seen, and that up to 46.4 per 1000 "
    "cannot be excluded; ≥ says the same of what every one had. An asterisk marks exact intervals "
    "(fewer than 10 events, or tasks with one, or without); - is undefined."
)
REHEARSAL = (
    "Rehearsal: a script plays the model, so SR restates the script and money is modelled. "
    "Effects, harm and delivery are real."
)
FIRST_PAGE = (
    "Same tasks, seeds and planned faults in every arm: compare arms by the paired differences.",
    "Read SR, CSR and harm first: an arm that gives up early completes safely, achieving nothing.",
    "SR: success. CSR: without a duplicate effect.",
    "Harm: duplicate, unwanted, partial effects. Dup/ambig.: duplicates / writes left uncertain.",
    "ESC: handed to a person. CPS: cost of all trials per success. RA: attempts per logical step.",
    "k/n: k seen in n. [a, b]: interval. ≤ b: none seen, b not excluded. *: exact, few events.",
    "More: --full (every rate, metric, interval); --format html|md|latex|csv|json; traces: trials/",
)
"""How to read the first page; a line each at 100 columns."""


# -- words ------------------------------------------------------------------------------------


def verdict(report: Report) -> str:
    """Whether the report may be believed, in one line."""
    done = f"{report.trials_analysed} of {report.trials_planned} planned trials analysed"
    if not report.valid:
        why = "; ".join(c.name for c in report.controls if c.decides and c.passed is False)
        why = f"not true: {why}" if why else "see the notes"
        return f"INVALID ({why}); {done}. Do not use the numbers."
    state = "complete" if report.complete else "INCOMPLETE"
    failed = sum(control.passed is False for control in report.controls)
    return f"valid, {state}: {done}" + (f"; {failed} control(s) FAILED" if failed else "")


def facts(report: Report) -> tuple[tuple[str, str], ...]:
    """What was run, as name and value."""
    size = f"{report.tasks} tasks x {report.seeds} seed(s) x {_profiles(report)}"
    return (
        ("verdict", verdict(report)),
        ("origin", report.origin.value),
        ("size", f"{size} x {len(report.arms)} arms"),
        ("controls", f"{report.control_trials} further control trials"),
        ("dropped", f"{report.groups_dropped} pair groups"),
        ("baseline", report.baseline),
        ("intervals", intervals(report)),
        *_look(report),
        ("prereg", report.prereg_digest[:16]),
        ("traces", report.traces_digest[:16]),
        ("harness", report.harness_version),
        ("tools in", ", ".join(report.ran_in)),
    )


def _look(report: Report) -> tuple[tuple[str, str], ...]:
    """The registered look that the report is made at, where looks are registered."""
    return () if report.look is None else (("look", told(report.look)),)


def _profiles(report: Report) -> str:
    """What was planned to fail, for a line on the experiment's size."""
    if report.design == EXHAUSTIVE:
        return "every single fault"
    if report.design == FORK:
        return f"{len({(r.suite, r.task_id, r.seed, r.fork) for r in report.forks})} forks"
    return "fault rates " + ", ".join(f"{rate * 100:.3g}" for rate in report.rates) + " %"


def intervals(report: Report) -> str:
    """How a bootstrap interval was made: level, resamples, units, and which percentiles it is."""
    level, units = share_of(report.level), report.units or report.tasks
    if units < FEW:
        return f"{level}, exact ones only: fewer than {FEW} {report.unit}s (n = {units})"
    made = f"{level}, {report.resamples} resamples of {units} {report.unit}s with their trials"
    read_at = f"; percentiles expanded to {share_of(report.read_at)}" if report.read_at else ""
    return made + read_at


def share_of(level: float) -> str:
    """A level in percent, without needless digits: 95 %, 98.3 %, 99.98 % (never 100 %)."""
    digits = next(n for n in range(1, 12) if n == 11 or round(level * 100, n) < 100)
    return f"{round(level * 100, digits):.{digits}f}".rstrip("0").rstrip(".") + " %"


def _brief_place(place: str) -> str:
    sandbox, _, image_id = place.partition(" ")
    return f"{sandbox}, image {image_id.removeprefix('sha256:')[:12]}" if image_id else sandbox


def brief_facts(report: Report) -> tuple[tuple[str, str], ...]:
    """What was run, with what, and what it is traced back to."""
    size = f"{report.tasks} tasks x {report.seeds} seed(s) x {_profiles(report)}"
    dropped = f"; {report.groups_dropped} pair groups dropped" if report.groups_dropped else ""
    digests = f"prereg {report.prereg_digest[:12]}, traces {report.traces_digest[:12]}"
    return (
        ("verdict", verdict(report) + dropped),
        ("size", f"{size} x {len(report.arms)} arms, {report.control_trials} control trials"),
        ("equipment", _equipment(report)),
        ("intervals", intervals(report)),
        *_look(report),
        ("made from", f"{digests}, harness {report.harness_version}"),
        ("tools in", ", ".join(_brief_place(place) for place in report.ran_in) or "-"),
    )


def _equipment(report: Report) -> str:
    """Which arms have more than their policy."""
    owned = {str(arm["arm"]): [name for name in GEAR if arm.get(name)] for arm in report.capability}
    parts = [f"{arm}: {' '.join(has)}" for arm, has in owned.items() if has]
    none = ["the others: none"] if parts else ["none"]
    return "; ".join(parts + (none if len(parts) < len(owned) else []))


def guide(report: Report) -> tuple[str, ...]:
    """How to read it, in a few sentences; then each metric's name spelled out."""
    rehearsal = [REHEARSAL] if report.origin is Origin.REHEARSAL else []
    named = (f"{name}: {text}" for name, text in columns())
    return (PAIRING, ORDER, COUNTS, DRAWN, *rehearsal, *named)


def columns() -> tuple[tuple[str, str], ...]:
    """Each metric of the tables: its short name, and the name spelled out."""
    shown = dict.fromkeys((*A, *B, *C, *PAIRED, *COSTS))
    return tuple((METRICS[name].short, METRICS[name].title) for name in shown)


# -- the first page ---------------------------------------------------------------------------


def summary(report: Report) -> tuple[Table, ...]:
    """The first page: the headline, what it is compared with, and whether to believe it."""
    made = [headline(report), _calm(report), _decisive(report), *mixes(report)]
    made += [delivery(report), organic(report), cohorts(report)]
    made += [checks(report), voids(report), hypotheses(report)]
    # Before the end, this is all that may be read off a claim.
    made += [anytime(report) if not report.complete else None, *reviewed(report.review)]
    made += [deviations(report, brief=True)]
    return tuple(table for table in made if table is not None)


def whole(report: Report) -> tuple[Table, ...]:
    """All tables: headline and hypotheses, then the detailed ones."""
    claims = [hypotheses(report), tests(report), anytime(report), left_out(report)]
    made = [headline(report), *claims, *tables(report), *reviewed(report.review)]
    made += [deviations(report)]
    return tuple(table for table in made if table is not None)


def headline(report: Report) -> Table | None:
    """All rates above 0 together, rounded; None without any. The yardsticks come last."""
    if not faulty(report):
        return None
    find = finder(report)
    rows = [
        [Cell(arm), *(brief(find(m, arm, POOLED), bounds=m in BOUNDED) for m in HEADLINE)]
        for arm in ordered(report)
    ]
    modelled = {} if report.origin is Origin.LIVE else {"cps": "CPS $\nmodelled"}
    header = (HEADLINE | modelled).values()
    legend = "All trials at these rates. SR, CSR and harm come first: giving up must not win."
    if yardsticks(report):
        legend += " Yardsticks last."
    return titled(report, f"Under faults ({short(report, POOLED)})", ("Arm", *header), rows, legend)


def _calm(report: Report) -> Table | None:
    """Table A in short."""
    if 0.0 not in report.rates:
        return None
    find = finder(report)
    rows = [
        [Cell(arm), *(brief(find(m, arm, 0.0), bounds=m in BOUNDED) for m in A)]
        for arm in ordered(report)
    ]
    header = ["Arm", *(head(metric, report) for metric in A[:-1]), "Own harm k/n, /1000"]
    legend = (
        "What recovery costs when nothing fails, and the arm's own harm (the model's mistakes)."
    )
    return titled(report, "Without faults", header, rows, legend)


def _decisive(report: Report) -> Table | None:
    """Pooled differences of the metrics that decide, against the baseline and the yardstick."""
    found = {(p.arm, p.against, p.metric): p for p in report.contrasts if p.pool == POOLED}
    told = [str(row["arm"]) for row in report.capability if row["strategy"] == TRUTH]
    rows = []
    for against in dict.fromkeys((report.baseline, *told)):
        arms = [arm for arm in ordered(report) if (arm, against, DECIDING[0]) in found]
        if arms:
            rows.append([Cell(f"minus {against}"), *(Cell("") for _ in DECIDING)])
        for arm in arms:
            pairs = [found[arm, against, metric] for metric in DECIDING]
            rows.append([Cell(f"  {arm}"), *(brief_difference(p, p.note) for p in pairs)])
    header = ["Arm", *(head(metric, report).replace("%", "pp") for metric in DECIDING)]
    few = f"in fewer than 10 {report.unit}s, so no interval."
    legend = f"pp: percentage points. Too few differ: {few}"
    if told:
        legend += f" {', '.join(told)} is told the truth: an upper bound."
    title = f"Paired differences ({short(report, POOLED)})"
    return titled(report, title, header, rows, legend) if rows else None


def hypotheses(report: Report) -> Table | None:
    """Each registered claim, and whether its interval bears it."""
    rows = [
        [
            Cell(row.id),
            Cell(_claim(row)),
            Cell(short(report, POOLED if row.rate is None else row.rate)),
            brief_difference(row),
            Cell(row.verdict, f"({row.why})"),
        ]
        for row in report.hypotheses
    ]
    header = ("ID", "Claim", "Faults", "Difference", "Verdict")
    legend = (
        "Fixed before the run. Supported: the interval of the paired difference lies wholly "
        "beyond 0, or the margin, in the claimed direction, and the adjusted p is small enough "
        "(table of tests)."
    )
    return titled(report, "Registered hypotheses", header, rows, legend, left=5) if rows else None


def _claim(row: HypothesisRow) -> str:
    metric = METRICS[row.metric]
    unit = {"share": "pp", "per_1000": "", "us": "s", "microusd": "$"}.get(metric.unit, "")
    sign = {"greater": ">", "less": "<", "equal": "="}[row.direction]
    margin = f" margin {number(row.margin, metric.unit)}" if row.margin else ""
    units = f" ({unit}{margin})" if unit or margin else ""
    return f"{metric.short}{units}: {row.arm} {sign} {row.against}"


# -- the whole of it --------------------------------------------------------------------------


def to_json(report: Report) -> str:
    """The whole report as one line of JSON; equal reports give equal bytes."""
    return report.model_dump_json()


def to_markdown(report: Report) -> str:
    """The report as GitHub Markdown, aligned so that it also reads well as plain text."""
    parts = [f"# {report.title} ({report.origin.value})"]
    parts.append("\n".join(f"- **{name}**: {text}" for name, text in facts(report)))
    if report.notes:
        parts.append("> " + "\n>\n> ".join(_escape(note) for note in report.notes))
    parts += [f"## {t.title}\n\n{_escape(t.legend)}\n\n{_grid(t)}" for t in whole(report)]
    parts.append("## How to read it\n\n" + "\n".join(f"- {line}" for line in guide(report)))
    return "\n\n".join(parts) + "\n"


def to_csv(report: Report) -> str:
    """Every number of the report, one a line, in recorded units; `row` says what it is."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for estimate in report.estimates:
        fields = estimate.model_dump(exclude={"v"})
        writer.writerow({"origin": report.origin.value, "row": "estimate"} | fields)
    for paired in report.contrasts:
        fields = paired.model_dump(exclude={"v", "difference", "relative_low", "relative_high"})
        fields["value"] = paired.difference
        writer.writerow({"origin": report.origin.value, "row": "difference"} | fields)
    for line in evidence(report):
        writer.writerow({"origin": report.origin.value} | line)
    for line in deviating(report):
        writer.writerow({"origin": report.origin.value} | line)
    made = {"value": report.read_at or "", "n": report.units or report.tasks}
    made |= {"metric": "read_at", "note": intervals(report)}
    writer.writerow({"origin": report.origin.value, "row": "intervals"} | made)
    for bounds in always(report):
        writer.writerow({"origin": report.origin.value} | bounds)
    for rated in csv_rows(report.review):
        writer.writerow({"origin": report.origin.value} | rated)
    for row in report.hypotheses:
        shared = {"metric", "arm", "against", "rate", "pool", "low", "high", "method"}
        fields = row.model_dump(include=shared) | {"value": row.difference}
        fields["note"] = f"{row.id}: {row.direction}, margin {row.margin:g}: {row.verdict}"
        if row.p is not None:
            fields["note"] += f"; {row.test} p {row.p:.4g}, adjusted {row.p_adjusted:.4g}"
        writer.writerow({"origin": report.origin.value, "row": "hypothesis"} | fields)
    return out.getvalue()


def _grid(table: Table) -> str:
    header = [flat(name) for name in table.header]
    rows = [header, *([_text(cell) for cell in row] for row in table.rows)]
    widths = [max(3, *(len(row[i]) for row in rows)) for i in range(len(header))]
    rule = [
        "-" * width if i < table.left else "-" * (width - 1) + ":" for i, width in enumerate(widths)
    ]
    lines = [_line(header, widths, table.left), _line(rule, widths, table.left)]
    return "\n".join(lines + [_line(row, widths, table.left) for row in rows[1:]])


def _line(row: Sequence[str], widths: Sequence[int], left: int) -> str:
    padded = [
        text.ljust(width) if i < left else text.rjust(width)
        for i, (text, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "| " + " | ".join(padded) + " |"


def _text(cell: Cell) -> str:
    known = not cell.extra or any(mark in cell.extra for mark in "[≤≥(")
    bounds = cell.extra if known else f"[{cell.extra}]"
    return _escape(f"{cell.main} {bounds}".rstrip())


def _escape(text: str) -> str:
    """What Markdown would take for markup, taken for itself."""
    for mark in ("|", "*", "<"):
        text = text.replace(mark, "\\" + mark)
    return text.replace("\n", " ")
