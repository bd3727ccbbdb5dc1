"""Strategy-side checks: right about the desk, and blind to the grader."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from hfr_bench.model.attempt import Observation, Verdict
from hfr_bench.model.record import digest
from hfr_bench.model.task import OracleStep
from hfr_bench.model.terms import CheckLevel
from hfr_bench.ports.verifier import Answered, Check, Checked
from hfr_bench.suites.shopdesk.contracts import landed
from hfr_bench.suites.shopdesk.generate import Instance, generate
from hfr_bench.suites.shopdesk.verifier import DeskVerifier
from hfr_bench.testing.fakes import fine, lost

Make = Callable[..., Instance]
V0, V1, V2 = CheckLevel.TRANSPORT, CheckLevel.DETERMINISTIC, CheckLevel.SEMANTIC


class Checking:
    """Plays calls on the desk and has each of them checked."""

    def __init__(self, desk: Any, task: Instance) -> None:
        desk.open(task)
        self.desk = desk
        self.verifier = DeskVerifier(task.public, landed)
        self.history: list[Answered] = []

    def before(self, level: CheckLevel, tool: str, **arguments: Any) -> Verdict:
        """A call that is not made yet."""
        return self.verifier.verify(level, self._check(tool, arguments, None))

    def made(self, tool: str, actor: str = "agent", **arguments: Any) -> dict[CheckLevel, Verdict]:
        """Make a call; the verdicts on it."""
        spec = self.verifier._task.tool(tool)
        contract = spec.reconcile if spec else None
        before = None
        if contract and contract.needs_before:
            before = self.desk.look(contract.read, contract.fill(arguments)).body
        seen = self.desk.call(tool, actor, **arguments)
        if actor != "agent":
            return {}
        check = self._check(tool, arguments, seen, before)
        verdicts = {level: self.verifier.verify(level, check) for level in self.verifier.levels}
        if not seen.domain_error:
            self.history.append(Answered(tool, arguments, seen.body))
        return verdicts

    def play(self, steps: Sequence[OracleStep]) -> list[dict[CheckLevel, Verdict]]:
        return [self.made(step.tool, step.actor, **step.arguments) for step in steps]

    def _check(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        seen: Observation | None,
        before: str | None = None,
    ) -> Check:
        return Check(tool, arguments, seen, tuple(self.history), self.desk.look, before)


def step_of(task: Instance, tool: str) -> OracleStep:
    return next(step for step in task.sealed.oracle if step.tool == tool)


def up_to(task: Instance, tool: str) -> Sequence[OracleStep]:
    return task.sealed.oracle[: task.sealed.oracle.index(step_of(task, tool))]


def test_the_suite_ships_checks(make_suite: Callable[..., Any]) -> None:
    suite = make_suite()
    assert isinstance(suite, Checked)
    assert suite.verifier(generate("1", 0).public).levels == (V0, V1, V2)


@pytest.mark.parametrize("number", range(24))
def test_what_the_oracle_does_passes_at_every_level(desk: Any, number: int) -> None:
    task = generate("checks", number)
    for verdicts in Checking(desk, task).play(task.sealed.oracle):
        for level, verdict in verdicts.items():
            assert verdict.passed, (level, verdict.reasons)


def test_an_answer_must_be_there_and_be_an_object(desk: Any, made: Make) -> None:
    checking = Checking(desk, made("address"))
    arguments = {"customer_id": "C-1001"}
    for seen, why in ((lost(), "no answer"), (fine("[1]"), "no JSON object"), (fine("{"), "JSON")):
        verdict = checking.verifier.verify(V0, checking._check("get_customer", arguments, seen))
        assert not verdict.passed
        assert why in verdict.reasons[0]


@pytest.mark.parametrize(
    "arguments",
    [
        {"order_id": "O-1001"},
        {"order_id": "O-1001", "amount_cents": "5"},
        {"order_id": "O-1001", "amount_cents": True},
        {"order_id": "O-1001", "amount_cents": 0},
        {"order_id": "O-1001", "amount_cents": 5, "currency": "EUR"},
    ],
)
def test_arguments_must_fit_the_parameters(
    desk: Any, made: Make, arguments: dict[str, Any]
) -> None:
    assert not Checking(desk, made("refund")).before(V0, "refund", **arguments).passed


def test_an_unknown_value_of_a_choice_does_not_fit(desk: Any, made: Make) -> None:
    checking = Checking(desk, made("shipping"))
    assert not checking.before(V0, "set_shipping", order_id="O-1001", method="boat").passed


def test_a_refund_beyond_what_was_read_is_caught_before_it_is_made(desk: Any, made: Make) -> None:
    task = made("refund")
    checking = Checking(desk, task)
    wanted = step_of(task, "refund").arguments
    unread = checking.before(V1, "refund", **wanted)
    assert (unread.passed, unread.quality) == (True, 0.5)
    checking.play(up_to(task, "refund"))
    checking.made("get_policy", topic="refunds")
    assert checking.before(V1, "refund", **wanted).quality == 1.0
    left = json.loads(checking.history[-2].body)["refundable_cents"]
    beyond = checking.before(V1, "refund", **wanted | {"amount_cents": left + 1})
    assert "more than what is left" in beyond.reasons[0]


def test_above_the_limit_the_approval_must_have_been_seen(desk: Any, made: Make) -> None:
    task = made("approved_refund")
    checking = Checking(desk, task)
    wanted = step_of(task, "refund").arguments
    checking.play(up_to(task, "request_approval"))
    assert "no approval was seen" in checking.before(V1, "refund", **wanted).reasons[0]
    checking.play(up_to(task, "refund")[len(checking.history) :])
    assert checking.before(V1, "refund", **wanted).quality == 1.0


def test_an_order_for_somebody_nobody_looked_at_is_caught(desk: Any, made: Make) -> None:
    task = made("reorder")
    checking = Checking(desk, task)
    checking.play(up_to(task, "place_order"))
    wanted = step_of(task, "place_order").arguments
    assert checking.before(V1, "place_order", **wanted).passed
    slipped = wanted | {"customer_id": "C-10010"}
    assert "never looked at" in checking.before(V1, "place_order", **slipped).reasons[0]


def test_an_order_that_was_seen_shipped_cannot_be_changed(desk: Any, made: Make) -> None:
    task = made("ticket")
    checking = Checking(desk, task)
    order = step_of(task, "create_ticket").arguments["order_id"]
    checking.made("get_order", order_id=order)
    if checking.verifier._task.tool("cancel_order"):
        verdict = checking.before(V1, "cancel_order", order_id=order, reason="replaced")
        assert verdict.reasons == (f"{order} is shipped",)


def test_an_answer_about_something_else_is_caught(desk: Any, made: Make) -> None:
    checking = Checking(desk, made("address"))
    arguments = {"customer_id": "C-1001", "street": "a", "city": "b", "zip": "c"}
    seen = fine(json.dumps({"id": "C-1001", "street": "another", "city": "b", "zip": "c"}))
    verdict = checking.verifier.verify(V1, checking._check("set_address", arguments, seen))
    assert "the answer says 'another'" in verdict.reasons[0]


def test_the_second_look_finds_what_did_not_happen(desk: Any, made: Make) -> None:
    task = made("address")
    checking = Checking(desk, task)
    arguments = step_of(task, "set_address").arguments
    claimed = fine(json.dumps(arguments))
    verdict = checking.verifier.verify(V2, checking._check("set_address", arguments, claimed))
    assert verdict.reasons == ("get_customer shows set_address as absent",)
    assert not verdict.passed


def test_a_look_that_fails_and_a_mail_decide_nothing(desk: Any, made: Make) -> None:
    task = made("address", "mail")
    verifier = DeskVerifier(task.public, landed)
    for tool in ("set_address", "send_email"):
        arguments = step_of(task, tool).arguments
        check = Check(tool, arguments, fine("{}"), (), lambda *_: lost())
        verdict = verifier.verify(V2, check)
        assert (verdict.passed, verdict.quality) == (True, 0.5)


def test_no_person_is_at_hand(desk: Any, made: Make) -> None:
    checking = Checking(desk, made("address"))
    with pytest.raises(ValueError, match="there are V0, V1, V2"):
        checking.before(CheckLevel.AUTHORITY, "get_customer", customer_id="C-1001")


def altered(task: Instance) -> Instance:
    """The same task with another grader: nothing of the sealed half is as it was."""
    expected = tuple(e.model_copy(update={"count": 9}) for e in task.sealed.expected[1:])
    sealed = task.sealed.model_copy(
        update={
            "grading": {"set": {}, "add": {}},
            "expected": expected,
            "say": ("something else",),
            "oracle": (),
            "opening": "",
        }
    )
    return task._replace(sealed=sealed)


@pytest.mark.parametrize("number", range(12))
def test_with_another_grader_every_answer_is_the_same_to_the_byte(desk: Any, number: int) -> None:
    task = generate("metamorphic", number)
    told = []
    for one in (task, altered(task)):
        checking = Checking(desk, one)
        answers: list[Any] = []
        for step in task.sealed.oracle:
            verdicts = checking.made(step.tool, step.actor, **step.arguments)
            answers.append([[level, str(verdict)] for level, verdict in verdicts.items()])
            spec = task.public.tool(step.tool)
            if spec and spec.reconcile:
                filled = spec.reconcile.fill(step.arguments)
                read = desk.look(spec.reconcile.read, filled).body
                predicate = spec.reconcile.landed
                answers.append([read, landed(predicate, None, read, step.arguments)])
        told.append((digest(answers), one.public.dumps(), desk.grade().official))
    assert told[0][:2] == told[1][:2]
    assert told[0][2] == 1.0
    assert told[1][2] == 0.0
