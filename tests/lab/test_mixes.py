"""Single faults of a whole experiment, reweighted by a mix; and how both are shown."""

import csv
import io
import json

import pytest
from rich.console import Console

from hfr_bench.cli.report_text import print_report
from hfr_bench.errors import BadInputError
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.mixes import check
from hfr_bench.lab.rendering.html import to_html
from hfr_bench.lab.rendering.render import summary, to_csv, to_json, to_markdown
from hfr_bench.lab.store import Store
from hfr_bench.model.mix import FaultMix
from hfr_bench.model.report import Report
from hfr_bench.stats.effects import SHOWN
from hfr_bench.stats.names import TOO_FEW
from hfr_bench.testing.experiments import BOOK, MODEL, planned, write_all
from hfr_bench.testing.results import KINDS, fault

ARMS = ("no_retry", "blind_resend", "hfr")
TASKS = 12


def one_fault(trial):
    """Of three tasks in a row, one meets a busy model, two a lost answer, landed and not."""
    if trial.rate == 0:
        return ()
    nth = int(trial.task_id[1:]) % 3
    if nth == 0:
        return (fault("busy", MODEL),)
    return (fault("lost", BOOK, lands=nth == 1),)


def everywhere(trial):
    """One fault on the way, and one at a step that no fault-free trial comes to."""
    return (*one_fault(trial), fault("busy", MODEL, 7))


def both(trial):
    """Two faults on the way."""
    if trial.rate == 0:
        return ()
    return (
        fault("busy", MODEL),
        fault("lost", BOOK, lands=True),
    )


def mix(*faults, **fields):
    known = [{"what": f"w{n}"} | one for n, one in enumerate(faults)]
    return FaultMix.model_validate({"name": "m", "faults": known} | fields)


def report_of(folder, *mixes, faults=one_fault):
    plan = planned(ARMS, tasks=TASKS, rates=(0.0, 0.5), faults=faults)
    if not (folder / "trials").exists():
        write_all(folder, plan)
    return analyse(plan.prereg, plan.lock, plan.rows, Store(folder), plan.schedule, KINDS, mixes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("experiment")
    report_of(made)
    return made


def effect(report, kind, arm, metric, lands=None):
    (row,) = (
        e
        for e in report.effects
        if (e.kind, e.arm, e.metric, e.lands) == (kind, arm, metric, lands)
    )
    return row


def asked(report, arm, metric, against=""):
    (answer,) = report.mixes
    (row,) = (r for r in answer.rows if (r.arm, r.metric, r.against) == (arm, metric, against))
    return row


def asked_base(report, arm, metric):
    """The arm's own value without any fault."""
    (row,) = (e for e in report.estimates if (e.arm, e.metric, e.rate) == (arm, metric, 0.0))
    return row.value


def test_the_effect_of_one_fault_is_told_by_kind_arm_and_whether_it_landed(folder):
    report = report_of(folder)
    assert {(e.kind, e.lands) for e in report.effects} == {
        ("busy", None), ("lost", None), ("lost", True), ("lost", False),
    }  # fmt: skip
    assert effect(report, "busy", "no_retry", "sr").difference == -1.0
    assert effect(report, "busy", "blind_resend", "sr").difference == 0.0
    twice = effect(report, "lost", "blind_resend", "harm_1000", lands=True)
    assert (twice.difference, twice.base, twice.faults) == (1000.0, 0.0, 4)
    assert effect(report, "lost", "blind_resend", "harm_1000", lands=False).difference == 0.0
    assert effect(report, "lost", "blind_resend", "harm_1000").difference == 500.0


def test_what_lies_off_the_twin_s_way_does_not_matter_and_two_on_it_are_not_one(tmp_path, folder):
    far = report_of(tmp_path / "far", faults=everywhere)
    assert far.effects == report_of(folder).effects
    assert report_of(tmp_path / "both", faults=both).effects == ()


LOST = {"of": "tool_calls", "per_1000": 100, "kinds": ["lost"]}
BUSY = {"of": "model_calls", "per_1000": 200, "kinds": ["busy"]}


def test_unknown_landing_gives_a_range_and_what_is_known_a_number(folder):
    report = report_of(folder, mix(LOST))
    row = asked(report, "blind_resend", "harm_1000")
    assert (row.least, row.most) == pytest.approx((0.0, 100.0))
    assert row.low <= row.least <= row.most <= row.high
    half = asked(report_of(folder, mix(LOST | {"landed": 0.5})), "blind_resend", "harm_1000")
    assert (half.least, half.most) == pytest.approx((50.0, 50.0))
    bounds = asked(
        report_of(folder, mix(LOST | {"landed": [0.2, 0.3]})), "blind_resend", "harm_1000"
    )
    assert (bounds.least, bounds.most) == pytest.approx((20.0, 30.0))
    (answer,) = report.mixes
    assert (answer.unit, answer.calls) == ("trial", {"model_calls": 1.0, "tool_calls": 1.0})
    assert answer.origin is report.origin
    assert (answer.faults_least, answer.faults_most) == pytest.approx((0.1, 0.1))


def test_a_mix_of_one_kind_is_its_effect_and_no_faults_are_the_twins(folder):
    report = report_of(folder, mix({"of": "model_calls", "share": 1, "kinds": ["busy"]}))
    for arm in ARMS:
        for metric in SHOWN:
            found, row = effect(report, "busy", arm, metric), asked(report, arm, metric)
            assert row.least == pytest.approx(row.most)
            assert row.least - asked_base(report, arm, metric) == pytest.approx(found.difference)
    none = report_of(folder, mix(LOST | {"per_1000": 0}))
    for arm in ARMS:
        assert asked(none, arm, "sr").least == asked(none, arm, "sr").most == 1.0
        assert asked(none, arm, "harm_1000").most == 0.0


def test_differences_between_arms_share_the_mix_and_the_weights(folder):
    report = report_of(folder, mix(BUSY))
    row = asked(report, "hfr", "sr", against="no_retry")
    assert (row.least, row.most) == pytest.approx((0.2, 0.2))
    ours, theirs = (asked(report, arm, "sr").least for arm in ("hfr", "no_retry"))
    assert row.least == pytest.approx(ours - theirs)
    cost = asked(report, "hfr", "cost_mean", against="no_retry")
    assert (cost.low, cost.note) == (None, TOO_FEW)  # the toy runtime costs the same everywhere
    none = asked(report, "blind_resend", "harm_1000", against="no_retry")
    assert (none.low, none.note) == (None, "no pair differs")


def test_what_nobody_measured_is_named_and_never_scaled_away(folder):
    unlike = {"of": "model_calls", "per_1000": 50, "kinds": []}
    known = report_of(folder, mix(BUSY))
    more = report_of(folder, mix(BUSY, unlike))
    assert asked(more, "no_retry", "sr").least == asked(known, "no_retry", "sr").least
    (left,) = more.mixes[0].left_out
    assert (left.what, left.kind, left.least, left.most) == ("w1", "", 50.0, 50.0)
    assert left.unit == "per 1000 calls"
    row = asked(more, "no_retry", "sr")
    assert (row.worst, row.best) == pytest.approx((row.least - 0.05, row.least))
    assert asked(known, "no_retry", "sr").worst is None
    assert any("covered by no trial" in note for note in more.mixes[0].notes)


def test_shares_without_a_rate_ask_about_one_fault(folder):
    told = mix(
        {"of": "model_calls", "share": 0.5, "kinds": ["busy"]},
        {"of": "tool_calls", "share": 0.3, "kinds": ["lost"], "landed": 1},
    )
    report = report_of(folder, told)
    (answer,) = report.mixes
    assert answer.unit == "fault"
    assert asked(report, "no_retry", "sr").least == pytest.approx(0.2)
    assert asked(report, "blind_resend", "harm_1000").most == pytest.approx(300.0)
    (left,) = answer.left_out
    assert (left.unit, left.least) == ("share", pytest.approx(0.2))
    overall = told.model_copy(update={"faults": told.faults[:1]}).model_dump(mode="json")
    overall |= {"overall": {"of": "model_calls", "per_1000": [10, 40]}}
    ranged = asked(report_of(folder, FaultMix.model_validate(overall)), "no_retry", "sr")
    assert (ranged.least, ranged.most) == pytest.approx((0.98, 0.995))


def test_unknown_shares_of_a_split_are_a_range(folder):
    split = {"of": "tool_calls", "per_1000": 100, "kinds": ["lost"], "landed": "unknown"}
    report = report_of(folder, mix(split, {"of": "model_calls", "per_1000": [0, 100],
                                           "kinds": {"busy": [0.5, 1]}}))  # fmt: skip
    row = asked(report, "no_retry", "sr")
    assert (row.least, row.most) == pytest.approx((0.8, 0.9))


def test_the_mix_s_own_calls_stand_instead_of_the_experiment_s(folder):
    report = report_of(folder, mix(BUSY, calls={"model_calls": 2}))
    assert asked(report, "no_retry", "sr").least == pytest.approx(0.6)
    assert report.mixes[0].calls["model_calls"] == 2
    many = report_of(folder, mix(BUSY, calls={"model_calls": 50}))
    assert many.mixes[0].rows == ()
    assert any("up to 10 measured faults a trial" in note for note in many.mixes[0].notes)


def test_without_fault_free_trials_or_single_faults_nothing_is_told(tmp_path, folder):
    report = report_of(tmp_path / "both", mix(BUSY), faults=both)
    assert report.mixes[0].rows == ()
    assert any("nothing to reweight" in note for note in report.mixes[0].notes)
    shown = to_markdown(report)
    assert "Nothing is told of mix m" in shown


@pytest.mark.parametrize(
    ("fault_", "told"),
    [
        ({"kinds": ["buzy"]}, "w0: unknown fault kind 'buzy'; there are: busy, lost"),
        ({"kinds": ["lost"]}, "lost is a fault of tool_calls, not of model_calls"),
    ],
)
def test_a_mix_of_kinds_that_there_are_not_is_refused(fault_, told):
    with pytest.raises(BadInputError, match=told):
        check(mix(BUSY | fault_), KINDS, "my.yaml")
    check(mix(BUSY, LOST), KINDS)


@pytest.fixture(scope="module")
def shown(folder):
    source = {
        "title": "T",
        "authors": ["A", "B"],
        "year": 2025,
        "id": "arXiv:1",
        "figures": ["7 of 9"],
    }
    unlike = {"of": "model_calls", "per_1000": 50, "kinds": []}
    return report_of(folder, mix(LOST, BUSY, unlike, source=source, not_known=["the rest"]))


def test_text_has_the_answer_on_the_first_page_and_all_of_it_in_full(shown):
    for full, words in (
        (False, ("Expected under mix m | rehearsal", "Not measured, of mix m", "A et al., 2025")),
        (True, ("One fault: change of SR pp", "What mix m rests on", "7 of 9", "the rest")),
    ):
        out = io.StringIO()
        print_report(shown, Console(file=out, width=132 if full else 100), full=full)
        text = " ".join(out.getvalue().split())
        assert all(word in text for word in words), words
    assert not any("One fault" in table.title for table in summary(shown))


def test_every_format_has_effects_mixes_and_what_is_left_out(shown):
    page, text = to_html(shown), to_markdown(shown)
    for words in ("Expected under mix m", "Not measured, of mix m", "One fault: change of SR pp"):
        assert words in page
        assert words in text
    rows = list(csv.DictReader(io.StringIO(to_csv(shown))))
    effects = [row for row in rows if row["row"] == "effect"]
    assert len(effects) == len(shown.effects)
    assert {row["pool"] for row in effects} == {"busy", "lost", "lost/landed", "lost/lost"}
    found = next(r for r in rows if r["row"] == "mix" and r["metric"] == "harm_1000"
                 and r["arm"] == "blind_resend" and not r["against"])  # fmt: skip
    assert (float(found["value"]), float(found["most"])) == pytest.approx((0.0, 100.0))
    assert any(row["row"] == "mix left out" for row in rows)
    assert all(row["origin"] == "rehearsal" for row in rows)
    assert Report.loads(to_json(shown)) == shown
    assert json.loads(to_json(shown))["mixes"][0]["origin"] == "rehearsal"
