"""The kit must catch what is broken: one known-bad plug for every rule."""

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from hfr_bench.model.attempt import Attempted, Decision, Finishing, LedgerMove, Observation
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.shared import SharedView
from hfr_bench.model.terms import Action, Landed, LedgerState
from hfr_bench.ports.sandbox import HostCommand, HostDiedError, HostRefusedError, HostTimeoutError
from hfr_bench.ports.suite import Execution, Regrown
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.strategies import BlindResend, FixedRetry, NoRetry
from hfr_bench.testing.conformance import (
    ConformanceError,
    check_sandbox,
    check_strategy,
    check_suite,
)
from hfr_bench.testing.fakes import fine
from hfr_bench.testing.hosts import FakeSandbox, ScriptedHost
from hfr_bench.testing.shop import ShopSuite, ShopWorld

SELECTION = SuiteSelection(suite="shop")


class Good(NoRetry):
    """No retries; the base of the broken ones."""

    def __init__(self) -> None:
        super().__init__({}, Kit())


class Raising(Good):
    def on_failure(self, event: Attempted) -> Decision:
        raise ZeroDivisionError("oops")


class Mutating(Good):
    def decide(self, state: Any, event: Any) -> Any:
        state["n"] = state.get("n", 0) + 1
        return super().decide(state, event)


class NotJson(Good):
    def begin(self) -> Any:
        return {"seen": {1, 2}}


class Changing(Good):
    def begin(self) -> Any:
        return {"pair": (1, 2)}


class Remembering(Good):
    """Keeps state outside its state."""

    count = itertools.count()

    def on_failure(self, event: Attempted) -> Decision:
        return Decision(Action.FAIL, f"failure {next(self.count)}")


class Endless(Good):
    def on_failure(self, event: Attempted) -> Decision:
        return Decision(Action.RETRY)

    def decide(self, state: Any, event: Any) -> Any:
        if isinstance(event, Attempted):
            return state, Decision(Action.RETRY)
        return super().decide(state, event)


class Impossible(Good):
    def on_failure(self, event: Attempted) -> Decision:
        return Decision(Action.VERIFY)


class Impatient(Good):
    def on_failure(self, event: Attempted) -> Decision:
        return Decision(Action.RETRY, delay_us=-5)


class Trespassing(Good):
    def on_failure(self, event: Attempted) -> Decision:
        move = LedgerMove("k", "of another", LedgerState.PREPARED, "t")
        return Decision(Action.FAIL, moves=(move,))


class Jumping(Good):
    def on_failure(self, event: Attempted) -> Decision:
        intent = event.view.intent
        move = LedgerMove(intent.key, intent.stepless_key, LedgerState.COMMITTED, "t")
        return Decision(Action.FAIL, moves=(move,))


class Lingering(Good):
    def decide(self, state: Any, event: Any) -> Any:
        if isinstance(event, Finishing):
            return state, Decision(Action.RETRY)
        return super().decide(state, event)


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (Raising, "raised ZeroDivisionError: oops on Attempted"),
        (Mutating, "changed the state it was given"),
        (NotJson, "its state is not JSON"),
        (Changing, "its state changes when it is written out"),
        (Remembering, "not deterministic"),
        (Endless, "no end after 200 decisions"),
        (Impossible, "VERIFY at .* cannot be carried out"),
        (Impatient, "delay and debit are 0 or more"),
        (Trespassing, "moved the entry of another write"),
        (Jumping, "None -> COMMITTED is illegal"),
        (Lingering, "RETRY on Finishing"),
    ],
)
def test_every_rule_of_a_strategy_can_be_broken(broken: Any, what: str) -> None:
    with pytest.raises(ConformanceError, match=what):
        check_strategy(broken)


def test_a_strategy_that_keeps_the_rules_passes() -> None:
    assert check_strategy(Good) == check_strategy(Good) > 50


class Shares(Good):
    """Hands on how often it was begun; the base of the broken ones."""

    def begin(self) -> Any:
        return self.begin_with({})

    def begin_with(self, shared: Any) -> Any:
        return {"n": shared.get("pool", 0)}

    def carry(self, state: Any) -> Any:
        return {"pool": state["n"] + 1}

    def commons(self, state: Any, now_us: int) -> SharedView:
        return SharedView()


class SharesItsOwnWay(Shares):
    def carry(self, state: Any) -> Any:
        return {"memory": 1}


class SharesNoJson(Shares):
    def carry(self, state: Any) -> Any:
        return {"pool": {1, 2}}


class SharesAndChanges(Shares):
    def begin_with(self, shared: Any) -> Any:
        shared["pool"] = shared.get("pool", 0) + 1
        return {"n": shared["pool"]}

    def begin(self) -> Any:
        return {"n": 1}


class SharesFromNothing(Shares):
    def begin(self) -> Any:
        return {"n": 7}


class SharesByHeart(Shares):
    """What it shares is not in what it hands on."""

    count = itertools.count()

    def carry(self, state: Any) -> Any:
        return {"pool": next(self.count)}

    def on_failure(self, event: Attempted) -> Decision:
        return Decision(Action.FAIL, "first failure")

    def decide(self, state: Any, event: Any) -> Any:
        after, decision = super().decide(state, event)
        return after, Decision(decision.action, f"{state['n']}")


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (SharesItsOwnWay, "hands on 'memory', which is none of"),
        (SharesNoJson, "its state is not JSON"),
        (SharesAndChanges, "changed what it was handed"),
        (SharesFromNothing, "begins with nothing otherwise than it begins"),
        (SharesByHeart, "not deterministic, or not all that it shares"),
    ],
)
def test_every_rule_of_sharing_can_be_broken(broken: Any, what: str) -> None:
    with pytest.raises(ConformanceError, match=what):
        check_strategy(broken)


def test_a_strategy_that_shares_is_led_through_cohorts_too() -> None:
    assert check_strategy(Shares) > check_strategy(Good)


@pytest.mark.parametrize("blind", [BlindResend, FixedRetry])
def test_a_blind_strategy_keeps_the_socket_but_is_not_safe(blind: Any) -> None:
    check_strategy(lambda: blind({}, Kit()))
    with pytest.raises(ConformanceError, match="write again that may have landed"):
        check_strategy(lambda: blind({}, Kit()), safe=True)


class Forgetful(ShopWorld):
    """Reset leaves orders behind."""

    def reset(self, task_id: str) -> str:
        orders = self._state.get("orders", [])
        super().reset(task_id)
        self._state["orders"] = orders
        return super().grade([]).state_digest


class Lazy(ShopWorld):
    """Orders are not carried out."""

    def execute(self, tool: str, arguments: Mapping[str, Any], **who: Any) -> Execution:
        return Execution(fine()) if tool == "add_order" else super().execute(tool, arguments, **who)


class Nosy(ShopWorld):
    """Reads change the world."""

    def execute(self, tool: str, arguments: Mapping[str, Any], **who: Any) -> Execution:
        done = super().execute(tool, arguments, **who)
        return Execution(done.observation, ("log",), done.state) if tool == "look" else done


class OtherWorld(ShopSuite):
    """A shop with another world in it."""

    def __init__(self, world: type[ShopWorld]) -> None:
        super().__init__()
        self._world = world

    def open(self) -> ShopWorld:
        return self._world(self._sealed)


class Sanguine(ShopSuite):
    """Confirms whatever it is asked."""

    def landed(self, *_: Any) -> Landed:
        return Landed.COMMITTED


class Seeded(ShopSuite):
    """Makes its tasks of a seed, and by the class alone others if it is `fickle`."""

    seed = "s"
    fickle = False

    @classmethod
    def regrown(cls, seed: str, selection: SuiteSelection) -> Regrown:
        pin = ShopSuite().pin(selection)
        update = {"version": seed} if cls.fickle else {}
        return Regrown(pin.model_copy(update=update), ShopSuite().select(selection))


class Fickle(Seeded):
    """Its class gives another pin than it does itself."""

    fickle = True


def test_the_shop_is_a_good_suite() -> None:
    check_suite(ShopSuite(), SELECTION)
    check_suite(Seeded(), SELECTION)


@pytest.mark.parametrize(
    ("suite", "what"),
    [
        (OtherWorld(Forgetful), "reset does not undo the oracle"),
        (OtherWorld(Lazy), "the oracle does not satisfy the checker"),
        (OtherWorld(Nosy), "registered as a read, but changed"),
        (Sanguine(), "confirmed before it ran"),
        (ShopSuite(tasks={}), "the selection is empty"),
        (Fickle(), "its seed alone gives other tasks"),
    ],
)
def test_every_rule_of_a_suite_can_be_broken(suite: ShopSuite, what: str) -> None:
    with pytest.raises(ConformanceError, match=what):
        check_suite(suite, SELECTION)


class Echo:
    """A host in memory that behaves; `patient` ones never time out, `mortal` ones die refusing."""

    def __init__(self, *, patient: bool = False, mortal: bool = False, deaf: bool = False) -> None:
        self._patient, self._mortal, self._deaf = patient, mortal, deaf
        self._dead = False

    def request(self, op: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        if self._dead and not self._deaf:
            raise HostDiedError("gone")
        match op:
            case "echo":
                return {"said": fields["text"]}
            case "hang" if self._patient:
                return {}
            case "hang":
                self._dead = True
                raise HostTimeoutError("late")
            case "die":
                self._dead = True
                raise HostDiedError("died")
        self._dead = self._mortal
        raise HostRefusedError("UnknownOp", op)

    def close(self) -> None:
        self._dead = True


def test_a_sandbox_of_well_behaved_hosts_passes() -> None:
    check_sandbox(FakeSandbox(lambda _: Echo()))


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ({"patient": True}, "a host that hangs: no HostTimeoutError"),
        ({"deaf": True}, "a killed host: no HostDiedError"),
    ],
)
def test_every_rule_of_a_sandbox_can_be_broken(kind: dict[str, bool], what: str) -> None:
    with pytest.raises(ConformanceError, match=what):
        check_sandbox(FakeSandbox(lambda _: Echo(**kind)))
    with pytest.raises(HostDiedError):
        check_sandbox(FakeSandbox(lambda _: Echo(mortal=True)))


def test_a_scripted_host_answers_refuses_and_dies() -> None:
    def answer(op: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        if op == "no":
            raise HostRefusedError("Nope", "no")
        return {"twice": fields["n"] * 2}

    host = FakeSandbox(lambda _: ScriptedHost(answer)).start(HostCommand(argv=("x",)))
    assert host.request("double", {"n": 2}, 1) == {"ok": True, "twice": 4}
    with pytest.raises(HostRefusedError):
        host.request("no", {}, 1)
    with pytest.raises(HostDiedError, match="ended"):
        host.request("double", {}, 1)
    with pytest.raises(HostDiedError, match="closed"):
        host.request("double", {"n": 1}, 1)


def test_an_observation_is_what_the_helpers_say() -> None:
    assert fine("x", domain_error=True) == Observation(
        answered=True, status=200, body="x", payload="x", domain_error=True
    )
