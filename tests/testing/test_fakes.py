"""The fakes keep the promises of their ports, so that tests over them mean something."""

import pytest

from hfr_bench.model.attempt import Call, Verdict
from hfr_bench.model.ledger import Checkpoint, LedgerEntry, Reservation
from hfr_bench.model.terms import Channel, CheckLevel, LedgerState, Origin
from hfr_bench.model.trace import Said, StepEnded
from hfr_bench.ports.llm import ModelScope
from hfr_bench.ports.verifier import Check
from hfr_bench.recovery.ledger import LedgerConflictError
from hfr_bench.testing.fakes import (
    FakeBackend,
    FakeCheckpoints,
    FakeClock,
    FakeGateway,
    FakeInjector,
    FakeLedger,
    FakeModel,
    FakePort,
    FakeSummarizer,
    FakeUser,
    ListSink,
    fine,
    lost,
    refused,
)
from hfr_bench.testing.rig import ScriptedChecks

CALL = Call(1, "tool:x", 1, 1, Channel.TOOL, "x", 1_000_000, {})


def test_a_port_answers_from_a_list_or_a_function_and_keeps_what_it_was_asked() -> None:
    listed = FakePort([fine("a"), lost()])
    assert [listed.attempt(CALL).answered for _ in range(2)] == [True, False]
    assert listed.asked == [CALL, CALL]
    with pytest.raises(AssertionError, match="the script has no answer 3"):
        listed.attempt(CALL)
    assert FakePort(lambda call: fine(call.target)).attempt(CALL).body == "x"


def test_observations_look_like_those_of_a_client() -> None:
    assert refused(429, retry_after="2").headers == {"retry-after": "2"}
    assert lost("ConnectError", sent=False).sent is False
    said = FakeModel.says("hi", ("look", "{}")).payload
    assert said["tool_calls"][0]["function"] == {"name": "look", "arguments": "{}"}


def test_the_clock_moves_when_told_and_never_back() -> None:
    clock = FakeClock()
    clock.wait(3)
    clock.wait(0)
    assert (clock.now_us(), clock.waits) == (3, [3, 0])
    with pytest.raises(ValueError, match="backwards"):
        clock.wait(-1)


def test_the_sink_numbers_and_times_what_it_keeps() -> None:
    clock = FakeClock(us=5)
    sink = ListSink(clock)
    sink.write(Said(who="user", text_digest="d", length=1), step=2, attempt=3)
    (event,) = sink.events
    assert (event.seq, event.t_us, event.step, event.attempt) == (1, 5, 2, 3)
    assert (len(sink.of(Said)), sink.of(StepEnded)) == (1, [])


def test_the_user_ends_the_talk_with_its_last_line() -> None:
    user = FakeUser("hi", ["one", "two"])
    turns = [user.open(), user.reply("a"), user.reply("b"), user.reply("c")]
    assert [turn.over for turn in turns] == [False, False, True, True]
    assert user.heard == ["a", "b", "c"]


def test_the_ledger_is_all_or_nothing_and_can_be_told_to_refuse() -> None:
    ledger = FakeLedger()
    entry = LedgerEntry(
        key="k",
        stepless_key="s",
        tenant="t",
        task_id="t",
        step=1,
        tool="x",
        state=LedgerState.PREPARED,
    )
    ledger.apply(Reservation(step=1), [entry])
    with pytest.raises(LedgerConflictError):
        ledger.apply(Reservation(step=1), [entry])
    ledger.fail = True
    with pytest.raises(LedgerConflictError, match="somebody else"):
        ledger.apply(Reservation(step=1), [])
    assert (ledger.get("k"), ledger.entries(), len(ledger.applied)) == (entry, (entry,), 1)


def test_an_injector_hits_only_its_coordinates_and_lets_land_what_it_is_told() -> None:
    world = FakePort(lambda _: fine())
    at = ("tool:x", 1, 1)
    injector = FakeInjector({at: lost()}, lands=[at])
    port = injector.wrap(world)
    assert not port.attempt(CALL).answered
    assert len(world.asked) == 1
    assert port.attempt(Call(1, "tool:x", 1, 2, Channel.TOOL, "x", 1, {})).answered
    assert injector.delivered == [at]


def test_the_smaller_ones() -> None:
    store = FakeCheckpoints()
    assert store.last("t") is None
    for seq in (1, 2):
        store.save(Checkpoint(trial_id="t", seq=seq, at_us=0))
    assert store.last("t") == store.saved[1]
    verdict = Verdict(CheckLevel.TRANSPORT, passed=True)
    checks, check = (
        ScriptedChecks(lambda *_: verdict),
        Check("x", {}, fine(), (), lambda *_: fine()),
    )
    assert checks.verify(CheckLevel.TRANSPORT, check) is verdict
    assert checks.asked == [(CheckLevel.TRANSPORT, check, ())]
    messages = [{"n": n} for n in range(5)]
    assert FakeSummarizer(2).compress(messages) == [{"n": 0}, {"n": 3}, {"n": 4}]


def test_a_backend_and_a_gateway_keep_who_comes_and_goes() -> None:
    backend = FakeBackend(lambda url, scope: FakeModel([fine(f"{url} {scope.task_id}")]))
    assert backend.origin is Origin.REHEARSAL
    url = backend.start(())
    scope = ModelScope("s", "t", 1, FakeClock(), lambda: 0)
    assert backend.client(url, scope).attempt(CALL).body == "fake://model t"
    backend.stop()
    assert not backend.running
    gateway = FakeGateway(["a"])
    gateway.start(url)
    assert (gateway.kinds(), gateway.upstream) == ({"a"}, url)
