"""From traces to a report: numbers, controls, audit, incomplete and spoiled experiments."""

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.analyse import analyse, contrasted, judged
from hfr_bench.lab.rendering.tables import apart
from hfr_bench.lab.store import Store
from hfr_bench.model.prereg import Hypothesis
from hfr_bench.model.report import EXPLICIT, MIXED, POOLED, SILENT, PairedEstimate, Report
from hfr_bench.model.terms import Origin, VoidCause
from hfr_bench.model.trace import AttemptEnded, TrialEnded
from hfr_bench.testing.experiments import planned, play, some_faults, write_all
from hfr_bench.testing.results import KINDS, At, answered, ended, refused, sent, write_trial

ARMS = ("no_retry", "blind_resend", "hfr", "oracle_recovery")


@pytest.fixture(scope="module")
def plan():
    return planned(ARMS, tasks=40, rates=(0.0, 0.1, 0.5), faults=some_faults)


@pytest.fixture(scope="module")
def folder(plan, tmp_path_factory):
    made = tmp_path_factory.mktemp("experiment")
    write_all(made, plan)
    return made


@pytest.fixture(scope="module")
def report(plan, folder):
    return read(plan, folder)


def read(plan, folder, **prereg):
    registered = plan.prereg.model_copy(update=prereg)
    return analyse(registered, plan.lock, plan.rows, Store(folder), plan.schedule, KINDS)


def find(report, metric, arm, rate):
    (row,) = [e for e in report.estimates if (e.metric, e.arm, e.rate) == (metric, arm, rate)]
    return row


def control(report, words):
    (row,) = [c for c in report.controls if words in c.name]
    return row


def small(tmp_path, **fields):
    plan = planned(("no_retry", "hfr"), tasks=2, rates=(0.0, 0.9), faults=some_faults, **fields)
    write_all(tmp_path, plan)
    return plan


def test_a_whole_experiment(report):
    assert (report.complete, report.valid) == (True, True)
    assert (report.trials_planned, report.trials_analysed) == (480, 480)
    assert (report.control_trials, report.tasks, report.below_protocol) == (80, 40, True)
    assert find(report, "sr", "no_retry", 0.0).value == 1.0
    assert find(report, "sr", "no_retry", 0.5).value < 0.7
    assert find(report, "dup_1000", "blind_resend", 0.5).events > 0
    assert find(report, "dup_1000", "hfr", 0.5).events == 0
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_the_analysis_is_deterministic(plan, folder, report):
    assert read(plan, folder).model_dump_json() == report.model_dump_json()


def test_every_control_holds(report):
    assert [c.passed for c in report.controls] == [True] * len(report.controls)
    assert "40 of 40" in control(report, "rate 0").detail
    assert "40 of 40" in control(report, "A/A").detail


def test_audit_and_exposure_agree(plan, report):
    assert sum(row.reached for row in report.audit) > 0
    assert all(row.reached == row.delivered and not row.mismatched for row in report.audit)
    cells = {(row["arm"], row["rate"]): row for row in report.exposure}
    assert len(cells) == len(ARMS) * 3
    assert cells["hfr", 0.0]["scheduled"] == 0
    assert cells["hfr", 0.5]["reached"] >= cells["no_retry", 0.5]["reached"] > 0


def test_contrasts_are_against_the_baseline_and_by_hypothesis(plan):
    against_baseline = [("blind_resend", "no_retry"), ("hfr", "no_retry")]
    assert contrasted(plan.prereg)[:2] == tuple(against_baseline)
    claim = Hypothesis(
        id="H1", metric="dup_1000", arm="hfr", against="blind_resend", direction="less"
    )
    pairs = contrasted(plan.prereg.model_copy(update={"hypotheses": (claim,)}))
    assert ("hfr", "blind_resend") in pairs
    assert ("hfr", "oracle_recovery") in pairs
    assert len(pairs) == len({frozenset(pair) for pair in pairs}) == 6


def test_every_arm_is_contrasted_with_the_one_that_sees_the_truth(plan):
    pairs = {frozenset(pair) for pair in contrasted(plan.prereg)}
    others = set(ARMS) - {"oracle_recovery"}
    assert all(frozenset((arm, "oracle_recovery")) in pairs for arm in others)


def test_pooled_numbers_are_made_of_all_trials_above_rate_0(report):
    pooled = [e for e in report.estimates if e.pool]
    assert {(e.rate, e.pool) for e in pooled} == {(None, POOLED)}
    assert {e.pool for e in report.estimates if e.rate is not None} == {""}
    for one in pooled:
        parts = [find(report, one.metric, one.arm, rate) for rate in (0.1, 0.5)]
        assert one.n == sum(part.n for part in parts)
        if one.events is not None:
            assert one.events == sum(part.events for part in parts)
    # Tasks are drawn, not trials: 40 tasks without an event bound no better than at one rate.
    harm = find(report, "harm_1000", "hfr", None)
    assert (harm.events, harm.n) == (0, 80)
    assert harm.high == find(report, "harm_1000", "hfr", 0.5).high


def test_pooled_pairs_stay_pairs_of_one_schedule(report):
    """Pooling must not pair a trial at one rate with its rival's trial at another."""
    found = {(p.metric, p.arm, p.against, p.rate): p for p in report.contrasts}
    pooled = [p for p in report.contrasts if p.pool]
    assert pooled
    for one in pooled:
        parts = [found[one.metric, one.arm, one.against, rate] for rate in (0.1, 0.5)]
        assert one.pairs == sum(part.pairs for part in parts) == 80
        assert one.tasks == 40
        if one.better is not None:
            assert one.better == sum(part.better for part in parts)
            assert one.worse == sum(part.worse for part in parts)


def test_without_faults_nothing_is_pooled(tmp_path):
    plan = planned(("no_retry", "hfr"), tasks=2, rates=(0.0,))
    write_all(tmp_path, plan)
    report = read(plan, tmp_path)
    assert report.estimates
    assert not any(e.pool for e in (*report.estimates, *report.contrasts))


def claim(direction="greater", **fields):
    registered = {"id": "H1", "metric": "dup_any", "arm": "a", "against": "b"}
    return Hypothesis.model_validate(registered | {"direction": direction} | fields)


def pair(low, high, **fields):
    middle = None if low is None else (low + high) / 2
    made = {"metric": "dup_any", "arm": "a", "against": "b", "rate": None, "pool": POOLED}
    made |= {"pairs": 9, "tasks": 9, "difference": middle, "low": low, "high": high}
    return PairedEstimate.model_validate(made | fields)


def judge(of, *pairs, complete=True, valid=True):
    (row,) = judged([of], pairs, complete=complete, valid=valid)
    return row


@pytest.mark.parametrize(
    ("of", "bounds", "verdict", "why"),
    [
        (claim(), (0.1, 0.3), "supported", "interval above 0"),
        (claim(), (0.0, 0.3), "not supported", "interval includes 0"),
        (claim(), (-0.1, 0.3), "not supported", "interval includes 0"),
        (claim(), (-0.3, -0.1), "not supported", "interval below 0"),
        (claim("less"), (-0.3, -0.1), "supported", "interval below 0"),
        (claim("less"), (-0.3, 0.1), "not supported", "interval includes 0"),
        (claim("less"), (0.1, 0.3), "not supported", "interval above 0"),
        (claim(margin=0.2), (0.1, 0.3), "not supported", "interval includes the margin"),
        (claim(margin=-0.2), (-0.1, 0.3), "supported", "interval above the margin"),
        (claim("less", margin=-0.2), (-0.3, 0.1), "supported", "interval below the margin"),
        (claim("equal", margin=0.2), (-0.1, 0.1), "supported", "interval within the margin"),
        (claim("equal", margin=0.2), (-0.1, 0.2), "not supported", "reaches beyond the margin"),
    ],
)
def test_a_claim_holds_only_if_its_whole_interval_does(of, bounds, verdict, why):
    row = judge(of, pair(*bounds))
    assert (row.verdict, row.pool, row.low, row.high) == (verdict, POOLED, *bounds)
    assert why in row.why


def test_a_claim_against_the_grain_of_its_contrast_is_turned_around():
    row = judge(claim("less", arm="b", against="a"), pair(0.1, 0.3))
    assert (row.verdict, row.low, row.high) == ("supported", -0.3, -0.1)
    assert row.difference == pytest.approx(-0.2)


def test_a_claim_at_one_rate_is_judged_there():
    pairs = pair(-0.3, -0.1), pair(0.1, 0.3, rate=0.5, pool="")
    row = judge(claim(rate=0.5), *pairs)
    assert (row.verdict, row.rate, row.pool) == ("supported", 0.5, "")


def test_a_claim_without_a_sound_interval_cannot_be_told():
    sure = pair(0.1, 0.3)
    none = pair(None, None, method="none", note="too few differ")
    for row, why in (
        (judge(claim(), none), "too few differ"),
        (judge(claim()), "no interval"),
        (judge(claim(), sure, complete=False), "not all planned trials are in"),
        (judge(claim(), sure, valid=False), "the experiment is not valid"),
    ):
        assert (row.verdict, row.why) == ("cannot be told", why)


def test_registered_claims_are_judged_in_the_report(plan, folder):
    made = claim("greater", arm="blind_resend", against="hfr", metric="dup_any")
    worse = claim("greater", id="H2", arm="no_retry", against="hfr", metric="sr", rate=0.5)
    rows = read(plan, folder, hypotheses=(made, worse)).hypotheses
    assert [row.id for row in rows] == ["H1", "H2"]
    assert rows[0].difference > 0
    assert rows[1].verdict == "not supported"
    assert rows[1].why == "interval below 0"


def test_an_incomplete_experiment_says_what_lacks(tmp_path):
    plan = small(tmp_path)
    gone = plan.rows[0].trial
    (tmp_path / "trials" / gone.pair_group / "r1" / f"{gone.arm}.jsonl").unlink()
    report = read(plan, tmp_path)
    assert not report.complete
    assert (report.trials_analysed, report.trials_planned) == (6, 8)
    assert any("incomplete: 2 of 12 planned trials" in note for note in report.notes)


def test_nothing_run_yet_gives_an_empty_report(tmp_path):
    plan = planned(("no_retry", "hfr"), tasks=2, rates=(0.0, 0.9))
    report = read(plan, tmp_path)
    assert (report.complete, report.trials_analysed, report.tasks) == (False, 0, 0)
    assert {e.value for e in report.estimates} == {None}
    assert {c.passed for c in report.controls if "without a plan" not in c.name} == {None}


def _cheated(at):
    """An answer in place of an error."""
    if not isinstance(at.body, AttemptEnded) or at.body.status != 500:
        return at
    return at._replace(body=answered(cost_microusd=at.body.cost_microusd))


def test_a_fault_that_was_not_delivered_makes_it_invalid(tmp_path):
    plan = planned(("no_retry",), tasks=1, rates=(0.0, 1.0), faults=some_faults)
    write_all(tmp_path, plan)
    assert read(plan, tmp_path).valid
    row = plan.rows[-1]
    played = play(row, plan.schedule(row.trial.schedule_id))
    cheated = [_cheated(b) for b in played]
    write_trial(tmp_path, row.trial, cheated)
    report = read(plan, tmp_path)
    assert not report.valid
    assert control(report, "was delivered").passed is False
    assert any("seen status 200" in text for a in report.audit for text in a.mismatched)


def test_a_broken_chain_makes_it_invalid_and_a_bad_line_incomplete(tmp_path):
    plan = small(tmp_path)
    paths = sorted((tmp_path / "trials").glob("*main/r1/hfr.jsonl"))
    lines = paths[0].read_bytes().splitlines()
    lines[1] = lines[1].replace(b'"t_us":0', b'"t_us":1')
    paths[0].write_bytes(b"\n".join(lines) + b"\n")
    report = read(plan, tmp_path)
    assert (report.valid, report.complete) == (False, True)
    assert any("hfr.jsonl:3" in note for note in report.notes)
    lines = paths[1].read_bytes().splitlines()
    paths[1].write_bytes(b"\n".join([lines[0], lines[1][:50], *lines[2:]]) + b"\n")
    report = read(plan, tmp_path)
    assert (report.complete, report.trials_analysed) == (False, 6)
    assert any("hfr.jsonl:2" in note and "unreadable" in note for note in report.notes)


def test_controls_that_differ_from_their_twin_fail(tmp_path):
    plan = small(tmp_path)
    for row in plan.rows:
        if row.control is not None:
            played = play(row, plan.schedule(row.trial.schedule_id))
            more = [*played[:-1], At(sent("model:agent", 9)), At(answered()), played[-1]]
            write_trial(tmp_path, row.trial, more)
    report = read(plan, tmp_path)
    assert control(report, "rate 0").passed is False
    assert control(report, "A/A").passed is False
    assert "0 of 2" in control(report, "A/A").detail
    assert not report.valid


def spoiled(row, played, **fields):
    """A trial whose result says something else than its trace."""
    last = played[-1]
    result = last.body.result
    outcome = result.outcome.model_copy(update=fields)
    body = TrialEnded(result=result.model_copy(update={"outcome": outcome}))
    return [*played[:-1], last._replace(body=body)]


def test_arms_that_betray_the_harness_are_told(tmp_path):
    plan = planned(("no_retry", "blind_resend", "oracle_recovery"), tasks=3, rates=(0.0, 0.9))
    write_all(tmp_path, plan)
    for row in plan.rows:
        if row.control is None and row.trial.rate:
            dup = int(row.trial.arm == "oracle_recovery")
            played = play(row, plan.schedule(row.trial.schedule_id))
            made = spoiled(row, played, duplicates=dup, lost_effects=1)
            write_trial(tmp_path, row.trial, made)
    report = read(plan, tmp_path)
    for words in ("without retries", "known-bad", "sees the truth"):
        assert (control(report, words).passed, control(report, words).decides) == (False, False)
    # Such controls warn; what says that the numbers are wrong is the trace itself.
    assert control(report, "follows from its trace").passed is False
    assert not report.valid


def test_a_known_bad_arm_without_anything_to_double_proves_nothing(tmp_path):
    plan = planned(("blind_resend",), tasks=2, rates=(0.0, 0.9))
    write_all(tmp_path, plan)
    row = control(read(plan, tmp_path), "known-bad")
    assert row.passed is None
    assert "nothing could be duplicated" in row.detail


def test_a_failure_outside_the_schedule_is_told(tmp_path):
    plan = small(tmp_path)
    row = plan.rows[0]
    write_trial(tmp_path, row.trial, [At(sent()), At(refused()), ended(row.trial)])
    report = read(plan, tmp_path)
    row = control(report, "without a plan")
    assert (row.passed, "1 attempts failed" in row.detail) == (False, True)
    assert not report.valid


def test_a_live_service_may_fail_by_itself_but_not_lie(tmp_path):
    plan = planned(("hfr",), tasks=1, rates=(0.0,), controls=False, origin=Origin.LIVE)
    write_all(tmp_path, plan)
    row = plan.rows[0]
    played = play(row, plan.schedule(row.trial.schedule_id))
    attempt = [At(sent()), At(refused(cost_microusd=0))]
    write_trial(tmp_path, row.trial, [played[0], *attempt, *played[1:]])
    assert control(read(plan, tmp_path), "without a plan").passed is None
    attempt = [At(sent()), At(answered())]
    write_trial(tmp_path, row.trial, [played[0], *attempt, *played[1:]])
    assert control(read(plan, tmp_path), "without a plan").passed is False


def test_voids_are_counted_and_bounded(tmp_path):
    plan = small(tmp_path, void_rounds=1)
    voided = [r.trial for r in plan.rows if r.trial.pair_group == "t1-0-main"]
    for round_ in (1, 2):
        write_trial(tmp_path, voided[0], [ended(voided[0], void=VoidCause.SANDBOX)], round_)
    report = read(plan, tmp_path)
    assert (report.groups_dropped, report.complete, report.trials_analysed) == (1, True, 6)
    rows = {row.arm: row for row in report.voids}
    assert (rows["no_retry"].voids, rows["no_retry"].causes) == (2, {"sandbox": 2})
    hfr = rows["hfr"]
    assert (hfr.voids, hfr.dropped) == (0, 1)
    assert hfr.sr_worst == 0.75
    assert hfr.sr_best == 1.0


def test_an_unknown_schedule_is_an_error(tmp_path):
    plan = small(tmp_path)
    plan.schedules.clear()
    with pytest.raises(BadInputError, match="schedule"):
        read(plan, tmp_path)


def test_silent_kinds_have_numbers_of_their_own(plan, folder):
    """By what was scheduled; a trial with both sorts belongs to neither."""
    kinds = KINDS | {"lost": KINDS["lost"].model_copy(update={"silent": True})}
    found = analyse(plan.prereg, plan.lock, plan.rows, Store(folder), plan.schedule, kinds)
    assert found.silent_kinds == ("lost",)
    sizes = {e.pool: e.n for e in found.estimates if (e.metric, e.arm) == ("sr", "hfr") and e.pool}
    of = {EXPLICIT: {"busy"}, SILENT: {"lost"}, MIXED: {"busy", "lost"}}
    for pool, names in of.items():
        scheduled = [
            row
            for row in plan.rows
            if row.control is None and row.trial.arm == "hfr" and row.trial.rate > 0
            and {e.kind for e in plan.schedule(row.trial.schedule_id).events} == names
        ]  # fmt: skip
        assert sizes[pool] == len(scheduled) > 0
    titles = [table.title for table in apart(found)]
    assert [title.split(" | ")[0].rsplit(", ")[-1] for title in titles] == [
        "explicit kinds only", "silent kinds only", "both kinds",
    ]  # fmt: skip


def test_without_a_silent_kind_the_pooled_numbers_say_it_all(report):
    assert report.silent_kinds == ()
    assert {e.pool for e in report.estimates} == {"", POOLED}
