"""A harness that lies: each defect is planted in one trial, and the report must not be valid.

One test a kind of defect, over a small experiment that is valid as it stands. The shipped fault
kinds are played for real, and spoiled, in `test_mutants_shipped`.
"""

from collections.abc import Callable, Sequence

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.store import Store
from hfr_bench.model.record import text_digest
from hfr_bench.model.terms import Action, End
from hfr_bench.model.trace import (
    AttemptEnded,
    AttemptStarted,
    Decided,
    EffectExecuted,
    TrialEnded,
    TrialStarted,
    UpstreamHit,
)
from hfr_bench.testing.experiments import planned, play, write_all
from hfr_bench.testing.results import KINDS, At, answered, fault, ran, refused, write_trial

MODEL, BOOK = "model:agent", "tool:book"
ARMS = ("no_retry", "blind_resend", "hfr", "always_escalate")

Mutant = Callable[[Sequence[At]], list[At]]


def faults(trial):
    """A busy model at every task; task 1 loses a write before it lands, task 2 after."""
    if not trial.rate:
        return ()
    return fault("busy", MODEL), fault("lost", BOOK, lands=trial.task_id == "t2")


def reported(tmp_path, mutant: Mutant, arm="blind_resend", task="t1", rate=0.5, **fields):
    """The report on an experiment of which the mutant spoilt one trial."""
    plan = planned(ARMS, tasks=2, rates=(0.0, 0.5), faults=faults, **fields)
    write_all(tmp_path, plan)
    report = lambda: analyse(  # noqa: E731
        plan.prereg, plan.lock, plan.rows, Store(tmp_path), plan.schedule, KINDS
    )
    assert report().valid
    (row,) = [
        row
        for row in plan.rows
        if row.control is None
        and (row.trial.arm, row.trial.task_id, row.trial.rate) == (arm, task, rate)
    ]
    played = play(row, plan.schedule(row.trial.schedule_id))
    made = mutant(played)
    assert [at.body for at in made] != [at.body for at in played]
    write_trial(tmp_path, row.trial, made)
    return report()


def caught(report, words: str) -> None:
    """The report is not valid, and the control that is named by some words says so."""
    assert not report.valid
    (row,) = [row for row in report.controls if words in row.name]
    assert (row.passed, row.decides) == (False, True)


def places(played: Sequence[At], kind: type, nth: int = 0) -> int:
    return [n for n, at in enumerate(played) if isinstance(at.body, kind)][nth]


def at_point(played: Sequence[At], point: str, nth: int) -> tuple[int, int]:
    """First and last line of the nth attempt at a point."""
    starts = [
        n
        for n, at in enumerate(played)
        if isinstance(at.body, AttemptStarted) and at.body.point == point
    ]
    first = starts[nth]
    ends = [n for n, at in enumerate(played) if n > first and isinstance(at.body, AttemptEnded)]
    return first, ends[0]


def edit(point: str, nth: int, **fields) -> Mutant:
    """Change what was seen of an attempt."""

    def mutant(played):
        made = list(played)
        _, last = at_point(played, point, nth)
        made[last] = made[last]._replace(body=made[last].body.model_copy(update=fields))
        return made

    return mutant


def swap(point: str, nth: int, body: AttemptEnded) -> Mutant:
    return edit(point, nth, **body.model_dump(include={"answered", "status", "exception"}),
                response_digest=body.response_digest)  # fmt: skip


def insert(point: str, nth: int, what: Callable[[AttemptStarted], object]) -> Mutant:
    """A truth more, just before the attempt's end."""

    def mutant(played):
        first, last = at_point(played, point, nth)
        body = what(played[first].body)
        return [*played[:last], played[last]._replace(body=body), *played[last:]]

    return mutant


def drop(point: str, nth: int, kind: type) -> Mutant:
    """The truths of an attempt gone."""

    def mutant(played):
        first, last = at_point(played, point, nth)
        return [
            at
            for n, at in enumerate(played)
            if not (first < n < last and isinstance(at.body, kind))
        ]

    return mutant


def forwards(point: str, nth: int, *, forwarded: bool) -> Mutant:
    def mutant(played):
        made = list(played)
        first, last = at_point(played, point, nth)
        for n in range(first, last):
            if isinstance(made[n].body, UpstreamHit):
                body = made[n].body.model_copy(update={"forwarded": forwarded})
                made[n] = made[n]._replace(body=body)
        return made

    return mutant


def landed(sent: AttemptStarted) -> EffectExecuted:
    return ran(sent.operation_id)


# In the arm that resends blindly, attempt 0 of each point meets its fault, attempt 1 does not.
UNDELIVERED = {
    "wrong status": swap(MODEL, 0, refused(503)),
    "wrong body": swap(MODEL, 0, refused(body="{}")),
    "wrong exception": edit(BOOK, 0, exception="ConnectionClosed"),
    "skipped fault, model": swap(MODEL, 0, answered()),
    "skipped fault, tool": swap(BOOK, 0, answered()),
    "error passed off as an answer": edit(MODEL, 0, answered=True),
    "executed though lost": insert(BOOK, 0, landed),
    "gateway forwards what it should have eaten": forwards(MODEL, 0, forwarded=True),
    "Retry-After invented": edit(MODEL, 0, retry_after="1"),
    "latency 0": edit(BOOK, 0, latency_us=0),
}


@pytest.mark.parametrize("name", UNDELIVERED)
def test_a_fault_that_was_not_delivered(tmp_path, name):
    caught(reported(tmp_path, UNDELIVERED[name]), "was delivered")


@pytest.mark.parametrize(
    "mutant",
    [drop(BOOK, 0, EffectExecuted), insert(BOOK, 0, landed)],
    ids=["lost though executed", "landed twice"],
)
def test_a_lost_answer_lands_exactly_once(tmp_path, mutant):
    caught(reported(tmp_path, mutant, task="t2"), "was delivered")


UNPLANNED = {
    "write fabricated": drop(BOOK, 1, EffectExecuted),
    "answer altered, tool": edit(BOOK, 1, response_digest=text_digest("other")),
    "answer altered, model": edit(MODEL, 1, response_digest=text_digest("other")),
    "executed twice": insert(BOOK, 1, landed),
    "another operation executed": insert(BOOK, 1, lambda _: ran("x")),
    "model server never asked": forwards(MODEL, 1, forwarded=False),
    "gateway bypassed": drop(MODEL, 1, UpstreamHit),
    "delivered one attempt too long, model": swap(MODEL, 1, refused()),
    "delivered one attempt too long, tool": edit(BOOK, 1, answered=False, exception="Timeout"),
    "latency 0": edit(BOOK, 1, latency_us=0),
}


@pytest.mark.parametrize("name", UNPLANNED)
def test_something_that_nobody_planned(tmp_path, name):
    caught(reported(tmp_path, UNPLANNED[name]), "without a plan")


def test_the_same_at_rate_0(tmp_path):
    mutant = edit(BOOK, 0, response_digest=text_digest("other"))
    caught(reported(tmp_path, mutant, rate=0.0), "without a plan")


def test_an_injector_that_never_delivers(tmp_path):
    """Everywhere the same healthy run: no attempt contradicts another, only the plan does."""
    plan = planned(ARMS, tasks=2, rates=(0.0, 0.5), faults=faults)
    healthy = planned(ARMS, tasks=2, rates=(0.0, 0.5))
    write_all(tmp_path, healthy)
    report = analyse(plan.prereg, plan.lock, plan.rows, Store(tmp_path), plan.schedule, KINDS)
    caught(report, "was delivered")
    assert all(row.delivered == 0 for row in report.audit)


def claims(**fields) -> Mutant:
    """The last line claims something else; fields of the outcome and of the result."""

    def mutant(played):
        result = played[-1].body.result
        inner = {k: v for k, v in fields.items() if k in type(result.outcome).model_fields}
        outer = {k: v for k, v in fields.items() if k not in inner}
        outcome = result.outcome.model_copy(update=inner)
        body = TrialEnded(result=result.model_copy(update=outer | {"outcome": outcome}))
        return [*played[:-1], played[-1]._replace(body=body)]

    return mutant


CLAIMS = (
    {"duplicates": 0},
    {"effects": 1},
    {"unwanted": 1},
    {"duplicate_dispatches": 1},
    {"ambiguous_writes": 0},
    {"lost_effects": 0},
    {"packet_true": True},
    {"accepted": False},
    {"accepted": False, "end": End.FAILED},
    {"end": End.ESCALATED},
    {"attempts": 3},
    {"reads": 1},
    {"steps": 3},
    {"cost_microusd": 1},
    {"cost_microusd": None},
    {"tokens_in": 1},
    {"tokens_out": 1},
    {"backoff_us": 1},
    {"human_us": 1},
    {"injected_wait_us": 0},
    {"latency_us": 1},
    {"seed": 2},
    {"rate": 0.0},
    {"arm": "hfr"},
    {"round": 2},
)


@pytest.mark.parametrize("fields", CLAIMS, ids=str)
def test_a_result_that_does_not_follow_from_its_trace(tmp_path, fields):
    report = reported(tmp_path, claims(**fields), task="t2")
    caught(report, "follows from its trace")
    (note,) = [note for note in report.notes if "do not follow" in note]
    assert next(iter(fields)) in note or "it ended as" in note


@pytest.mark.parametrize(
    ("arm", "fields"),
    [
        ("no_retry", {"accepted": True, "end": End.ACCEPTED}),
        ("always_escalate", {"packet_true": False}),
        ("always_escalate", {"end": End.FAILED, "packet_true": None}),
        ("always_escalate", {"human_us": 0}),
    ],
)
def test_an_end_that_was_not_decided(tmp_path, arm, fields):
    caught(reported(tmp_path, claims(**fields), arm=arm), "follows from its trace")


def test_a_trial_of_another_registration(tmp_path):
    def mutant(played):
        body = played[0].body.model_copy(update={"prereg_digest": "1" * 64})
        return [played[0]._replace(body=body), *played[1:]]

    caught(reported(tmp_path, mutant), "follows from its trace")


def test_a_trace_that_lost_its_head(tmp_path):
    def mutant(played):
        assert isinstance(played[0].body, TrialStarted)
        return list(played[1:])

    caught(reported(tmp_path, mutant), "follows from its trace")


def test_an_acceptance_struck_out(tmp_path):
    def mutant(played):
        gone = [at.body == Decided(on="Finishing", action=Action.ACCEPT) for at in played]
        return [at for at, strike in zip(played, gone, strict=True) if not strike]

    caught(reported(tmp_path, mutant), "follows from its trace")
