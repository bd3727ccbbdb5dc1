"""Effects against what the task wants, from the executed log alone (DESIGN §7)."""

from typing import Any

import pytest

from hfr_bench.lab.judge import (
    Effects,
    atomic_groups,
    expected_counts,
    judge_effects,
    packet_is_true,
)
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.task import OPEN, ExpectedEffect, SealedTask
from hfr_bench.model.terms import Channel, SideEffect
from hfr_bench.model.trace import AttemptEnded, AttemptStarted, EffectExecuted, TraceEvent
from hfr_bench.testing.fakes import ListSink

R1, R2, R3 = SideEffect.IDEMPOTENT, SideEffect.QUERYABLE, SideEffect.IRREVERSIBLE


def ran(key: str, level: SideEffect = R2, *, changed: bool = True, **fields: Any) -> EffectExecuted:
    plain = {
        "operation_id": key,
        "point": "p",
        "tool": "t",
        "actor": "agent",
        "level": level,
        "natural_key": key,
        "args_digest": "d",
        "changed": ("row",) if changed else (),
    }
    return EffectExecuted.model_validate(plain | fields)


def trace(*bodies: Any) -> list[TraceEvent]:
    sink = ListSink()
    for body in bodies:
        sink.write(body)
    return sink.events


def wanting(*keys: str, count: int = 1, group: str | None = None) -> SealedTask:
    expected = [
        ExpectedEffect(natural_key=key, tool="t", count=count, atomic_group=group) for key in keys
    ]
    return SealedTask(task_id="t", suite="s", expected=tuple(expected))


def judged(sealed: SealedTask, *bodies: EffectExecuted) -> Effects:
    return judge_effects(trace(*bodies), expected_counts(sealed), atomic_groups(sealed))


def test_what_was_wanted_is_neither_duplicate_nor_unwanted() -> None:
    assert judged(wanting("a", "b"), ran("a"), ran("b")) == (2, 0, 0, 0, 0, 0)
    assert judged(wanting("a")) == (0, 0, 0, 0, 0, 0)


def test_beyond_what_the_oracle_does_is_duplicate() -> None:
    assert judged(wanting("a"), *[ran("a")] * 3).duplicates == 2
    assert judged(wanting("a", count=2), *[ran("a")] * 3).duplicates == 1
    assert judged(wanting("a", count=2), *[ran("a")] * 2).duplicates == 0


def test_where_more_may_be_wanted_nothing_is_unwanted_and_repeats_are_duplicates() -> None:
    found = judge_effects(trace(ran("a"), ran("b"), ran("b")), {OPEN: 1, "a": 1})
    assert (found.unwanted, found.duplicates, found.effects) == (0, 1, 3)


def test_an_unwanted_effect_counts_once_and_its_repeats_as_duplicates() -> None:
    assert judged(wanting("a"), ran("x"), ran("x"), ran("y")) == (3, 1, 0, 2, 0, 0)


def test_an_ineffective_repeat_is_a_dispatch_not_a_duplicate() -> None:
    same = ran("a", R1)
    assert judged(wanting("a"), same, ran("a", R1, changed=False)) == (1, 0, 1, 0, 0, 0)
    rejected = ran("a", changed=False, domain_error=True)
    assert judged(wanting("a"), ran("a"), rejected) == (1, 0, 1, 0, 0, 0)
    assert judged(wanting("a"), rejected, ran("a")) == (1, 0, 0, 0, 0, 0)


def test_r3_counts_by_its_answer_because_nobody_can_look() -> None:
    assert judged(wanting("a"), *[ran("a", R3, changed=False)] * 2).duplicates == 1
    assert judged(wanting("a"), ran("a", R3, domain_error=True)).effects == 0


def test_users_and_reads_are_left_out_but_the_strategys_own_writes_count() -> None:
    assert judged(wanting(), ran("a", actor="user"), ran("b", SideEffect.READ)).effects == 0
    assert judged(wanting("a"), ran("a"), ran("a", actor="strategy")).duplicates == 1


@pytest.mark.parametrize(("done", "partial"), [((), 0), (("a",), 1), (("a", "b"), 0)])
def test_a_group_begun_and_not_finished_is_partial(done: tuple[str, ...], partial: int) -> None:
    sealed = wanting("a", "b", group="g")
    assert judged(sealed, *[ran(key) for key in done]).partial == partial


def sent(key: str) -> AttemptStarted:
    return AttemptStarted(
        point="p",
        occurrence=1,
        channel=Channel.TOOL,
        target="t",
        timeout_us=1,
        level=R2,
        stepless_key=key,
        request_digest="d",
        operation_id=key,
    )


LOST = AttemptEnded(answered=False, exception="Timeout")
FINE = AttemptEnded(answered=True, status=200)


def test_an_effect_whose_answer_was_lost_can_be_doubled_and_is_counted() -> None:
    def lost(*bodies: Any) -> int:
        return judge_effects(trace(*bodies), {"a": 1}).lost_effects

    assert lost(sent("a"), ran("a"), LOST) == 1
    assert lost(sent("a"), ran("a"), FINE) == 0
    assert lost(sent("a"), ran("a", R1), LOST) == 0  # a resend of R1 changes nothing
    assert lost(sent("a"), ran("a", changed=False), LOST) == 0
    assert lost(sent("a"), ran("a"), FINE, sent("b"), LOST) == 0


@pytest.mark.parametrize(
    ("committed", "unknown", "true"),
    [
        (("a",), (), True),
        ((), ("a",), True),
        (("a",), ("b",), True),  # doubt about what was sent and not answered
        (("a",), ("c",), False),  # doubt about what was never sent says nothing
        ((), (), False),  # a change that nobody tells of
        (("a", "b"), (), False),  # a claim that never ran
    ],
)
def test_a_packet_is_true_if_it_claims_nothing_false_and_hides_nothing(
    committed: tuple[str, ...], unknown: tuple[str, ...], true: bool
) -> None:
    packet = EscalationPacket(trial_id="t", step=1, reason="", committed=committed, unknown=unknown)
    events = trace(sent("a"), ran("a"), LOST, sent("b"), LOST)
    assert packet_is_true(events, packet) is true


def test_a_refused_write_is_no_committed_one() -> None:
    packet = EscalationPacket(trial_id="t", step=1, reason="", committed=("a",))
    refused = ran("a", changed=False, domain_error=True)
    assert not packet_is_true(trace(sent("a"), refused), packet)
    repeated = ran("a", R1, changed=False)
    assert packet_is_true(trace(sent("a"), repeated), packet)
