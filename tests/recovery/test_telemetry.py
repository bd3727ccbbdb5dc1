"""Decision events and the twelve metrics: what is counted, and that the sums are the report's."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.model.attempt import BudgetView, Decision, Fault, Verdict
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.record import Record
from hfr_bench.model.terms import (
    Action,
    CheckLevel,
    End,
    FaultClass,
    Landed,
    Rung,
    SideEffect,
    VoidCause,
)
from hfr_bench.model.trace import Decided, ReconcileAnswered, TraceEvent, VerifyAnswered
from hfr_bench.model.trial import Trial, TrialResult
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.metering import (
    AMPLIFICATION,
    ATTEMPTS,
    CALLED,
    CIRCUIT,
    COST_PER_SUCCESS,
    DEGRADED,
    DUPLICATES,
    ESCALATED,
    EXHAUSTED,
    P95,
    QUALITY_DELTA,
    RECONCILED,
    REJECTED,
    STEPS,
    SUCCESSES,
    TRIALS,
    Metrics,
    Series,
    kind_of,
    measure,
    series,
    total,
    with_circuits,
)
from hfr_bench.recovery.strategies import BlindResend, ExpRetry, NoRetry
from hfr_bench.recovery.telemetry import Checked, DecisionEvent, decision_event, decision_events
from hfr_bench.stats.metrics import METRICS, value
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import (
    At,
    answered,
    ended,
    events,
    outcome,
    refused,
    result,
    sent,
    started,
    timed_out,
)
from hfr_bench.testing.rig import Rig, fault, lost_answer
from hfr_bench.testing.wrapped import step_view

TRIAL: Trial = planned().rows[0].trial
BOOK: dict[str, Any] = {"level": SideEffect.QUERYABLE}


def decided(action: Action, on: str = "Attempted", **fields: Any) -> Decided:
    return Decided(on=on, action=action, **fields)


def trace(*bodies: Record | At, last: dict[str, Any] | None = None) -> list[TraceEvent]:
    """A trial: its first line, the bodies (at step 1 unless placed), and a good end."""
    told = [one if isinstance(one, At) else At(one) for one in bodies]  # type: ignore[arg-type]
    return events(TRIAL.trial_id, [started(TRIAL), *told, ended(TRIAL, **(last or {}))])


def counted(metrics: Metrics, name: str) -> dict[tuple[tuple[str, str], ...], int]:
    return {one.labels: n for one, n in metrics.labelled(name).items()}


# -- decision events --------------------------------------------------------------------------


def test_an_event_has_the_papers_twelve_fields_and_a_reason() -> None:
    budget = BudgetView(2, 7, 90_000_000)
    decision = Decision(
        Action.ESCALATE,
        "no way out",
        delay_us=5,
        rung=Rung.SAME_TIER,
        fault=Fault(FaultClass.OVERLOAD, 0.8),
        budget=budget,
    )
    verdict = Verdict(CheckLevel.SEMANTIC, passed=False)
    made = decision_event("t1", step_view(step=3), decision, 1000, 42, verdict)
    assert made == DecisionEvent(
        "t1", 3, FaultClass.OVERLOAD, 0.8, Action.ESCALATE, budget, 5, Rung.SAME_TIER,
        Checked(CheckLevel.SEMANTIC, passed=False), True, 1000, 42, "no way out",
    )  # fmt: skip
    assert len(DecisionEvent._fields) == 12 + 1
    plain = json.loads(json.dumps(made.plain()))
    assert plain["check"] == "V2"
    assert (plain["check_passed"], plain["task_left"], plain["fault_class"]) == (False, 7, "T4")


def test_what_is_not_there_is_null() -> None:
    made = decision_event("t1", None, Decision(Action.ACCEPT), 0, None)
    assert (made.step_id, made.check, made.fault_class, made.escalated) == (0, None, None, False)
    asked = decision_event("t1", None, Decision(Action.VERIFY, check=CheckLevel.SEMANTIC), 0, 0)
    assert asked.check == Checked(CheckLevel.SEMANTIC)


def test_events_of_a_trace_carry_what_their_step_has_taken_so_far() -> None:
    told = trace(
        At(decided(Action.DISPATCH, "Proposed"), t_us=1000),
        At(sent(), t_us=1000),
        At(timed_out(cost_microusd=7), t_us=5000),
        At(decided(Action.RETRY, fault_class=FaultClass.TIMEOUT, confidence=0.9), t_us=5000),
        At(answered(cost_microusd=None), t_us=9000),
        At(decided(Action.VERIFY, check=CheckLevel.SEMANTIC), t_us=9000),
        At(VerifyAnswered(level=CheckLevel.SEMANTIC, passed=True), t_us=9500),
        At(decided(Action.ACCEPT, "Verified"), t_us=9500),
        At(decided(Action.DISPATCH, "Proposed"), step=2, t_us=9600),
        At(decided(Action.ESCALATE, "Finishing", reason="why"), step=0, t_us=9700),
    )
    found = list(decision_events(told))
    assert [one.step_id for one in found] == [1, 1, 1, 1, 2, 0]
    assert [one.elapsed_us for one in found] == [0, 4000, 8000, 8500, 0, 0]
    assert [one.cost_microusd for one in found] == [0, 7, None, None, 0, 0]
    assert [one.check for one in found[2:5]] == [
        Checked(CheckLevel.SEMANTIC), Checked(CheckLevel.SEMANTIC, passed=True), None,
    ]  # fmt: skip
    assert {one.task_id for one in found} == {TRIAL.task_id}
    assert (found[1].fault_class, found[1].confidence) == (FaultClass.TIMEOUT, 0.9)
    assert [one.escalated for one in found] == [False] * 5 + [True]


def test_every_decision_of_a_trial_is_an_event() -> None:
    kit = Kit(equipment=Equipment(ledger=True, query=True))
    ran = Rig(Hfr({}, kit), faults=[lost_answer("add_order")]).run()
    told = [event.body for event in ran.events if isinstance(event.body, Decided)]
    found = list(decision_events(ran.events))
    assert [(one.action, one.reason) for one in found] == [(b.action, b.reason) for b in told]


# -- metrics ----------------------------------------------------------------------------------


def test_the_names_are_the_papers() -> None:
    assert (ATTEMPTS, AMPLIFICATION, EXHAUSTED, DEGRADED, QUALITY_DELTA, DUPLICATES, RECONCILED,
            REJECTED, ESCALATED, COST_PER_SUCCESS, P95, CIRCUIT) == (
        "harness_attempts_total", "harness_retry_amplification",
        "harness_retry_budget_exhausted_total", "harness_degradation_total",
        "harness_degradation_quality_delta", "harness_duplicate_side_effects_total",
        "harness_reconcile_total", "harness_verification_failures_total",
        "harness_escalations_total", "harness_cost_per_success",
        "harness_p95_latency_non_escalated", "harness_circuit_state",
    )  # fmt: skip


def test_attempts_count_under_the_class_that_was_believed() -> None:
    told = trace(
        sent(), timed_out(), decided(Action.RETRY, fault_class=FaultClass.TIMEOUT),
        sent(), refused(), decided(Action.RETRY, fault_class=FaultClass.TRANSIENT),
        sent(), refused(), decided(Action.RETRY),
        sent(), answered(), decided(Action.ACCEPT),
        At(sent("tool:book", **BOOK), step=2),
        At(answered(domain_error=True), step=2),
        At(decided(Action.ACCEPT), step=2),
        At(sent("reconcile:book", purpose="reconcile"), step=2),
        At(timed_out(), step=2),
        At(sent("tool:book", **BOOK), step=3),
    )  # fmt: skip
    metrics = measure(told)
    assert counted(metrics, ATTEMPTS) == {
        (("class", "T3"), ("outcome", "lost")): 1,
        (("class", "T1"), ("outcome", "refused")): 1,
        (("class", "none"), ("outcome", "refused")): 1,
        (("class", "none"), ("outcome", "answered")): 1,
        (("class", "none"), ("outcome", "domain_error")): 1,
        (("class", "none"), ("outcome", "unheard")): 1,
    }
    assert (metrics.of(STEPS), metrics.amplification) == (3, 2.0)


LEFT = {"fault_class": FaultClass.TRANSIENT, "step_left": 0, "task_left": 5}


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (decided(Action.ESCALATE, **LEFT), 1),
        (decided(Action.REPLAN, **LEFT), 1),
        (decided(Action.FAIL, **(LEFT | {"step_left": 3, "task_left": 0})), 1),
        (decided(Action.RETRY, debit=1, **LEFT), 0),
        (decided(Action.DEGRADE_MODEL, debit=1, **LEFT), 0),
        (decided(Action.RECONCILE, **LEFT), 0),
        (decided(Action.ESCALATE, **(LEFT | {"step_left": 1})), 0),
        (decided(Action.ESCALATE, **(LEFT | {"fault_class": FaultClass.REFUSAL})), 0),
        (decided(Action.ESCALATE, step_left=0, task_left=0), 0),
    ],
)
def test_a_budget_is_exhausted_when_a_retry_was_wanted(body: Decided, count: int) -> None:
    assert measure(trace(body)).of(EXHAUSTED) == count


def test_degradations_by_rung_and_class_and_what_they_cost_in_quality() -> None:
    seen = [
        decided(Action.DEGRADE_MODEL, rung=Rung.SAME_TIER, fault_class=FaultClass.OVERLOAD),
        VerifyAnswered(level=CheckLevel.SEMANTIC, passed=True, quality=0.8),
        VerifyAnswered(level=CheckLevel.SEMANTIC, passed=True, quality=0.5),
        decided(Action.COMPRESS),
        VerifyAnswered(level=CheckLevel.SEMANTIC, passed=True, quality=0.6),
        decided(Action.DEGRADE_SCOPE),
        At(VerifyAnswered(level=CheckLevel.SEMANTIC, passed=True, quality=0.1), step=2),
    ]
    metrics = measure(trace(*seen))
    assert counted(metrics, DEGRADED) == {
        (("level", "L2"), ("reason", "T4")): 1,
        (("level", "L1"), ("reason", "none")): 1,
        (("level", "L4"), ("reason", "none")): 1,
    }
    assert metrics.quality_deltas == {-200: 1, 100: 1}


def test_reconciles_rejections_and_escalations() -> None:
    metrics = measure(
        trace(
            ReconcileAnswered(tool="book", landed=Landed.ABSENT),
            VerifyAnswered(
                level=CheckLevel.DETERMINISTIC, passed=False, reasons=("test x: 500", "b")
            ),
            VerifyAnswered(level=CheckLevel.DETERMINISTIC, passed=False),
            VerifyAnswered(level=CheckLevel.SEMANTIC, passed=True),
            decided(Action.ESCALATE, reason="irreversible and unknown"),
            decided(Action.ESCALATE, fault_class=FaultClass.PERMANENT),
        )
    )
    assert counted(metrics, RECONCILED) == {(("outcome", "absent"),): 1}
    assert counted(metrics, REJECTED) == {
        (("level", "V1"), ("reason", "test x")): 1,
        (("level", "V1"), ("reason", "none")): 1,
    }
    assert counted(metrics, ESCALATED) == {
        (("reason", "irreversible and unknown"),): 1,
        (("reason", "T7"),): 1,
    }


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("no retry left", "no retry left"),
        ("controller down, fail-closed: TypeError: x", "controller down, fail-closed"),
        ("order 12 has no row", "order"),
        ("the field 'price' is missing", "the field"),
        ("403 forbidden", ""),
        ("a" * 500, "a" * 60),
        ("", ""),
    ],
)
def test_a_label_says_the_kind_of_thing_only(reason: str, kind: str) -> None:
    assert kind_of(reason) == kind


def test_a_void_adds_its_attempts_and_nothing_else() -> None:
    metrics = measure(trace(sent(), answered(), last={"void": VoidCause.SANDBOX}))
    assert (metrics.of(TRIALS), metrics.of(ATTEMPTS), metrics.latencies_us) == (0, 1, {})


results = st.builds(
    lambda end, dup, cost, us, goal: result(
        of=outcome(
            success=goal and end is End.ACCEPTED, goal_met=goal, end=end, duplicates=dup,
            accepted=end is End.ACCEPTED,
        ),
        cost_microusd=cost,
        latency_us=us,
    ),
    st.sampled_from(list(End)),
    st.integers(0, 3),
    st.integers(0, 10**6),
    st.integers(0, 50),
    st.booleans(),
)  # fmt: skip


@given(st.lists(results, min_size=1, max_size=40))
def test_what_the_report_knows_too_is_the_same_here(trials: list[TrialResult]) -> None:
    """The metrics of §5.5 that §3.4 names as well."""
    metrics = total(measure(_ending(one)) for one in trials)
    assert metrics.cost_per_success_microusd == value(METRICS["cps"], trials)
    assert metrics.p95_us == value(METRICS["p95_auto"], trials)
    assert 1000 * metrics.of(DUPLICATES) / len(trials) == value(METRICS["dup_1000"], trials)
    assert metrics.of(SUCCESSES) / len(trials) == value(METRICS["sr"], trials)
    assert metrics.of(CALLED) / len(trials) == value(METRICS["esc"], trials)


def _ending(one: TrialResult) -> list[TraceEvent]:
    last = ended(TRIAL)
    return events("t", [last._replace(body=last.body.model_copy(update={"result": one}))])


@pytest.mark.parametrize("strategy", [NoRetry, ExpRetry, BlindResend, Hfr])
@pytest.mark.parametrize("n", [0, 1, 3, 9])
def test_amplification_is_attempts_over_steps(strategy: Any, n: int) -> None:
    faults = [fault("busy", "tool:add_order", n=n)] if n else []
    ran = Rig(strategy({}, Kit()), faults=faults).run()
    metrics = measure(ran.events)
    assert metrics.of(ATTEMPTS) == ran.attempts()
    assert metrics.amplification == ran.attempts() / ran.guard.tally.steps


def test_an_unknown_price_makes_the_cost_unknown() -> None:
    known, unknown = measure(trace()), measure(trace(last={"cost_microusd": None}))
    assert known.cost_per_success_microusd == 1000
    assert total([known, unknown, known]).cost_per_success_microusd is None


def test_nothing_has_no_rates() -> None:
    empty = total([])
    assert (empty.amplification, empty.cost_per_success_microusd, empty.p95_us) == (None,) * 3


counts = st.dictionaries(
    st.builds(series, st.sampled_from(["a", "b"]), x=st.sampled_from("12")), st.integers(1, 9)
)
numbers = st.dictionaries(st.integers(-9, 9), st.integers(1, 9))
circuits = st.dictionaries(st.sampled_from("mn"), st.sampled_from(["closed", "half_open", "open"]))
parts = st.builds(Metrics, counts, numbers, numbers, st.none() | st.integers(0, 99), circuits)


@given(parts, parts, parts)
def test_adding_up_is_a_sum(a: Metrics, b: Metrics, c: Metrics) -> None:
    assert total([a, b]) == total([b, a])
    assert total([total([a, b]), c]) == total([a, total([b, c])]) == total([a, b, c])
    assert total([a, Metrics()]) == total([a]) == a


def test_the_worst_state_of_a_breaker_is_kept() -> None:
    metrics = with_circuits(measure(trace()), {"model:m": "open"})
    assert total([metrics, with_circuits(Metrics(), {"model:m": "closed"})]).circuits == {
        "model:m": "open"
    }
    with pytest.raises(ValueError, match="no circuit state 'ajar'; there are: closed, half_open"):
        with_circuits(metrics, {"model:m": "ajar"})


def test_labels_are_sorted_and_class_may_be_one() -> None:
    assert series("n", outcome="lost", class_="T1") == Series(
        "n", (("class", "T1"), ("outcome", "lost"))
    )
