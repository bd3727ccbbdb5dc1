"""VERIFY carried out: the guard's own checks, the suite's, and a person's."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.carry import Gear, gear_of
from hfr_bench.lab.human import PricedHuman
from hfr_bench.lab.wire import Bench, Place
from hfr_bench.model.attempt import Attempted, Decision, Proposed, StrategyEvent, Verdict, Verified
from hfr_bench.model.prereg import Arm, HumanPrice, Preregistration
from hfr_bench.model.terms import Action, CheckLevel, End, SideEffect
from hfr_bench.model.trace import AttemptStarted, StepEnded, VerifyAnswered
from hfr_bench.ports.human import Question
from hfr_bench.suites.shopdesk.generate import generate
from hfr_bench.testing.fakes import FakeAgent, FakeModel, FakeStrategy
from hfr_bench.testing.rig import Rig, ScriptedChecks, fault, lost_answer
from hfr_bench.testing.shop import agent_step

V0, V1, V2, V3 = CheckLevel
GO, ACCEPT, RETRY = Decision(Action.DISPATCH), Decision(Action.ACCEPT), Decision(Action.RETRY)
REPLAN = Decision(Action.REPLAN)
CHECK = {level: Decision(Action.VERIFY, check=level) for level in CheckLevel}
GOOD = Verdict(V1, passed=True)
BAD = Verdict(V1, passed=False, quality=0.2, reasons=("out of stock", "wrong size"))


def rig(*decisions: Decision, checks: ScriptedChecks | None = None, **parts: Any) -> Rig:
    return Rig(FakeStrategy(decisions), gear=Gear(verifier=checks), **parts)


def checks(*verdicts: Verdict, **parts: Any) -> ScriptedChecks:
    left = iter(verdicts)
    return ScriptedChecks(lambda _level, _check: next(left), **parts)


def heard(of: Rig, kind: type[Any]) -> list[Any]:
    strategy = of.guard.strategy
    assert isinstance(strategy, FakeStrategy)
    return [event for event in strategy.asked if isinstance(event, kind)]


def test_the_suites_check_is_asked_and_its_verdict_told_and_written() -> None:
    suite = checks(GOOD)
    made = rig(GO, CHECK[V1], ACCEPT, ACCEPT, checks=suite)
    ran = made.run()
    ((level, check, history),) = suite.asked
    assert (level, check.tool, check.arguments) == (V1, "add_order", {"item": "tea"})
    assert check.observation is not None
    assert check.observation.body == '{"done": "add_order"}'
    assert history == ()
    (verified,) = heard(made, Verified)
    assert verified.verdict is GOOD
    assert made.sink.of(VerifyAnswered) == [VerifyAnswered(level=V1, passed=True)]
    assert (ran.end, ran.attempts()) == (End.ACCEPTED, 1)


def test_what_the_check_reads_of_the_world_is_charged_at_a_point_of_its_own() -> None:
    suite = checks(GOOD, looks=("look",))
    made = rig(GO, CHECK[V1], ACCEPT, ACCEPT, checks=suite)
    ran = made.run()
    started = made.sink.of(AttemptStarted)
    assert [(b.point, b.purpose, b.target, b.key) for b in started[1:]] == [
        ("verify:add_order", "verify", "look", "")
    ]
    assert json.loads(suite.seen[0].body)["orders"] == ["tea"]
    assert (made.sums.reads, made.sums.cost_microusd, made.clock.us) == (1, 2000, 800_000)
    assert ran.attempts("verify") == 1


def test_a_look_can_be_faulted_and_the_next_one_is_its_second_attempt() -> None:
    suite = checks(GOOD, GOOD, GOOD, looks=("look",))
    busy = fault("busy", "verify:add_order")
    made = rig(GO, *[CHECK[V1]] * 3, ACCEPT, ACCEPT, checks=suite, faults=[busy])
    made.run()
    looks = [
        (e.body.occurrence, e.attempt)
        for e in made.sink.events
        if isinstance(e.body, AttemptStarted) and e.body.purpose == "verify"
    ]
    assert looks == [(1, 1), (1, 2), (2, 1)]
    assert [seen.status for seen in suite.seen] == [503, 200, 200]


def test_accepted_answers_are_the_history_of_later_checks() -> None:
    steps = tuple(agent_step("add_order", item=item) for item in ("a", "b", "c"))
    suite = checks(GOOD)
    made = rig(*(GO, ACCEPT, GO, REPLAN, GO, CHECK[V1], ACCEPT, ACCEPT), checks=suite, steps=steps)
    made.run()
    ((_, _, history),) = suite.asked
    assert [(one.tool, one.arguments) for one in history] == [("add_order", {"item": "a"})]


def test_a_call_can_be_checked_before_it_is_made() -> None:
    suite = checks(BAD)
    made = rig(CHECK[V1], REPLAN, ACCEPT, checks=suite)
    ran = made.run()
    ((_, check, _),) = suite.asked
    assert check.observation is None
    assert (ran.attempts(), ran.world.orders("tea")) == (0, 0)


def test_a_replanned_step_tells_the_agent_why_it_was_rejected() -> None:
    made = rig(GO, CHECK[V1], REPLAN, ACCEPT, checks=checks(BAD))
    made.run()
    (told,) = made.agent.told  # type: ignore[attr-defined]
    error = json.loads(told)["error"]
    assert error["type"] == "rejected"
    assert "out of stock; wrong size" in error["message"]


def test_the_reasons_are_those_of_the_last_attempt_alone() -> None:
    steps = (agent_step("look"),)
    busy = fault("busy", "tool:look", attempt=2)
    made = rig(
        *(GO, CHECK[V1], RETRY, GO, REPLAN, ACCEPT), checks=checks(BAD), steps=steps, faults=[busy]
    )
    made.run()
    assert "HTTP 503" in made.agent.told[0]  # type: ignore[attr-defined]


@pytest.mark.parametrize("last", [RETRY, ACCEPT, Decision(Action.ESCALATE)], ids=str)
def test_after_a_rejection_the_strategy_is_free(last: Decision) -> None:
    more = (GO, ACCEPT, ACCEPT) if last is RETRY else (ACCEPT,)
    made = rig(GO, CHECK[V1], last, *more, checks=checks(BAD), steps=(agent_step("look"),))
    ran = made.run()
    assert ran.end is (End.ESCALATED if last.action is Action.ESCALATE else End.ACCEPTED)
    assert ran.attempts() == (2 if last is RETRY else 1)


# -- what is on offer -------------------------------------------------------------------------


def test_v0_is_the_guards_own_and_offered_to_everybody_once_there_is_an_answer() -> None:
    made = rig(GO, CHECK[V0], ACCEPT, ACCEPT)
    made.run()
    assert [event.view.can_verify for event in heard(made, Proposed)] == [()]
    assert [event.view.can_verify for event in heard(made, Attempted)] == [(V0,)]
    assert heard(made, Verified)[0].verdict == Verdict(V0, passed=True)


def test_a_suites_levels_come_with_the_equipment_and_a_person_with_them() -> None:
    suite = checks(levels=(V0, V1, V2))
    made = rig(GO, ACCEPT, ACCEPT, checks=suite)
    made.run()
    assert heard(made, Proposed)[0].view.can_verify == (V0, V1, V3)
    assert heard(made, Attempted)[0].view.can_verify == (V0, V1, V2, V3)


@pytest.mark.parametrize(
    ("decisions", "suite"),
    [
        ((CHECK[V0],), None),
        ((GO, CHECK[V1]), None),
        ((GO, CHECK[V3]), None),
        ((CHECK[V2],), checks(levels=(V1, V2))),
        ((GO, CHECK[V2]), checks(levels=(V1,))),
        ((GO, Decision(Action.VERIFY)), checks()),
    ],
    ids=["nothing yet", "no verifier", "no person", "too early", "no such level", "no level"],
)
def test_a_check_that_is_not_offered_ends_the_trial_as_the_strategys_failure(
    decisions: tuple[Decision, ...], suite: ScriptedChecks | None
) -> None:
    ran = rig(*decisions, checks=suite).run()
    assert (ran.end, "VERIFY, which cannot be done" in ran.reason) == (End.FAILED, True)


def test_a_lost_answer_cannot_be_checked() -> None:
    made = rig(GO, CHECK[V1], checks=checks(GOOD), faults=[lost_answer("add_order")])
    assert "VERIFY, which cannot be done" in made.run().reason


def test_nobody_verifies_for_ever() -> None:
    def decide(event: StrategyEvent) -> Decision:
        return GO if isinstance(event, Proposed) else CHECK[V0]

    assert Rig(FakeStrategy(decide)).run().end is End.LIMIT


# -- people -----------------------------------------------------------------------------------


@pytest.mark.parametrize("approves", [True, False])
def test_a_person_is_asked_before_a_write_and_charged(*, approves: bool) -> None:
    made = rig(CHECK[V3], GO if approves else REPLAN, *[ACCEPT] * (1 + approves), checks=checks())
    made.human.approves = lambda _: approves
    ran = made.run()
    (question,) = made.human.questions
    assert (question.tool, question.level, question.observation) == (
        "add_order",
        SideEffect.QUERYABLE,
        None,
    )
    assert heard(made, Verified)[0].verdict.passed is approves
    assert made.guard.tally.human_us == 10_000_000
    assert made.sums.cost_microusd == 20_000 + 1000 * approves
    assert ran.world.orders("tea") == approves
    assert made.sink.of(VerifyAnswered)[0].level is V3
    if not approves:
        assert "a person refused it" in made.agent.told[0]  # type: ignore[attr-defined]


def test_the_modelled_person_approves_at_the_registered_price() -> None:
    said = PricedHuman(HumanPrice(cost_usd=1.5, delay_s=2)).review(
        Question(1, "pay", SideEffect.IRREVERSIBLE, {})
    )
    assert (said.passed, said.cost_microusd, said.delay_us) == (True, 1_500_000, 2_000_000)


# -- a model's answers ------------------------------------------------------------------------


def model_rig(
    answers: list[Any], strategy: Callable[[StrategyEvent], Decision], **gear: Any
) -> Rig:
    left = iter(answers)
    hello = [{"role": "user", "content": "hi"}]
    agent = FakeAgent(lambda runtime: runtime.model(hello, []) and None)  # type: ignore[arg-type]
    return Rig(FakeStrategy(strategy), agent=agent, model=lambda _: next(left), gear=Gear(**gear))


def until_it_passes(level: CheckLevel) -> Callable[[StrategyEvent], Decision]:
    def decide(event: StrategyEvent) -> Decision:
        if isinstance(event, Verified):
            return ACCEPT if event.verdict.passed else RETRY
        if isinstance(event, Attempted):
            return CHECK[level]
        return GO if isinstance(event, Proposed) else ACCEPT

    return decide


@pytest.mark.parametrize(
    ("name", "raw", "why"),
    [
        ("fly", "{}", "unknown tool 'fly'"),
        ("look", "{", "the arguments of look could not be read"),
        ("look", "[]", "the arguments of look could not be read: not an object"),
    ],
)
def test_a_malformed_tool_call_of_the_model_can_be_asked_for_again(
    name: str, raw: str, why: str
) -> None:
    answers = [FakeModel.says("", (name, raw)), FakeModel.says("", ("look", "{}"))]
    made = model_rig(answers, until_it_passes(V1), verifier=checks())
    ran = made.run()
    assert (ran.end, ran.attempts()) == (End.ACCEPTED, 2)
    first, second = made.sink.of(VerifyAnswered)
    assert why in first.reasons[0]
    assert (first.passed, second.passed, ran.attempts("verify")) == (False, True, 0)


def test_an_empty_answer_of_the_model_does_not_pass_v0() -> None:
    made = model_rig([FakeModel.says(""), FakeModel.says("hello")], until_it_passes(V0))
    assert made.run().attempts() == 2
    assert [body.passed for body in made.sink.of(VerifyAnswered)] == [False, True]


def test_an_unequipped_arm_has_no_v1_of_the_model() -> None:
    made = model_rig([FakeModel.says("hello")], until_it_passes(V1))
    assert made.run().end is End.FAILED
    assert made.sink.of(StepEnded) == []


# -- wiring -----------------------------------------------------------------------------------


def prereg(suite: str, **fields: Any) -> Preregistration:
    arm = {"name": "a", "strategy": "no_retry", "equipment": {"verifier": True, "ladder": True}}
    plain = {
        "name": "x",
        "title": "x",
        "origin": "rehearsal",
        "suites": [{"suite": suite}],
        "arms": [arm],
        "analysis": {"baseline": "a"},
    }
    return Preregistration.model_validate(plain | fields)


def test_wiring_refuses_the_equipment_where_a_suite_ships_no_checks(tmp_path: Path) -> None:
    why = "arms.a.equipment.verifier: the suite 'tau2' ships no"
    with pytest.raises(BadInputError, match=why):
        Bench(prereg("tau2"), place=Place(tmp_path))


def test_gear_follows_the_equipment(tmp_path: Path) -> None:
    registered = prereg("shopdesk", model={"config": {"context_tokens": 9000}})
    with Bench(registered, place=Place(tmp_path)) as bench:
        suite, task = bench.suite("shopdesk"), generate("1", 0).public
        gear = gear_of(registered.arms[0], suite, task, registered.model)
        assert gear.verifier is not None
        assert gear.verifier.levels == (V0, V1, V2)
        assert gear.summarizer is not None
        assert (gear.ladder, gear.context_tokens) == (True, 9000)
        bare = gear_of(Arm(name="b", strategy="hfr"), suite, task, registered.model)
        assert bare == Gear()


@pytest.mark.parametrize("most", [0, -1, "many", True, 1.5])
def test_a_context_that_is_no_number_is_refused(tmp_path: Path, most: object) -> None:
    registered = prereg("shopdesk", model={"config": {"context_tokens": most}})
    with pytest.raises(BadInputError, match=r"model.config.context_tokens: must be 1 or more"):
        Bench(registered, place=Place(tmp_path))
