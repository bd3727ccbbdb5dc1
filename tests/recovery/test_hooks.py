"""The hooks: what a harness with a loop of its own asks, and that nothing is lost between them."""

import json
from dataclasses import replace

import pytest

from hfr_bench.model.attempt import Intent, Reconciled, StepView
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Action, Channel, Landed, SideEffect
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.hooks import Hooks
from hfr_bench.recovery.kit import Kit
from hfr_bench.testing.fakes import fine, lost, refused

KIT = Kit(equipment=Equipment(ledger=True, query=True))
MODEL = Intent("m", Channel.MODEL, "m", SideEffect.READ, "d", "", "")
WRITE = Intent("w", Channel.TOOL, "pay", SideEffect.QUERYABLE, "d", "key", "stepless")
ASK = StepView(1, MODEL, "model:agent", "m", 0, 0, 600_000_000)
PAY = StepView(2, WRITE, "tool:pay", "pay", 0, 0, 600_000_000, can_reconcile=True)


def test_a_lost_payment_is_looked_for_and_not_made_twice() -> None:
    hooks = Hooks(Hfr({}, KIT))
    assert hooks.before_model_call(ASK).action is Action.DISPATCH
    assert hooks.after_model_call(ASK, refused(500)).action is Action.RETRY
    assert hooks.before_tool_call(PAY).action is Action.DISPATCH
    asked = replace(PAY, attempts=1)
    assert hooks.after_tool_call(asked, lost()).action is Action.RECONCILE
    hooks = Hooks(Hfr({}, KIT), json.loads(json.dumps(hooks.state)))  # from a checkpoint
    assert hooks.tell(Reconciled(asked, fine(), Landed.COMMITTED)).action is Action.ACCEPT
    assert hooks.at_the_end(1, 2).action is Action.ACCEPT


def test_a_hook_is_of_its_own_channel() -> None:
    hooks = Hooks(Hfr({}, KIT))
    with pytest.raises(ValueError, match="a tool step at the hook of the model's"):
        hooks.before_model_call(PAY)
    with pytest.raises(ValueError, match="a model step at the hook of the tool's"):
        hooks.after_tool_call(ASK, fine())
