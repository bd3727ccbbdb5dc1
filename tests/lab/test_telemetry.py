"""An experiment's traces as metrics, alerts and decision events; only rounds that count do."""

import re

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab import decode
from hfr_bench.lab.book import ScheduleBook
from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.rounds import last_rounds
from hfr_bench.lab.store import Store
from hfr_bench.lab.telemetry import (
    METRICS,
    Arm,
    Telemetry,
    counted,
    decisions,
    exposition,
    samples,
    telemetry,
)
from hfr_bench.model.terms import Action, CheckLevel, Origin, Rung, VoidCause
from hfr_bench.model.trace import Decided, VerifyAnswered
from hfr_bench.recovery.metering import ATTEMPTS, DUPLICATES, STEPS, Metrics, series
from hfr_bench.recovery.telemetry import Rule, decision_events, measure, total, with_circuits
from hfr_bench.stats.metrics import METRICS as REPORTED
from hfr_bench.stats.metrics import value
from hfr_bench.testing.experiments import planned, play, some_faults, write_all
from hfr_bench.testing.results import At, ended, started, write_trial

ARMS = ("no_retry", "hfr", "blind_resend", "always_escalate")
PLAN = planned(ARMS, tasks=12, rates=(0.0, 0.6), faults=some_faults)
BOOK = ScheduleBook(made.dumps() for made in PLAN.schedules.values())
PLAIN = Redactor()
SAMPLE = re.compile(r'[a-z_0-9]+\{([a-z_]+="(?:[^"\\\n]|\\[\\n"])*",?)+\} -?[0-9.e+-]+')


@pytest.fixture
def experiment(tmp_path) -> Experiment:
    write_all(tmp_path, PLAN)
    return Experiment(tmp_path, PLAN.prereg, PLAN.lock, PLAN.rows, BOOK)


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> Telemetry:
    """Of the whole experiment; never changed."""
    folder = tmp_path_factory.mktemp("told")
    write_all(folder, PLAN)
    return telemetry(Experiment(folder, PLAN.prereg, PLAN.lock, PLAN.rows, BOOK))


def test_each_arm_adds_up_to_what_the_report_says(experiment, found):
    assert [arm.arm for arm in found.arms] == list(ARMS)
    rows = {(r.trial.pair_group, r.trial.arm): r for r in PLAN.rows}
    results = [
        (rows[file.group, file.arm], Store(experiment.path).check(file).result)
        for file in Store(experiment.path).files()
    ]
    for arm in found.arms:
        own = [r for row, r in results if r.arm == arm.arm and row.control is None]
        metrics = arm.metrics
        assert arm.trials == len(own) == 24
        assert metrics.amplification == value(REPORTED["ra"], own)
        assert metrics.p95_us == value(REPORTED["p95_auto"], own)
        assert metrics.cost_per_success_microusd == value(REPORTED["cps"], own)
        assert metrics.of(DUPLICATES) == sum(r.outcome.duplicates for r in own)
    assert found.arms[2].metrics.of(DUPLICATES) > 0


def test_records_and_their_like_give_the_same(experiment):
    store = Store(experiment.path)
    for file in store.files():
        like = decode.trace_events(store.raw(file))
        records = store.trace(file).events
        assert measure(like) == measure(records)
        assert list(decision_events(like)) == list(decision_events(records))


def test_the_blind_arm_is_told_of_and_the_others_are_not(found):
    said = {arm.arm: {one.alert.rule for one in arm.alerts} for arm in found.arms}
    assert Rule.DUPLICATES in said["blind_resend"]
    assert Rule.ESCALATION in said["always_escalate"]
    assert said["hfr"] == set()


@pytest.mark.parametrize("window", [1, 5, 7, 24, 100])
def test_every_window_is_judged_as_it_was_at_its_end(experiment, found, window):
    (one,) = telemetry(experiment, ("blind_resend",), window=window).arms
    assert one.metrics == found.arms[2].metrics
    numbers = [
        min(n // window + 1, max(1, 24 // window))
        for n, trial in enumerate(counted(experiment, ("blind_resend",)))
        if trial.reading.checked.result.outcome.duplicates
    ]
    (told,) = [raised for raised in one.alerts if raised.alert.rule is Rule.DUPLICATES]
    assert told.windows == tuple(sorted(set(numbers)))


def test_the_exposition_announces_all_twelve_and_parses(found):
    lines = list(exposition(found, PLAIN))
    assert [line.split()[2] for line in lines if line.startswith("# TYPE ")] == list(METRICS)
    assert len(METRICS) == 12
    told = [line for line in lines if not line.startswith("#")]
    assert told
    assert not [line for line in told if not SAMPLE.fullmatch(line)]
    assert all('origin="rehearsal"' in line for line in told)
    assert 'harness_duplicate_side_effects_total{arm="hfr",origin="rehearsal"} 0' in told
    by_name = [re.sub("_(bucket|sum|count)$", "", line.split("{")[0]) for line in told]
    assert sorted(by_name, key=by_name.index) == by_name  # each metric in one piece


def test_units_are_those_of_the_help_text(found):
    of = {(one.name, one.labels["arm"]): one.value for one in samples(found, PLAIN)}
    hfr = found.arms[1].metrics
    assert of["harness_p95_latency_non_escalated", "hfr"] == hfr.p95_us / 1e6
    assert of["harness_cost_per_success", "hfr"] == hfr.cost_per_success_microusd / 1e6
    assert of["harness_retry_amplification", "hfr"] == hfr.of(ATTEMPTS) / hfr.of(STEPS)


def with_metrics(metrics: Metrics) -> Telemetry:
    return Telemetry("n", Origin.REHEARSAL, "d", 1, 1, (Arm("a", 1, metrics, ()),))


def test_a_histogram_is_cumulative():
    metrics = Metrics(quality_deltas={-500: 1, -60: 2, 0: 3, 700: 4})
    told = {
        (one.name, one.labels.get("le")): one.value
        for one in samples(with_metrics(metrics), PLAIN)
        if "quality" in one.name
    }
    name = "harness_degradation_quality_delta"
    assert [told[f"{name}_bucket", le] for le in ("-0.5", "-0.1", "-0.05", "0", "0.5", "+Inf")] == [
        1, 1, 3, 6, 6, 10,
    ]  # fmt: skip
    assert told[f"{name}_count", None] == 10
    assert told[f"{name}_sum", None] == pytest.approx(-0.5 - 0.12 + 2.8)


def test_labels_are_redacted_and_escaped():
    metrics = Metrics({series("harness_escalations_total", reason='ask a@b.org "now"\n\\'): 2})
    told = with_metrics(with_circuits(metrics, {"model:m": "half_open"}))
    lines = list(exposition(told, PLAIN))
    wanted = r'harness_escalations_total{reason="ask [e-mail] \"now\"\n\\",arm="a"'
    assert [line for line in lines if line.startswith(wanted)]
    assert 'harness_circuit_state{target="model:m",arm="a",origin="rehearsal"} 1' in lines


def test_void_rounds_and_damaged_traces_do_not_count(experiment):
    row = next(r for r in PLAN.rows if r.control is None)
    trial = row.trial
    trio = [r for r in PLAN.rows if r.trial.pair_group == trial.pair_group]
    before = telemetry(experiment)
    write_trial(experiment.path, trial, [started(trial), ended(trial, void=VoidCause.SANDBOX)])
    assert telemetry(experiment).graded == before.graded - len(trio)
    for one in trio:
        played = play(one, PLAN.schedule(one.trial.schedule_id))
        write_trial(experiment.path, one.trial, played, 2)
    again = telemetry(experiment)
    assert (again.graded, again.arms) == (before.graded, before.arms)
    assert {g[0].reading.checked.file.round for g in last_rounds(experiment)} == {1, 2}


def test_an_arm_that_is_not_registered(experiment):
    with pytest.raises(BadInputError, match="no arm 'hrf'; registered are: no_retry, hfr, "):
        telemetry(experiment, ("hrf",))


def test_decision_events_are_redacted_and_carry_arm_and_origin(experiment):
    row = next(r for r in PLAN.rows if r.trial.arm == "hfr" and r.control is None)
    told = Decided(
        on="Attempted", action=Action.DEGRADE_MODEL, rung=Rung.SAME_TIER, reason="mail a@b.org"
    )
    bodies = play(row, PLAN.schedule(row.trial.schedule_id))
    verdict = VerifyAnswered(level=CheckLevel.SEMANTIC, passed=True)
    made = [*bodies[:1], At(told), At(verdict), *bodies[1:]]
    write_trial(experiment.path, row.trial, made)
    found = list(decisions(experiment, ("hfr",), PLAIN))
    (one,) = [event for event in found if event["action"] == "DEGRADE_MODEL"]
    assert one["reason"] == "mail [e-mail]"
    assert (one["trial_id"], one["arm"], one["origin"]) == (row.trial.trial_id, "hfr", "rehearsal")
    assert {event["arm"] for event in found} == {"hfr"}
    assert total(measure(c.reading.events) for c in counted(experiment, ("hfr",)))
