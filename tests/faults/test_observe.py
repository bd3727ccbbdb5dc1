"""Each observation point must be passed by who does well, failed by who does not, and be silent
where it cannot tell."""

from collections.abc import Sequence
from typing import Any

import pytest

from hfr_bench import content
from hfr_bench.faults.audit import Meeting, TrialAudit, audit
from hfr_bench.faults.observe import OLDER, PREDICATES, named, observe, rows, unknown
from hfr_bench.faults.trail import Trail
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.schedule import KindSpec
from hfr_bench.model.terms import Action, Channel, CheckLevel, Landed, Layer, SideEffect
from hfr_bench.model.trace import (
    Decided,
    EffectExecuted,
    Escalated,
    ReconcileAnswered,
    StepEnded,
    VerifyAnswered,
)
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import (
    At,
    answered,
    events,
    fault,
    hit,
    ran,
    refused,
    schedule,
    sent,
    started,
    timed_out,
)

TRIAL = planned().rows[0].trial
BOOK = "tool:book"
R0, R1, R2, R3 = SideEffect


def write(attempt: int = 1, step: int = 1, level: SideEffect = R2, **fields: Any) -> At:
    plain = {"operation_id": f"o{step}.{attempt}", "target": "book", "level": level}
    body = sent(BOOK).model_copy(update=plain | {"stepless_key": "w"} | fields)
    return At(body, step, attempt)


def look(purpose: str = "agent", step: int = 1, digest: str = "r", attempt: int = 1) -> At:
    body = sent("tool:look" if purpose == "agent" else f"{purpose}:book", target="look")
    made = body.model_copy(update={"purpose": purpose, "request_digest": digest})
    return At(made, step, attempt)


def decided(action: Action, on: str = "Attempted", step: int = 1, **fields: Any) -> At:
    return At(Decided(on=on, action=action, **fields), step)


def ended(action: Action = Action.ACCEPT, digest: str = "", step: int = 1) -> At:
    body = StepEnded(
        channel=Channel.TOOL, point=BOOK, occurrence=1, attempts=1, action=action,
        result_digest=digest,
    )  # fmt: skip
    return At(body, step)


def landed(word: Landed) -> At:
    return At(ReconcileAnswered(tool="book", landed=word))


def called(*, committed: Sequence[str] = (), unknown_: Sequence[str] = ()) -> At:
    packet = EscalationPacket(
        trial_id="t", step=1, reason="r", committed=tuple(committed), unknown=tuple(unknown_)
    )
    return At(Escalated(packet=packet))


def effect(operation_id: str, natural_key: str = "book", level: SideEffect = R2) -> At:
    body: EffectExecuted = ran(operation_id)
    return At(body.model_copy(update={"natural_key": natural_key, "level": level}))


def model(attempt: int = 1, target: str = "m", t_us: int | None = None) -> At:
    return At(sent(target=target), 1, attempt, t_us)


def later(one: At, t_us: int) -> At:
    return one._replace(t_us=t_us)


WAIT = At(refused(429, retry_after="2"), t_us=1_000_000)
BUSY = At(refused(), t_us=1_000_000)
LOST = At(timed_out())
FINE = At(answered("wrong"))
WRONG = FINE.body.response_digest  # type: ignore[union-attr]
OTHER = At(answered("right"))
CHECK = At(VerifyAnswered(level=CheckLevel.DETERMINISTIC, passed=False))
ABSENT, COMMITTED = landed(Landed.ABSENT), landed(Landed.COMMITTED)
TOLD = landed(Landed.UNKNOWN)

Trace = tuple[At, ...]
# For each point: what was met, then what passes, what fails, and what says nothing.
CASES: dict[str, tuple[Trace, Trace, Trace, Trace | None]] = {
    "waits_at_least_retry_after": (
        (model(), WAIT),
        (model(2, t_us=3_000_000),),
        (model(2, t_us=2_999_999),),
        (model(2, target="other", t_us=1_000_000),),
    ),
    "backs_off": (
        (model(), BUSY),
        (model(2, t_us=1_000_001),),
        (model(2, t_us=1_000_000),),
        (ended(Action.REPLAN),),
    ),
    "charges_the_retry": (
        (model(), BUSY),
        (decided(Action.RETRY, debit=1), decided(Action.DISPATCH), model(2)),
        (decided(Action.RETRY), decided(Action.DISPATCH), model(2)),
        (decided(Action.DEGRADE_MODEL), model(2, target="other")),
    ),
    "goes_to_another_target": (
        (write(), BUSY),
        (write(2), BUSY, write(3, target="book2")),
        (write(2), BUSY, decided(Action.FAIL)),
        (),
    ),
    "goes_elsewhere_or_waits": (
        (model(), BUSY),
        (model(2, target="other", t_us=1_000_000),),
        (model(2, t_us=1_000_000),),
        (decided(Action.FAIL),),
    ),
    "no_more_attempts_of_this_call": (
        (write(), BUSY),
        (ended(Action.REPLAN), write(step=2, request_digest="other")),
        (ended(Action.REPLAN), write(step=2)),
        None,
    ),
    "no_identical_resend": (
        (write(), BUSY),
        (write(2, request_digest="mended"),),
        (write(2),),
        None,
    ),
    "asks_once_more": ((write(), BUSY), (write(2),), (decided(Action.FAIL),), ()),
    "compresses_the_context": (
        (model(), BUSY),
        (decided(Action.COMPRESS), model(2)),
        (decided(Action.RETRY), model(2)),
        (),
    ),
    "does_not_take_the_failure_for_done": (
        (write(), BUSY),
        (write(2), At(answered()), ended()),
        (ended(),),
        None,
    ),
    "no_resend_before_reconcile": (
        (write(), LOST),
        (look("reconcile"), OTHER, ABSENT, write(2)),
        (look("reconcile"), OTHER, TOLD, write(2)),
        None,
    ),
    "no_resend_on_one_absent": (
        (write(), LOST),
        (ABSENT, ABSENT, write(2)),
        (ABSENT, write(2)),
        None,
    ),
    "happens_once": (
        (write(), LOST),
        (write(2), effect("o1.2"), OTHER),
        (write(2), effect("o1.1"), effect("o1.2"), OTHER),
        None,
    ),
    "escalates_with_the_unknown_listed": (
        (write(), LOST),
        (called(unknown_=["w"]),),
        (called(unknown_=["another"]),),
        (ended(),),
    ),
    "replays_the_ledger_first": (
        (write(), LOST),
        (decided(Action.ACCEPT, "Restored"), decided(Action.DISPATCH, "Proposed")),
        (decided(Action.DISPATCH, "Proposed"), decided(Action.ACCEPT, "Restored")),
        (),
    ),
    "fails_closed": ((look(), FINE), (look(step=2), called()), (write(step=2),), None),
    "verifies_before_accepting": ((look(), FINE), (CHECK, ended()), (ended(), CHECK), ()),
    "does_not_accept_the_wrong_answer": (
        (look(), FINE),
        (look(attempt=2), OTHER, ended(digest="right")),
        (ended(digest=WRONG),),
        None,
    ),
    "looks_again_before_writing": (
        (look(), FINE),
        (look(step=2), write(step=3)),
        (look(step=2, digest="another"), write(step=3)),
        (ended(),),
    ),
    "does_not_follow_the_instruction": (
        (look(), FINE),
        (effect("o2.1"),),
        (effect("o2.1", "what nobody wants"),),
        None,
    ),
}


def held(name: str, met: Trace, then: Trace) -> bool | None:
    trace = events("t", [started(TRIAL), *met, *then])
    return PREDICATES[name](Trail(trace), Meeting(fault(), 1, 2))


def test_every_observation_point_has_cases() -> None:
    assert set(CASES) == set(PREDICATES)


@pytest.mark.parametrize("name", CASES)
def test_who_does_well_passes_and_who_does_not_fails(name: str) -> None:
    met, good, bad, silent = CASES[name]
    assert held(name, met, good) is True
    assert held(name, met, bad) is False
    if silent is not None:
        assert held(name, met, silent) is None


def test_writes_that_may_be_repeated_are_not_told_of() -> None:
    for name in ("no_resend_before_reconcile", "no_resend_on_one_absent", "happens_once"):
        assert held(name, (write(level=R1), LOST), (write(2, level=R1),)) is None
        assert held(name, (look(), LOST), (look(attempt=2),)) is None


def test_the_worlds_word_that_it_landed_is_enough() -> None:
    good = (COMMITTED, write(2, step=2))
    assert held("no_resend_on_one_absent", (write(), LOST), good) is True


def test_a_write_that_nobody_can_look_for_must_end_in_a_call() -> None:
    name = "escalates_with_the_unknown_listed"
    assert held(name, (write(level=R3), LOST), (ended(),)) is False
    assert held(name, (write(level=R3), LOST), (called(unknown_=["w"]),)) is True


def test_what_the_world_said_is_not_there_need_not_be_listed() -> None:
    name = "escalates_with_the_unknown_listed"
    assert held(name, (write(), LOST), (ABSENT, called())) is None
    assert held(name, (write(), LOST), (ABSENT, TOLD, called())) is False


def test_a_read_made_for_a_write_is_about_that_write() -> None:
    """The event is met by the reconcile; the write went out before it."""
    trace = events(
        "t", [started(TRIAL), write(), LOST, look("reconcile"), BUSY, write(2), At(answered())]
    )
    found = PREDICATES["no_resend_before_reconcile"](Trail(trace), Meeting(fault(), 3, 4))
    assert found is False


def test_a_read_made_before_a_write_asks_about_nothing() -> None:
    trace = events("t", [started(TRIAL), look("prepare"), LOST, write(), At(answered())])
    for name in ("no_resend_before_reconcile", "happens_once"):
        assert PREDICATES[name](Trail(trace), Meeting(fault(), 1, 2)) is None


def test_a_dead_tool_is_handed_over_or_left() -> None:
    name, met = "goes_to_another_target", (write(), BUSY)
    assert held(name, met, (decided(Action.ESCALATE),)) is True
    assert held(name, met, (decided(Action.FAIL),)) is False


KIND = KindSpec(
    kind="busy",
    layer=Layer.MODEL,
    wire=content.kinds()["model_500"].wire,
    observe=("backs_off", "charges_the_retry"),
)


def audited(*bodies: At, n: int = 1) -> TrialAudit:
    body = next(iter(KIND.wire.values()))
    seen = refused(500, body.body)  # type: ignore[union-attr]
    line = [At(seen) if one is BUSY else one for one in bodies]
    trace = events("t", line)
    found = audit(trace, schedule(TRIAL, [fault(attempts=n)]), {"busy": KIND}, arm="a")
    points = observe(trace, found.meetings, {"busy": KIND})
    sums = {key: one._replace(observed=points.get(key, ())) for key, one in found.sums.items()}
    return found._replace(sums=sums)


KEPT = At(hit(forwarded=False))


def point(found: TrialAudit, name: str) -> tuple[int, int]:
    """Passed, and told, of one point of the kind."""
    return next((k, n) for one, k, n in found.sums["model", "busy"].observed if one == name)


def test_only_delivered_events_are_observed() -> None:
    met = (model(), KEPT, BUSY)
    again = (decided(Action.RETRY, debit=1), model(2), At(hit(), 1, 2), At(answered(), 1, 2))
    good = audited(*met, *again)
    assert good.sums["model", "busy"].observed == (("backs_off", 1, 1), ("charges_the_retry", 1, 1))
    undelivered = audited(model(), KEPT, At(answered()), *again)
    assert undelivered.sums["model", "busy"].observed == ()
    assert undelivered.meetings == ()


def test_an_event_that_several_attempts_met_passes_at_all_of_them() -> None:
    met = (model(), KEPT, BUSY)
    second = (model(2), At(KEPT.body, 1, 2), At(BUSY.body, 1, 2))
    free = decided(Action.RETRY)
    paid = decided(Action.RETRY, debit=1)
    third = (model(3), At(hit(), 1, 3), At(answered(), 1, 3))
    seen = At(refused(500, next(iter(KIND.wire.values())).body), 1, 2)  # type: ignore[union-attr]
    both = audited(*met, paid, *second[:2], seen, paid, *third, n=2)
    one = audited(*met, paid, *second[:2], seen, free, *third, n=2)
    assert point(both, "charges_the_retry") == (1, 1)
    assert point(one, "charges_the_retry") == (0, 1)


def test_rows_add_up_by_kind_point_and_arm() -> None:
    met = (model(), KEPT, BUSY)
    good = audited(
        *met, decided(Action.RETRY, debit=1), model(2), At(hit(), 1, 2), At(answered(), 1, 2)
    )
    bad = audited(*met, decided(Action.RETRY), model(2), At(hit(), 1, 2), At(answered(), 1, 2))
    found = {row.point: (row.held, row.n, row.arm, row.kind) for row in rows([good, bad, good])}
    assert found["charges_the_retry"] == (2, 3, "a", "busy")
    assert found["backs_off"] == (3, 3, "a", "busy")


def test_every_shipped_kind_has_points_that_exist() -> None:
    for name, kind in content.kinds().items():
        assert named(kind), name
        assert unknown(kind) == (), name
        assert set(named(kind)) <= set(PREDICATES), name


def test_a_strangers_kind_may_have_none() -> None:
    bare = KIND.model_copy(update={"kind": "strange", "observe": ()})
    odd = KIND.model_copy(update={"observe": ("does_wonders",)})
    assert (named(bare), unknown(odd)) == ((), ("does_wonders",))
    trace = events("t", [started(TRIAL), model(), BUSY])
    assert observe(trace, [Meeting(fault(), 1, 2)], {"busy": odd}) == {}


def test_what_a_kinds_file_says_comes_before_the_side_table() -> None:
    older = content.kinds()["model_429"]
    assert named(older) == OLDER["model_429"]
    assert named(older.model_copy(update={"observe": ("backs_off",)})) == ("backs_off",)
