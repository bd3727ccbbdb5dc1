"""Tools that take an idempotency key get the ledger's, the same on every attempt."""

from typing import Any

from hfr_bench.lab.step import Step
from hfr_bench.model.attempt import Call, Decision, Intent, Observation
from hfr_bench.model.task import ToolSpec
from hfr_bench.model.terms import Action, Channel, SideEffect
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
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
