"""A report as one page of HTML that needs nothing else: no network, no fonts, no script to read it.

The tables are those of `tables.py`, the figures those of `figures.py`; here only their order and
grouping is decided. Success, clean success and harm stand first, the yardsticks last and apart, and
nothing is coloured by how safely an arm gave up.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from hfr_bench.lab.rendering import (
    disagree,
    render,
    tables,
    tables_beliefs,
    tables_evidence,
    tables_fronts,
    tables_mixes,
)
from hfr_bench.lab.rendering.cells import Table, named, single_rates
from hfr_bench.lab.rendering.figures import Figure, forests, planes
from hfr_bench.lab.rendering.pairs import RULE, contrasts
from hfr_bench.lab.rendering.sides import NOTHING, Sides
from hfr_bench.lab.rendering.tables_confirm import anytime, left_out, tests
from hfr_bench.lab.rendering.tables_deviations import NONE, deviations
from hfr_bench.lab.rendering.tables_metrics import further
from hfr_bench.lab.rendering.tables_reviewed import reviewed
from hfr_bench.lab.rendering.views import views
from hfr_bench.model.report import POOLED, Report
from hfr_bench.model.terms import Origin

PAGE = Path(__file__).parent / "page"
MEANING = {
    Origin.SYNTHETIC: "A simulator: no task was run, no model asked.",
    Origin.REHEARSAL: (
        "A script plays the model. Tools, world, faults and effects are real; success and money "
        "describe the script."
    ),
    Origin.LIVE: "A real model, real tools, replayed faults.",
}
HOLLOW = (
    "Filled: with an interval; hollow: too few differ for one. Grey diamonds are yardsticks. Right "
    "of the line means more than the baseline; of harm and cost, less is better."
)
PLANE = (
    "Up is more success, left is less spent. Beside each name: harmful effects of all trials; a "
    "filled mark did harm, a hollow one was not seen doing any. The dashed line joins the arms "
    "that no other beats in success, spending and harm at once. Grey diamonds are yardsticks: "
    "nobody would run them. Thin lines are intervals."
)
PER_ARM = (
    "Arms are listed as registered, the yardsticks after them, in italics. The order says nothing "
    "about which is best."
)

CONFIRMATORY = (
    "What was registered as a claim before the run, corrected for how many there are. Nothing else "
    "on this page confirms anything."
)
EXPLORATORY = (
    "Registered measures, described; no claim was made of them. No p-values, and intervals are not "
    "corrected for how many there are: what is striking here is a reason to register it, not yet a "
    "finding."
)
BELIEF = (
    "Were the faults delivered, did all arms meet them, what was lost, and what the harness found "
    "when it tried itself."
)


class Section(NamedTuple):
    """A part of the page. `more`: parts that are folded away until asked for."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    tables: tuple[dict[str, Any], ...] = ()
    figures: tuple[dict[str, Any], ...] = ()
    more: tuple["Section", ...] = ()
    commands: tuple[str, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()
    pairs: tuple[dict[str, Any], ...] = ()


class Part(NamedTuple):
    """Sections under one heading, which says what they are worth."""

    title: str
    text: str
    sections: tuple[Section, ...]


def to_html(report: Report, told: Sides = NOTHING) -> str:
    """The report as one self-contained page; equal reports and sides give equal bytes.

    `told`: the disagreements that it shows (`lab.rendering.sides`).
    """
    environment = Environment(
        loader=FileSystemLoader(PAGE), autoescape=True, undefined=StrictUndefined
    )
    # Ours, and without anything that would end the style element.
    css, js = (
        Markup((PAGE / name).read_text(encoding="utf-8"))  # noqa: S704
        for name in ("report.css", "report.js")
    )
    failed = any(control.passed is False for control in report.controls)
    page = environment.get_template("report.html").render(
        css=css,
        js=js,
        data=Markup(told.data),  # noqa: S704 - JSON in which nothing ends its element
        title=report.title,
        origin=report.origin.value,
        meaning=MEANING[report.origin],
        verdict=render.verdict(report),
        well=report.valid and report.complete and not failed,
        facts=[fact for fact in render.brief_facts(report) if fact[0] != "verdict"],
        notes=_first_notes(report),
        parts=_parts(report, told),
        version=report.harness_version,
    )
    return page + "\n"


def _first_notes(report: Report) -> Sequence[str]:
    """All notes but the one that the band above already says."""
    return [note for note in report.notes if not note.startswith(f"{report.origin.value}:")]


# -- the parts, in reading order --------------------------------------------------------------


def _parts(report: Report, told: Sides) -> list[Part]:
    made: list[tuple[str, str, list[Section | None]]] = [
        ("", "", [_first(report)]),
        ("Confirmatory", CONFIRMATORY, [_hypotheses(report)]),
        ("Exploratory", EXPLORATORY, _explored(report, told)),
        ("Whether to believe it", BELIEF, _believable(report)),
        (
            "Reference",
            "What the arms are, what the words mean, and how to make this again.",
            [
                _one("arms", "Capability of the arms", report, tables.capability(report)),
                _reproduce(report),
                Section("glossary", "Columns", terms=_terms(report)),
            ],
        ),
    ]
    parts = [
        Part(title, text, tuple(one for one in sections if one is not None))
        for title, text, sections in made
    ]
    return [part for part in parts if part.sections]


def _explored(report: Report, told: Sides) -> list[Section | None]:
    return [
        _one("table-a", "Table A: without faults", report, tables.ability(report)),
        _recovery(report),
        _safety(report),
        _differences(report),
        _pareto(report),
        _one("cost", "Cost of recovery", report, tables.costs(report)),
        _one("further", "People, waste, checks and utility", report, *further(report)),
        _one("mixes", "Under a mix of faults", report, *tables_mixes.whole_mixes(report)),
        _single(report),
        _disagreements(report, told),
        _one("observed", "Observation points", report, *tables_evidence.observations(report)),
        _beliefs(report),
        _one("cohorts", "What cohorts share", report, tables_evidence.cohorts(report)),
    ]


def _believable(report: Report) -> list[Section | None]:
    return [
        _delivered(report),
        _met(report),
        _voids(report),
        _deviations(report),
        _one("controls", "Controls", report, tables_evidence.checks(report)),
        _one("states", "Verdict and state", report, tables_evidence.states(report)),
        _one("review", "Looked over by people", report, *reviewed(report.review)),
    ]


def _disagreements(report: Report, told: Sides) -> Section | None:
    shown = views(report, [disagree.table(report)])
    pairs = contrasts(report, told)
    text = (RULE,) if told.cases else ()
    return (
        Section("pairs", "Where arms end differently", text, shown, pairs=pairs) if shown else None
    )


def _beliefs(report: Report) -> Section | None:
    shown = views(report, [tables_beliefs.together(report)])
    more = _fold(report, "Arm by arm", *tables_beliefs.by_arm(report))
    folded = (more,) if more.tables else ()
    return Section("taken", "Injected, and taken for", (), shown, more=folded) if shown else None


def _one(key: str, title: str, report: Report, *shown: Table | None) -> Section | None:
    """A section of tables; None where there are none."""
    seen = views(report, shown)
    return Section(key, title, tables=seen) if seen else None


def _first(report: Report) -> Section | None:
    shown = views(report, [render.headline(report)])
    text = (render.ORDER, render.PAIRING, render.COUNTS, render.DRAWN, PER_ARM)
    return Section("first", "What to read first", text, shown)


def _recovery(report: Report) -> Section | None:
    pooled = tables.recovery(report, POOLED)
    if pooled is None:
        return None
    apart = tables.apart(report)
    text = f"Silent kinds (a wrong answer instead of an error): {', '.join(report.silent_kinds)}."
    if not report.silent_kinds:
        text = (
            "Every planned kind is explicit (an error, or no answer at all). Silent kinds: none "
            "registered."
        )
    elif not apart:
        text += " Numbers apart for them: none; every pair group holds both, or none was run."
    more = [
        _fold(report, _at(report, rate), tables.recovery(report, rate))
        for rate in single_rates(report)
    ]
    shown = views(report, (pooled, *apart))
    return Section("table-b", "Table B: under faults", (text,), shown, more=tuple(more))


def _safety(report: Report) -> Section | None:
    shown = views(report, tables.safety(report, POOLED))
    more = tuple(
        _fold(report, _at(report, rate), *tables.safety(report, rate))
        for rate in single_rates(report)
    )
    return Section("table-c", "Table C: safety", (), shown, more=more) if shown else None


def _differences(report: Report) -> Section | None:
    pooled = tables.differences(report, None)
    rates = [(rate, tables.differences(report, rate)) for rate in (0.0, *single_rates(report))]
    more = tuple(_fold(report, _at(report, rate), t) for rate, t in rates if t)
    drawn = _drawn(forests(report))
    if not (pooled or more):
        return None
    return Section(
        "differences", "Paired differences", (HOLLOW,) if drawn else (),
        views(report, [pooled]), drawn, more,
    )  # fmt: skip


def _pareto(report: Report) -> Section | None:
    drawn = _drawn(planes(report))
    if not drawn:
        return None
    more = tuple(
        Section("", _at(report, rate), figures=_drawn(planes(report, rate)))
        for rate in single_rates(report)
    )
    shown = views(report, [tables_fronts.table(report)])
    return Section("pareto", "Success against cost and time", (PLANE,), shown, drawn, more)


def _single(report: Report) -> Section | None:
    shown = views(report, tables_mixes.effects(report, tables_mixes.FIRST))
    more = _fold(report, "Other metrics", *tables_mixes.effects(report, tables_mixes.OTHERS))
    return Section("singles", "What one fault does", tables=shown, more=(more,)) if shown else None


def _delivered(report: Report) -> Section:
    shown = views(report, (tables_evidence.delivery(report), tables_evidence.organic(report)))
    more = _fold(report, "By kind and arm", *tables_evidence.delivery_by_arm(report))
    return Section("audit", "Delivery audit", tables=shown, more=(more,) if more.tables else ())


def _met(report: Report) -> Section | None:
    made = (
        tables_evidence.exposure,
        tables_evidence.forks,
        tables_evidence.prefixes,
        tables_evidence.divergence,
    )
    shown = views(report, [table(report) for table in made])
    return Section("exposure", "Exposure and divergence", tables=shown) if shown else None


def _voids(report: Report) -> Section:
    shown = views(report, [tables_evidence.voids(report)])
    return Section("voids", "Voids", () if shown else ("None: every trial was graded.",), shown)


def _hypotheses(report: Report) -> Section:
    shown = views(report, [render.hypotheses(report), tests(report), anytime(report)])
    text = () if shown else ("None registered.",)
    more = _fold(report, "One part left out", left_out(report))
    folded = (more,) if more.tables else ()
    return Section("hypotheses", "Hypotheses", text, shown, more=folded)


def _deviations(report: Report) -> Section:
    shown = views(report, [deviations(report)])
    text = () if shown else (NONE,)
    return Section("deviations", "Deviations from the registration", text, shown)


def _reproduce(report: Report) -> Section:
    digests = [
        ("preregistration", report.prereg_digest),
        ("traces", report.traces_digest),
        ("harness", report.harness_version),
        *(("tools in", place) for place in report.ran_in),
    ]
    commands = (
        "hfr-bench report DIR                        # this, on the terminal",
        "hfr-bench report DIR --format html -o report.html",
        "hfr-bench report DIR --format json          # every number, for programs",
        "hfr-bench compare DIR ARM OTHER             # where two arms differ, task by task",
        "hfr-bench show DIR TRIAL                    # one trial as a timeline",
        "hfr-bench freeze NEW && hfr-bench run NEW   # again, from a copy of DIR/prereg.yaml",
    )
    text = "DIR is the experiment's folder. Equal traces have equal digests and give equal bytes."
    return Section(
        "reproduce", "Digests, and how to reproduce", (text,), terms=tuple(digests),
        commands=commands,
    )  # fmt: skip


def _terms(report: Report) -> tuple[tuple[str, str], ...]:
    """Every column's name, spelled out."""
    return (
        *render.columns(),
        ("k/n", "k events in n trials (or in what the column names)"),
        ("[a, b]", f"{report.level:.0%} interval"),
        ("≤ b", "none was seen, and b cannot be excluded"),
        ("≥ b", "every one was, and a share below b can be excluded"),
        ("*", "exact interval, because of few events, or few tasks with one"),
        ("-", "undefined"),
        ("pp", "percentage points"),
    )


# -- what the template is given ---------------------------------------------------------------


def _at(report: Report, rate: float) -> str:
    return f"At {named(report, rate)}" if rate else "Without faults"


def _fold(report: Report, title: str, *shown: Table | None) -> Section:
    return Section("", title, tables=views(report, shown))


def _drawn(figures: Iterable[Figure]) -> tuple[dict[str, Any], ...]:
    """Figures with their title and description inside, for who cannot see them."""
    return tuple({"title": figure.title, "svg": _labelled(figure)} for figure in figures)


def _labelled(figure: Figure) -> Markup:
    names = f'role="img" aria-labelledby="{figure.key}-title {figure.key}-desc"'
    title = f'<title id="{figure.key}-title">{escape(figure.title)}</title>'
    described = f'<desc id="{figure.key}-desc">{escape(figure.alt)}</desc>'
    head, _, rest = figure.svg.partition(">")
    # `drawing.py` escapes its texts; ours are escaped above.
    return Markup(f"{head} {names}>{title}{described}{rest}")  # noqa: S704
