"""The upstream runner's own policy, rebuilt."""

from typing import Any

import pytest

from hfr_bench import content
from hfr_bench.baselines.suite_default import RUNNERS, SuiteDefault
from hfr_bench.model.attempt import Attempted, Intent, Observation, StepView
from hfr_bench.model.terms import Action, Channel, End, SideEffect
from hfr_bench.recovery.kit import Kit
from hfr_bench.testing.conformance import check_strategy
from hfr_bench.testing.fakes import FakeModel, fine, lost, refused
from hfr_bench.testing.rig import Rig, StepsAgent, fault
from hfr_bench.testing.shop import agent_step

from .conftest import expected, view

TAU2 = {"suite": "tau2"}


def tau2(key: int = 0) -> SuiteDefault:
    return SuiteDefault(TAU2, Kit(chance_key=(key,)))


@pytest.mark.parametrize("config", [{}, {"suite": "shopdesk"}, {"suite": "tau"}])
def test_a_suite_without_a_runner_is_refused_and_told_which_have_one(config: Any) -> None:
    wanted = r"has: tau2, swe_bench, swe_mini, webarena, web_mini, desk_mini, osworld"
    with pytest.raises(ValueError, match=rf"no upstream runner.*{wanted}"):
        SuiteDefault(config, Kit())


def test_every_runner_is_of_a_suite_that_is_shipped() -> None:
    shipped = {path.name for path in (content.root() / "suites").iterdir() if path.is_dir()}
    assert set(RUNNERS) <= shipped


@pytest.mark.parametrize(
    ("case", "hits"), [("400", 4), ("401", 4), ("429", 7), ("503", 7), ("no answer", 7)]
)
def test_a_model_call_is_that_of_litellm(case: str, hits: int) -> None:
    assert expected(tau2, case).hits == hits


def test_an_empty_answer_is_asked_for_three_times_more_and_then_taken() -> None:
    arm = tau2()
    state, taken = arm.begin(), []
    for attempt in range(1, 5):
        state, decision = arm.decide(state, Attempted(view(attempt), FakeModel.says(" \n")))
        taken.append((decision.action, decision.delay_us))
    assert taken == [(Action.RETRY, 0)] * 3 + [(Action.ACCEPT, 0)]


def test_a_call_asked_for_anew_has_its_retries_anew() -> None:
    arm = tau2()
    state, empty = arm.begin(), FakeModel.says("")
    seen: list[Observation] = [*[refused(500)] * 5, empty, *[refused(500)] * 7]
    for attempt, observation in enumerate(seen, 1):
        state, decision = arm.decide(state, Attempted(view(attempt), observation))
        wanted = Action.FAIL if attempt == len(seen) else Action.RETRY
        assert decision.action is wanted, attempt


@pytest.mark.parametrize("seen", [lost(), refused(503), fine(domain_error=True)])
def test_the_tenth_error_of_a_tool_ends_the_run(seen: Observation) -> None:
    arm = tau2()
    state, taken = arm.begin(), []
    for step in range(1, 11):
        state, _ = arm.decide(state, Attempted(view(1, Channel.TOOL, step=step), fine()))
        state, decision = arm.decide(state, Attempted(view(1, Channel.TOOL, step=step), seen))
        taken.append(decision)
    shown = Action.ACCEPT if seen.answered else Action.REPLAN
    assert [d.action for d in taken] == [shown] * 9 + [Action.FAIL]
    assert taken[-1].reason == "TOO_MANY_ERRORS"


def test_a_tool_is_never_retried_by_the_runner_but_by_its_agent() -> None:
    steps = (agent_step("add_order", item="tea"),)
    ran = Rig(
        tau2(),
        steps=steps,
        agent=StepsAgent(steps, again=1),
        faults=[fault("busy", "tool:add_order")],
    ).run()
    assert (ran.end, ran.attempts(), ran.guard.tally.steps) == (End.ACCEPTED, 2, 2)


def test_it_keeps_the_rules_of_its_socket() -> None:
    assert check_strategy(tau2, walks=80) > 80


MINI = {"suite": "swe_mini"}


def mini() -> SuiteDefault:
    return SuiteDefault(MINI, Kit(chance_key=(0,)))


def waits(seen: Observation) -> tuple[list[float], Action]:
    """Seconds waited after each failed attempt of a model call, and what it came to."""
    arm = mini()
    state, waited = arm.begin(), []
    for attempt in range(1, 20):
        state, decision = arm.decide(state, Attempted(view(attempt), seen))
        if decision.action is not Action.RETRY:
            return waited, decision.action
        waited.append(decision.delay_us / 1_000_000)
    raise AssertionError("it never ends")


@pytest.mark.parametrize("seen", [refused(429), refused(503), refused(400), lost()])
def test_mini_tries_a_model_ten_times_with_doubling_waits(seen: Observation) -> None:
    assert waits(seen) == ([4, 4, 4, 8, 16, 32, 60, 60, 60], Action.FAIL)


@pytest.mark.parametrize(
    "seen",
    [
        *(refused(status) for status in (401, 403, 404)),
        refused(400, '{"error": {"code": "context_length_exceeded"}}'),
    ],
)
def test_mini_does_not_try_again_what_cannot_get_better(seen: Observation) -> None:
    assert waits(seen) == ([], Action.FAIL)


def test_mini_never_makes_a_tools_call_again() -> None:
    arm = mini()
    state = arm.begin()
    for step in range(1, 30):
        state, decision = arm.decide(state, Attempted(view(1, Channel.TOOL, step=step), lost()))
        assert decision.action is Action.REPLAN


def test_mini_keeps_the_rules_of_strategies() -> None:
    check_strategy(mini)


def web() -> SuiteDefault:
    return SuiteDefault({"suite": "web_mini"}, Kit(chance_key=(0,)))


def acted(step: int, tool: str, args: str) -> StepView:
    intent = Intent("i", Channel.TOOL, tool, SideEffect.READ, args, "", "")
    return view(1, Channel.TOOL, step=step, intent=intent)


def test_webarena_waits_for_a_rate_limit_three_times() -> None:
    arm = web()
    state, waited = arm.begin(), []
    for attempt in range(1, 5):
        state, decision = arm.decide(state, Attempted(view(attempt), refused(429)))
        waited.append(decision.delay_us / 1_000_000)
    assert (decision.action, decision.reason) == (Action.FAIL, "retries used up")
    for before, after in zip([1.0, *waited[:2]], waited[:3], strict=True):
        assert 2 * before <= after + 1e-6 < 4 * before + 2e-6
    state, decision = arm.decide(state, Attempted(view(1, step=2), refused(429)))
    assert 2 <= decision.delay_us / 1_000_000 < 4


@pytest.mark.parametrize("seen", [lost(), refused(503), refused(400), refused(401)])
def test_webarena_ends_a_task_at_any_other_error_of_its_model(seen: Observation) -> None:
    arm = web()
    assert arm.decide(arm.begin(), Attempted(view(1), seen))[1].action is Action.FAIL


def test_webarena_shows_what_an_action_broke_on() -> None:
    arm = web()
    state = arm.begin()
    for step in range(1, 20):
        seen = Attempted(acted(step, "click", str(step)), lost())
        state, decision = arm.decide(state, seen)
        assert decision.action is Action.REPLAN


@pytest.mark.parametrize(
    ("calls", "ends"),
    [
        ("click:a click:a click:a", 3),
        ("click:a click:a click:b click:a", None),
        ("type:a click:b type:a click:c type:a", 5),
        ("click:a click:b click:a click:b click:a", None),
    ],
)
def test_webarena_ends_a_run_at_the_third_equal_action(calls: str, ends: int | None) -> None:
    arm = web()
    state, ended = arm.begin(), None
    for step, call in enumerate(calls.split(), 1):
        tool, _, args = call.partition(":")
        seen = Attempted(acted(step, tool, args), fine())
        state, decision = arm.decide(state, seen)
        if decision.action is Action.FAIL:
            ended = step
            break
    assert ended == ends


def test_webarena_keeps_the_rules_of_strategies() -> None:
    check_strategy(web)


def desk() -> SuiteDefault:
    return SuiteDefault({"suite": "desk_mini"}, Kit(chance_key=(0,)))


def sent_again(seen: Observation) -> tuple[list[float], Action]:
    """Seconds waited before an action is sent again, and what it came to."""
    arm = desk()
    state, waited = arm.begin(), []
    for attempt in range(1, 9):
        event = Attempted(view(attempt, Channel.TOOL), seen)
        state, decision = arm.decide(state, event)
        if decision.action is not Action.RETRY:
            return waited, decision.action
        waited.append(decision.delay_us / 1_000_000)
    raise AssertionError("it never ends")


@pytest.mark.parametrize(
    "seen", [lost("ConnectionClosed"), lost("ConnectTimeout"), *map(refused, (401, 404, 422, 503))]
)
def test_a_desks_action_is_sent_three_times_blindly(seen: Observation) -> None:
    assert sent_again(seen) == ([5, 5], Action.REPLAN)


@pytest.mark.parametrize("name", ["Timeout", "ReadTimeout"])
def test_a_desks_action_without_an_answer_in_time_is_let_be(name: str) -> None:
    assert sent_again(lost(name)) == ([], Action.REPLAN)


def test_a_desks_refusal_is_an_answer() -> None:
    assert sent_again(fine(domain_error=True)) == ([], Action.ACCEPT)


@pytest.mark.parametrize(
    ("seen", "hits"),
    [*((refused(status), 10) for status in (400, 429, 500, 503)), (refused(401), 1), (lost(), 1)],
)
def test_a_desks_model_call_is_tried_up_to_ten_times(seen: Observation, hits: int) -> None:
    arm = desk()
    state, waited = arm.begin(), []
    for attempt in range(1, 20):
        state, decision = arm.decide(state, Attempted(view(attempt), seen))
        if decision.action is not Action.RETRY:
            break
        waited.append(decision.delay_us)
    assert (len(waited) + 1, decision.action) == (hits, Action.FAIL)
    assert all(0 <= wait_us <= 30_000_000 for wait_us in waited)
    assert len(set(waited)) == len(waited)  # backoff's jitter is full


def test_a_desks_runner_keeps_the_rules_of_strategies() -> None:
    check_strategy(desk)
