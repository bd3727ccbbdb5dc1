"""Two recorders: what the strategy saw, and what the world did."""

from typing import Any

import pytest

from hfr_bench.lab.recorder import ProviderError, Seen, Sums, TruthQueue, WorldTools, is_effect
from hfr_bench.model.attempt import Call, Intent, Observation, Truth
from hfr_bench.model.record import digest, text_digest
from hfr_bench.model.terms import Channel, ClockKind, SideEffect
from hfr_bench.model.trace import (
    AttemptEnded,
    AttemptStarted,
    EffectExecuted,
    FaultInjected,
    UpstreamHit,
)
from hfr_bench.testing.fakes import FakeClock, FakePort, ListSink, fine, lost, refused
from hfr_bench.testing.rig import lost_answer
from hfr_bench.testing.shop import ShopSuite, task

R2 = SideEffect.QUERYABLE


def call(level: SideEffect | None = R2, purpose: str = "agent", **fields: Any) -> Call:
    channel = Channel.MODEL if level is None else Channel.TOOL
    intent = Intent("id", channel, "add_order", level or SideEffect.READ, "args", "key", "stepless")
    plain: dict[str, Any] = {
        "step": 4,
        "point": "tool:add_order",
        "occurrence": 2,
        "attempt": 3,
        "channel": channel,
        "target": "add_order",
        "timeout_us": 10,
        "payload": {"item": "tea"},
        "purpose": purpose,
        "operation_id": "op",
        "intent": intent if purpose == "agent" else None,
    }
    return Call(**(plain | fields))


class Bed:
    """A Seen over a scripted port."""

    def __init__(self, *answers: Observation, takes_us: int = 7) -> None:
        self.clock = FakeClock()
        self.sink = ListSink(self.clock)
        self.truth = TruthQueue({"i": lost_answer("x").model_copy(update={"injection_id": "i"})})
        self.sums = Sums()
        self.tells: list[Any] = []
        left = iter(answers)

        def work(_: Call) -> Observation:
            self.clock.wait(takes_us)
            for body in self.tells:
                self.truth.tell(body)
            return next(left)

        self.seen = Seen(FakePort(work), self.sink, self.truth, self.clock, self.sums, 1000)


def effect(**fields: Any) -> EffectExecuted:
    plain = {
        "operation_id": "op",
        "point": "p",
        "tool": "t",
        "actor": "agent",
        "level": R2,
        "natural_key": "k",
        "args_digest": "d",
        "changed": ("row",),
    }
    return EffectExecuted.model_validate(plain | fields)


def hit(**fields: Any) -> UpstreamHit:
    plain = {"point": "p", "occurrence": 1, "target": "m", "told": True, "forwarded": True}
    return UpstreamHit.model_validate(plain | {"upstream_status": 200} | fields)


def test_truth_is_written_between_start_and_end_of_its_attempt() -> None:
    bed = Bed(lost())
    bed.tells = [FaultInjected(injection_id="i", kind="lost"), effect()]
    bed.seen.attempt(call())
    assert [body.type for body in bed.sink.bodies] == [
        "attempt_started",
        "fault_injected",
        "effect",
        "attempt_ended",
    ]
    assert {(event.step, event.attempt) for event in bed.sink.events} == {(4, 3)}


def test_an_attempt_is_written_down_as_it_was_asked_and_seen() -> None:
    bed = Bed(fine("body", tokens_in=5, tokens_out=6))
    seen = bed.seen.attempt(call())
    started, ended = bed.sink.of(AttemptStarted)[0], bed.sink.of(AttemptEnded)[0]
    assert (started.point, started.occurrence, started.target) == ("tool:add_order", 2, "add_order")
    assert (started.key, started.stepless_key, started.level) == ("key", "stepless", R2)
    assert (started.request_digest, started.operation_id) == ("args", "op")
    assert (ended.answered, ended.status, ended.response_digest) == (True, 200, text_digest("body"))
    assert (ended.latency_us, ended.cost_microusd) == (7, 1000)
    assert (seen.latency_us, seen.cost_microusd) == (7, 1000)
    assert (bed.sums.attempts, bed.sums.tokens_in, bed.sums.tokens_out) == (1, 5, 6)


def test_a_lost_answer_has_no_digest_an_error_answer_has() -> None:
    bed = Bed(lost(), refused(500, "busy"))
    bed.seen.attempt(call())
    bed.seen.attempt(call())
    digests = [body.response_digest for body in bed.sink.of(AttemptEnded)]
    assert digests == ["", text_digest("busy")]


def test_a_model_call_costs_what_it_says_and_an_unknown_price_makes_the_sum_unknown() -> None:
    bed = Bed(fine(cost_microusd=30), fine(cost_microusd=None), fine(cost_microusd=30))
    costs = []
    for _ in range(3):
        bed.seen.attempt(call(None))
        costs.append(bed.sums.cost_microusd)
    assert costs == [30, None, None]


@pytest.mark.parametrize(
    ("which", "seen", "ambiguous"),
    [
        (call(R2), lost(), 1),
        (call(R2), refused(503), 0),  # an answer, if a bad one
        (call(R2), fine(), 0),
        (call(R2), lost("ConnectError", sent=False), 0),
        (call(SideEffect.READ), lost(), 0),
        (call(R2, "reconcile"), lost(), 0),
    ],
)
def test_only_own_writes_without_an_answer_are_ambiguous(
    which: Call, seen: Observation, ambiguous: int
) -> None:
    bed = Bed(seen, seen)
    bed.seen.attempt(which)
    bed.seen.attempt(which)  # the same step: one write, however often it is tried
    assert len(bed.sums.ambiguous) == ambiguous
    assert bed.sums.injected_wait_us == (0 if seen.answered else 14)


def test_the_truth_of_an_attempt_is_forgotten_with_the_next() -> None:
    bed = Bed(lost(), fine())
    bed.tells = [FaultInjected(injection_id="i", kind="lost"), effect()]
    bed.seen.attempt(call())
    assert bed.truth.truth() == Truth(landed=True, clears_by="retry")
    bed.tells = []
    bed.seen.attempt(call())
    assert bed.truth.truth() == Truth()


def test_an_announced_stall_is_taken_once() -> None:
    truth = TruthQueue({})
    truth.tell(hit(stall_us=5, forwarded=False, injection_id="i"))
    assert [truth.take_announced_us() for _ in range(2)] == [5, 0]


def test_an_organic_error_of_the_model_service_voids_the_trial() -> None:
    bed = Bed(refused(502))
    bed.tells = [hit(upstream_status=None)]
    with pytest.raises(ProviderError, match="tool:add_order"):
        bed.seen.attempt(call())
    assert bed.sink.bodies[-1].type == "upstream_hit"  # the truth is kept


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({}, True),
        ({"changed": ()}, False),
        ({"level": SideEffect.READ}, False),
        ({"level": SideEffect.IRREVERSIBLE, "changed": ()}, True),
        ({"level": SideEffect.IRREVERSIBLE, "domain_error": True}, False),
    ],
)
def test_an_effect_is_a_change_or_an_unseen_success(fields: dict[str, Any], counts: bool) -> None:
    assert is_effect(effect(**fields)) is counts


@pytest.mark.parametrize(("kind", "us"), [(ClockKind.VIRTUAL, 400), (ClockKind.WALL, 0)])
def test_the_innermost_port_runs_the_tool_and_says_so(kind: ClockKind, us: int) -> None:
    suite = ShopSuite()
    world = suite.open()
    world.reset("shop/1")
    truth, clock, sink = TruthQueue({}), FakeClock(kind), ListSink()
    tools = WorldTools(world, task("shop/1"), truth, clock, 400)
    answers = [tools.attempt(call(purpose=purpose)) for purpose in ("agent", "reconcile")]
    truth.drain(sink, call().step, call().attempt)
    ran = sink.of(EffectExecuted)
    assert [body.actor for body in ran] == ["agent", "strategy"]
    assert (ran[0].changed, ran[0].level) == (("shop",), R2)
    assert ran[0].natural_key == digest(["add_order", {"item": "tea"}])
    assert ran[0].response_digest == text_digest(answers[0].body)
    assert clock.now_us() == 2 * us
