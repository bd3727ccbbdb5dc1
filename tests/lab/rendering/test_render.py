"""What a reader sees: origin on every table, honest counts, order that giving up cannot win."""

import csv
import io

import pytest
from rich.console import Console

from hfr_bench.cli.report_text import FULL_WIDTH, WIDTH, print_report
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.rendering.cells import brief, faulty
from hfr_bench.lab.rendering.render import (
    COLUMNS,
    FIRST_PAGE,
    HEADLINE,
    intervals,
    share_of,
    summary,
    to_csv,
    to_json,
    to_markdown,
    verdict,
    whole,
)
from hfr_bench.lab.rendering.tables import B, tables
from hfr_bench.lab.store import Store
from hfr_bench.model.prereg import Hypothesis
from hfr_bench.model.report import AuditRow, ControlRow, VoidRow
from hfr_bench.model.terms import Origin
from hfr_bench.testing.experiments import planned, some_faults, write_all
from hfr_bench.testing.results import KINDS

CLAIM = Hypothesis(
    id="H1", metric="dup_any", arm="blind_resend", against="oracle_recovery", direction="greater"
)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment")
    arms = ("no_retry", "blind_resend", "oracle_recovery")
    rates = (0.0, 0.2, 0.4)
    plan = planned(arms, tasks=30, rates=rates, faults=some_faults, hypotheses=(CLAIM,))
    write_all(folder, plan)
    return analyse(plan.prereg, plan.lock, plan.rows, Store(folder), plan.schedule, KINDS)


def test_how_intervals_were_made_is_told_in_every_format(report):
    told = "95 %, 200 resamples of 30 tasks with their trials; percentiles expanded to 96.2 %"
    assert intervals(report) == told
    assert told in text(report)
    assert told in to_markdown(report)
    (row,) = [
        row for row in csv.DictReader(io.StringIO(to_csv(report))) if row["row"] == "intervals"
    ]
    assert (row["note"], row["n"], float(row["value"])) == (told, "30", report.read_at)
    few = report.model_copy(update={"tasks": 9})
    assert intervals(few) == "95 %, exact ones only: fewer than 10 tasks (n = 9)"


@pytest.mark.parametrize(
    ("level", "told"),
    [
        (0.95, "95 %"),
        (0.98291, "98.3 %"),
        (0.9, "90 %"),
        (0.99979, "99.98 %"),
        (0.99999, "99.999 %"),
    ],
)
def test_a_level_is_never_rounded_to_certainty(level, told):
    assert share_of(level) == told


def text(report, width=WIDTH, full=False, **options):
    out = io.StringIO()
    print_report(report, Console(file=out, width=width, **options), full=full)
    return out.getvalue()


def test_every_title_tells_origin_and_size(report):
    first, every = ([t.title for t in made(report)] for made in (summary, whole))
    assert len(every) == len(tables(report)) + 6 > 20  # deviations, too
    assert all("| rehearsal | below protocol (n < 200)" in title for title in (*first, *every))
    large = report.model_copy(update={"below_protocol": False})
    for made in (summary, whole):
        assert not any("below protocol" in table.title for table in made(large))
    for shown in (text(report, full=True), to_markdown(report)):
        assert all(title in shown for title in every)
    assert all(title in text(report) for title in first)


def test_harm_stands_before_safe_completion():
    assert B.index("sr") < B.index("csr") < B.index("harm_1000") < B.index("scr")
    assert list(HEADLINE)[:3] == ["sr", "csr", "harm_1000"]


def test_the_headline_comes_first_everywhere(report):
    title = "Under faults (20-40 %, pooled)"
    assert summary(report)[0].title.startswith(title)
    assert whole(report)[0].title.startswith(title)
    assert to_markdown(report).split("## ")[1].startswith(title)


def test_one_rate_is_not_called_pooled(report):
    assert faulty(report.model_copy(update={"rates": (0.0, 0.4)})) == "40 % faults"
    assert faulty(report.model_copy(update={"rates": (0.0,)})) == ""


def test_rows_are_rectangular_and_legends_are_given(report):
    for table in (*summary(report), *whole(report)):
        assert table.legend
        assert {len(row) for row in table.rows} == {len(table.header)}


def test_verdicts(report):
    assert verdict(report).startswith("valid, complete: 270 of 270")
    assert "INCOMPLETE" in verdict(report.model_copy(update={"complete": False}))
    assert "INVALID" in verdict(report.model_copy(update={"valid": False}))
    failed = (ControlRow(name="c", passed=False, detail="d"),)
    assert "1 control(s) FAILED" in verdict(report.model_copy(update={"controls": failed}))
    assert "FAILED" in text(report.model_copy(update={"controls": failed}))


def test_money_of_a_rehearsal_is_labelled(report):
    assert to_markdown(report).count("CPS $ modelled") == 4
    assert "modelled" in text(report)
    live = report.model_copy(update={"origin": Origin.LIVE, "notes": ()})
    for shown in (to_markdown(live), text(live), text(live, full=True)):
        assert "modelled" not in shown
        assert "| live |" in shown


def test_trouble_is_shown(report):
    audit = (
        AuditRow(kind="k", layer="tool", arm="a", scheduled=3, reached=2, delivered=1,
                 mismatched=("declared x, seen y",)),
        AuditRow(kind="k", layer="tool", arm="b", scheduled=3, reached=2, delivered=2),
    )  # fmt: skip
    voids = (VoidRow(arm="a", voids=1, causes={"sandbox": 1}, dropped=1, sr_worst=0.5, sr_best=1),)
    shown = to_markdown(report.model_copy(update={"audit": audit, "voids": voids}))
    assert "declared x, seen y" in shown
    assert "sandbox 1" in shown
    assert "50.0, 100.0" in shown


def test_markdown_is_aligned(report):
    blocks: list[list[str]] = [[]]
    for line in to_markdown(report).splitlines():
        if line.startswith("|"):
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    grids = [block for block in blocks if block]
    assert len(grids) == len(whole(report))
    for block in grids:
        assert len({len(line) for line in block}) == 1
        assert len({line.replace("\\|", "").count("|") for line in block}) == 1


@pytest.mark.parametrize("width", [80, 90, 100])
def test_the_first_page_fits_and_breaks_no_number(report, width):
    lines = text(report, width=width).splitlines()
    assert max(len(line) for line in lines) <= width
    page = " ".join(" ".join(lines).split())
    for table in summary(report):
        for column in range(table.left, len(table.header)):
            for cells in table.rows:
                assert cells[column].main in page
                assert cells[column].extra in page
    assert "…" not in page


def test_the_first_page_is_a_page(report):
    assert len(text(report).splitlines()) <= 84  # three arms; six make 92
    assert len(text(report, full=True).splitlines()) > 110
    assert all(len(line) <= WIDTH - 2 for line in FIRST_PAGE)


def test_intervals_go_below_their_values_where_there_is_no_room(report):
    estimate = next(e for e in report.estimates if (e.metric, e.rate) == ("sr", None))
    beside = " ".join(brief(estimate))
    assert "[" in beside
    assert beside in text(report)
    assert beside not in text(report, width=70)


def test_long_arm_names_wrap_and_numbers_do_not(report):
    name = "exp_retry+reconcile+verifier-with-a-long-name"
    renamed = [e.model_copy(update={"arm": name}) for e in report.estimates if e.arm == "no_retry"]
    long = report.model_copy(
        update={"arms": (name, *report.arms[1:]), "estimates": (*renamed, *report.estimates)}
    )
    assert "[" in text(long, width=80)
    assert max(len(line) for line in text(long, width=80).splitlines()) <= 80


def test_plain_text_carries_no_control_codes(report):
    for full in (False, True):
        shown = text(report, width=80, full=full)
        assert "\x1b" not in shown
        assert max(len(line) for line in shown.splitlines()) <= FULL_WIDTH
        assert "\x1b" in text(report, width=80, full=full, force_terminal=True)


def test_hypotheses_are_shown_with_their_verdict(report):
    (row,) = report.hypotheses
    for shown in (text(report), text(report, full=True)):
        assert "H1" in shown
        assert row.verdict in shown
    assert "Tests of the registered hypotheses" in text(report, full=True)
    assert "one part left out" in text(report, full=True)
    assert "Dup any (pp): blind_resend > oracle_recovery" in text(report)
    two = (row, row.model_copy(update={"id": "H2", "rate": 0.4, "margin": 0.05}))
    shown = " ".join(text(report.model_copy(update={"hypotheses": two})).split())
    assert "(pp margin 5.0)" in shown
    without = report.model_copy(update={"hypotheses": ()})
    assert "Registered hypotheses" not in text(without)


def test_an_experiment_without_faults_has_no_headline(report):
    kept = [e for e in report.estimates if e.rate == 0.0]
    calm = report.model_copy(
        update={"rates": (0.0,), "estimates": tuple(kept), "contrasts": (), "hypotheses": ()}
    )
    assert "Without faults" in text(calm)
    assert "Under faults" not in text(calm)


def test_csv_has_a_row_for_every_number(report):
    rows = list(csv.DictReader(io.StringIO(to_csv(report))))
    assert tuple(rows[0]) == COLUMNS
    told = (report.estimates, report.contrasts, report.hypotheses, report.exposure, report.audit)
    told += (report.divergence, report.effects, report.left_out, report.fronts, report.beliefs)
    told += tuple((row,) * 4 for row in report.disagreements)  # a line a sort
    told += (report.further, report.further_contrasts, report.coverage, *[report.utility] * 5)
    told += (report.deviations, report.anytime)
    of_arms = {"organic": 2, "void": 1, "void bounds": 2}
    arms = sum(of_arms.values()) * len(report.arms)
    assert len(rows) == sum(len(part) for part in told) + arms + 1  # how intervals were made
    for name, count in of_arms.items():
        assert sum(row["row"] == name for row in rows) == count * len(report.arms)
    counted = {"estimate", "difference", "hypothesis"}
    pools = {r["pool"] for r in rows if r["rate"] == "" and r["row"] in counted}
    assert pools == {"rates>0"}
    assert rows[-1]["row"] == "hypothesis"
    assert rows[-1]["note"].startswith("H1: greater, margin 0: ")
    assert {r["origin"] for r in rows} == {"rehearsal"}
    first = rows[0]
    assert float(first["value"]) == report.estimates[0].value


def test_rendering_is_deterministic(report):
    again = type(report).model_validate_json(to_json(report))
    assert to_json(again) == to_json(report)
    assert to_markdown(again) == to_markdown(report)
    assert to_csv(again) == to_csv(report)
    for full in (False, True):
        assert text(again, full=full) == text(report, full=full)
