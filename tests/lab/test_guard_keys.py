"""Keys that outlive a step, and the bounds of one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hfr_bench.lab.step import Step, TrialStopped
from hfr_bench.model.attempt import Call, Decision, Intent, LedgerMove, Observation
from hfr_bench.model.task import ToolSpec
from hfr_bench.model.terms import Action, Channel, End, LedgerState, SideEffect
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.strategies import BlindResend
from hfr_bench.testing.fakes import FakePort, FakeStrategy, fine, lost
from hfr_bench.testing.rig import FULL, Rig

TOOL = ToolSpec(name="pay", level=SideEffect.IDEMPOTENT, idempotency_key_param="key")
INTENT = Intent("i", Channel.TOOL, "pay", TOOL.level, "digest", "the-key", "stepless")
STEP = Step(1, INTENT, "tool:pay", {"amount": 5}, 10_000_000, TOOL)


def test_a_tool_that_takes_a_key_gets_the_ledgers_key_on_every_attempt() -> None:
    sent: list[dict[str, Any]] = []

    def pay(call: Call) -> Observation:
        sent.append(dict(call.payload))
        return lost() if len(sent) < 3 else fine()

    made = Rig(Hfr({}, Kit(equipment=FULL)))
    made.guard.onion = {Channel.TOOL: FakePort(pay)}
    assert made.guard.run(STEP).action is Action.ACCEPT
    assert sent == [{"amount": 5, "key": "the-key"}] * 3


def test_without_a_ledger_no_key_is_made_up() -> None:
    sent: list[dict[str, Any]] = []

    def pay(call: Call) -> Observation:
        sent.append(dict(call.payload))
        return fine()

    made = Rig(FakeStrategy([Decision(Action.DISPATCH), Decision(Action.ACCEPT)]))
    made.guard.onion = {Channel.TOOL: FakePort(pay)}
    made.guard.run(STEP)
    assert sent == [{"amount": 5}]


def test_a_write_that_is_asked_for_anew_goes_out_under_its_old_key() -> None:
    sent: list[dict[str, Any]] = []

    def pay(call: Call) -> Observation:
        sent.append(dict(call.payload))
        return lost() if len(sent) < 3 else fine()

    prepared = (LedgerMove("the-key", "stepless", LedgerState.PREPARED, "pay"),)
    decisions = [
        Decision(Action.DISPATCH, moves=prepared),
        Decision(Action.RETRY),
        Decision(Action.DISPATCH),
        Decision(Action.REPLAN),
        Decision(Action.DISPATCH, key="the-key"),
        Decision(Action.ACCEPT),
    ]
    made = Rig(FakeStrategy(decisions))
    made.guard.onion = {Channel.TOOL: FakePort(pay)}
    assert made.guard.run(STEP).action is Action.REPLAN
    again = replace(INTENT, key="another-key")
    assert made.guard.run(replace(STEP, number=2, intent=again)).action is Action.ACCEPT
    assert [arguments["key"] for arguments in sent] == ["the-key"] * 3


@pytest.mark.parametrize(
    "strategy",
    [
        lambda: BlindResend({"attempts": 1_000_000}, Kit()),
        lambda: FakeStrategy(lambda _: Decision(Action.RETRY)),
    ],
)
def test_no_strategy_may_loop_for_ever(strategy: Callable[[], Any]) -> None:
    made = Rig(strategy())
    made.guard.onion = {Channel.TOOL: FakePort(lambda _: lost())}
    with pytest.raises(TrialStopped) as stopped:
        made.guard.run(STEP)
    assert stopped.value.end is End.LIMIT
    assert "max_attempts = 32" in stopped.value.reason
