"""The third seed, whole: its constants, its breaker with its quirks, its levels and triggers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.model.attempt import (
    Attempted,
    Decision,
    Intent,
    Observation,
    Proposed,
    StepView,
    Verdict,
    Verified,
)
from hfr_bench.model.terms import Action, Channel, CheckLevel, End, SideEffect
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.tiered import NEW, Tiered, allows, count_failure, delay_us, error_type
from hfr_bench.testing.conformance import check_strategy
from hfr_bench.testing.fakes import FakeModel, fine, lost, refused
from hfr_bench.testing.rig import Rig, fault, lost_answer
from hfr_bench.testing.shop import agent_step

SECOND = 1_000_000
KIT = Kit(substitutes={"m": ("backup",), "backup": ("m",)}, chance_key=("s",))
ALONE = Kit(chance_key=("s",))


class SeedBreaker:
    """LLMCircuitBreaker as the seed prints it; only its clock is handed in."""

    def __init__(
        self,
        failure_threshold: int = 5,
        detection_window: float = 300,
        cooldown_period: float = 300,
        extended_cooldown: float = 900,
    ) -> None:
        self.now: float = 0
        self.failure_threshold = failure_threshold
        self.detection_window = detection_window
        self.cooldown_period = cooldown_period
        self.extended_cooldown = extended_cooldown
        self.state = "closed"
        self.failure_count = 0
        self.last_failure_time: float = 0
        self.last_state_change = self.now
        self.consecutive_reopen_count = 0

    def can_execute(self) -> bool:
        if self.state == "closed":
            return True
        if self.state == "open":
            cooldown = (
                self.extended_cooldown
                if self.consecutive_reopen_count > 0
                else self.cooldown_period
            )
            if self.now - self.last_state_change > cooldown:
                self.state = "half_open"
                return True
            return False
        return True

    def record_success(self) -> None:
        self.failure_count = 0
        self.consecutive_reopen_count = 0
        if self.state != "closed":
            self.state = "closed"
            self.last_state_change = self.now

    def record_failure(self) -> None:
        now = self.now
        if now - self.last_failure_time > self.detection_window:
            self.failure_count = 0
        self.failure_count += 1
        self.last_failure_time = now
        if self.failure_count >= self.failure_threshold:
            if self.state == "half_open":
                self.consecutive_reopen_count += 1
            self.state = "open"
            self.last_state_change = now


steps = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "fail", "fail", "fail", "succeed"]),
        st.one_of(st.integers(0, 60), st.integers(299, 302), st.integers(899, 902)),
    ),
    max_size=60,
)


@given(steps)
def test_the_breaker_does_what_the_seeds_does(asked: list[tuple[str, int]]) -> None:
    """A new breaker stands for one that has just closed, which nothing can tell apart."""
    seed, ours, now = SeedBreaker(), NEW, 0
    for what, later_s in asked:
        now += later_s * SECOND
        seed.now = now / SECOND
        if what == "ask":
            ours, allowed = allows(ours, now)
            assert allowed is seed.can_execute()
        elif what == "fail":
            seed.record_failure()
            ours = count_failure(ours, now)
        else:
            seed.record_success()
            ours = NEW
        assert [ours[0], ours[1], ours[4]] == [
            seed.state,
            seed.failure_count,
            seed.consecutive_reopen_count,
        ]


def test_a_failed_probe_does_not_open_it_again_which_takes_five() -> None:
    breaker = NEW
    for _ in range(5):
        breaker = count_failure(breaker, SECOND)
    assert not allows(breaker, 301 * SECOND)[1]
    breaker, allowed = allows(breaker, 301 * SECOND + 1)
    assert allowed
    for n in range(5):
        assert breaker[0] == "half_open"
        breaker = count_failure(breaker, (302 + n) * SECOND)
    assert (breaker[0], breaker[4]) == ("open", 1)
    assert not allows(breaker, (306 + 900) * SECOND)[1]  # the long cooldown now


@pytest.mark.parametrize(
    ("seen", "kind", "waits_s"),
    [
        (lost(), "timeout", [0.5, 1, 2]),
        (refused(408), "timeout", [0.5, 1, 2]),
        (refused(429, retry_after="1"), "rate_limit", [60, 120, 240, 300, 300]),
        (refused(500), "server_error", [2, 4]),
        (refused(529), "server_error", [2, 4]),
        (lost("ConnectError", sent=False), "server_error", [2, 4]),
        (refused(400), "server_error", [2, 4]),
        (refused(200, "{"), "schema_violation", [0, 0]),
        (refused(401), "auth_error", []),
    ],
)
def test_every_error_type_has_its_own_retries(
    seen: Observation, kind: str, waits_s: list[float]
) -> None:
    assert error_type(seen) == kind
    taken = _until_it_ends(Tiered({}, ALONE), seen, Channel.TOOL)
    assert [d.action for d in taken[:-1]] == [Action.RETRY] * len(waits_s)
    for decision, wait_s in zip(taken, waits_s, strict=False):
        assert wait_s <= decision.delay_us / SECOND <= 1.3 * wait_s
        assert decision.debit == 1


@pytest.mark.parametrize("retry", range(6))
def test_the_jitter_adds_up_to_thirty_per_cent(retry: int) -> None:
    most = min(60 * 2**retry, 300) * SECOND
    assert delay_us(retry, 60 * SECOND, 300 * SECOND, 0.0) == most
    assert delay_us(retry, 60 * SECOND, 300 * SECOND, 0.999999) == pytest.approx(1.3 * most)


def test_its_jitter_is_keyed_and_spread() -> None:
    waits = {
        Tiered({}, Kit(chance_key=(n,)))
        .decide(Tiered({}, ALONE).begin(), Attempted(_view(1), lost()))[1]
        .delay_us
        for n in range(50)
    }
    assert len(waits) == 50
    assert min(waits) < 0.52 * SECOND
    assert max(waits) > 0.62 * SECOND


@pytest.mark.parametrize("seen", [lost(), refused(408)])
def test_a_timeout_that_lasts_goes_to_the_backup_and_then_to_a_person(seen: Observation) -> None:
    tiered = Tiered({}, KIT)
    main = _until_it_ends(tiered, seen)
    assert (len(main), main[-1].action, main[-1].substitute) == (4, Action.DEGRADE_MODEL, "backup")
    state = tiered.begin()
    for attempt, target in [(n, "m") for n in range(1, 5)] + [(n, "backup") for n in range(5, 9)]:
        state, decision = tiered.decide(state, Attempted(_view(attempt, target=target), seen))
    assert (decision.action, decision.reason) == (Action.ESCALATE, "timeout: no level is left")
    assert _until_it_ends(Tiered({}, ALONE), seen)[-1].action is Action.ESCALATE


@pytest.mark.parametrize("seen", [refused(500), refused(529), refused(400), refused(401)])
def test_what_the_main_model_does_not_catch_ends_the_task(seen: Observation) -> None:
    assert _until_it_ends(Tiered({}, KIT), seen)[-1].action is Action.FAIL
    drawn = _until_it_ends(Tiered({"degrade_on_any": True}, KIT), seen)
    assert drawn[-1].action is Action.DEGRADE_MODEL


def test_whatever_the_backup_cannot_do_goes_to_a_person() -> None:
    tiered, view = Tiered({}, KIT), _view(5, target="backup")
    assert tiered.decide(tiered.begin(), Attempted(view, refused(401)))[1].action is Action.ESCALATE


@pytest.mark.parametrize("channel", Channel)
def test_a_breach_of_permission_calls_a_person(channel: Channel) -> None:
    taken = _until_it_ends(Tiered({}, KIT), refused(403), channel)
    assert [d.action for d in taken] == [Action.ESCALATE]


def test_five_failures_open_the_breaker_and_no_retry_is_waited_for() -> None:
    taken = _until_it_ends(Tiered({}, KIT), refused(429))
    assert [d.action for d in taken] == [Action.RETRY] * 4 + [Action.DEGRADE_MODEL]


def test_while_its_breaker_is_open_a_model_is_not_called() -> None:
    tiered = Tiered({}, KIT)
    state, at = _opened(tiered)
    _, decision = tiered.decide(state, Proposed(_view(0, step=2, now_us=at + 300 * SECOND)))
    assert (decision.action, decision.substitute) == (Action.DEGRADE_MODEL, "backup")
    after, probe = tiered.decide(state, Proposed(_view(0, step=2, now_us=at + 300 * SECOND + 1)))
    assert probe.action is Action.DISPATCH
    assert after["breakers"]["m"][0] == "half_open"
    closed, _ = tiered.decide(after, Attempted(_view(1, step=2, now_us=at + 301 * SECOND), fine()))
    assert closed["breakers"] == {}


def test_with_both_breakers_open_only_a_person_is_left() -> None:
    tiered = Tiered({}, KIT)
    state, at = _opened(tiered)
    state = {**state, "breakers": {**state["breakers"], "backup": state["breakers"]["m"]}}
    assert tiered.decide(state, Proposed(_view(0, step=2, now_us=at)))[1].action is Action.ESCALATE


def test_a_tools_failure_goes_to_the_agent_and_the_third_to_a_person() -> None:
    tiered = Tiered({}, KIT)
    state, actions = tiered.begin(), []
    for step in range(1, 4):
        failed = Attempted(_view(1, channel=Channel.TOOL, step=step), refused(401))
        state, decision = tiered.decide(state, failed)
        actions.append(decision.action)
    assert actions == [Action.REPLAN, Action.REPLAN, Action.ESCALATE]


def test_five_retries_in_a_row_call_a_person_and_a_success_forgets_them() -> None:
    tiered = Tiered({}, KIT)
    for success, wanted in ((True, Action.REPLAN), (False, Action.ESCALATE)):
        state = _failed(tiered, tiered.begin(), 1, 4)[0]
        assert state["retries"] == 3
        if success:
            state, _ = tiered.decide(
                state, Attempted(_view(1, channel=Channel.TOOL, step=2), fine())
            )
        assert _failed(tiered, state, 3, 4)[1].action is wanted


def test_the_cost_cap_refuses_the_call_that_would_pass_it() -> None:
    tiered = Tiered({}, KIT)
    state = tiered.begin()
    for step, wanted in ((1, Action.DISPATCH), (2, Action.DISPATCH), (3, Action.FAIL)):
        state, decision = tiered.decide(state, Proposed(_view(0, step=step)))
        assert decision.action is wanted
        answer = Observation(True, 200, cost_microusd=400_000)
        state, _ = tiered.decide(state, Attempted(_view(1, step=step), answer))
    assert decision.reason == "the task's cost cap is reached"


def test_a_tool_costs_the_model_nothing_and_an_unknown_price_neither() -> None:
    tiered = Tiered({}, KIT)
    dear = Observation(True, 200, cost_microusd=9_000_000)
    tool = Attempted(_view(1, channel=Channel.TOOL), dear)
    assert tiered.decide(tiered.begin(), tool)[0]["cost"] == 0
    unknown = Attempted(_view(1), Observation(True, 200, cost_microusd=None))
    assert tiered.decide(tiered.begin(), unknown)[0]["cost"] == 0


@pytest.mark.parametrize(("cost", "action"), [(500, Action.DISPATCH), (501, Action.ESCALATE)])
def test_ten_times_the_usual_cost_calls_a_person(cost: int, action: Action) -> None:
    tiered = Tiered({"median_cost_usd": 0.00005}, KIT)
    state, _ = tiered.decide(
        tiered.begin(), Attempted(_view(1), Observation(True, 200, cost_microusd=cost))
    )
    assert tiered.decide(state, Proposed(_view(0, step=2)))[1].action is action


@pytest.mark.parametrize(("quality", "action"), [(0.39, Action.ESCALATE), (0.4, Action.ACCEPT)])
def test_low_confidence_calls_a_person_where_somebody_states_one(
    quality: float, action: Action
) -> None:
    tiered = Tiered({}, KIT)
    verdict = Verdict(CheckLevel.SEMANTIC, passed=False, quality=quality)
    assert tiered.decide(tiered.begin(), Verified(_view(1), verdict))[1].action is action


def test_an_empty_answer_is_asked_for_again_and_a_tool_call_is_an_answer() -> None:
    tiered = Tiered({}, KIT)
    taken = _until_it_ends(tiered, FakeModel.says(""))
    assert [d.action for d in taken] == [Action.RETRY, Action.RETRY, Action.FAIL]
    assert 2 * SECOND <= taken[0].delay_us <= 2.6 * SECOND
    called = Attempted(_view(1), FakeModel.says("", ("look", "{}")))
    assert tiered.decide(tiered.begin(), called)[1].action is Action.ACCEPT


def test_a_write_whose_answer_was_lost_is_simply_sent_again() -> None:
    ran = Rig(Tiered({}, ALONE), faults=[lost_answer("add_order")]).run()
    assert (ran.end, ran.attempts("reconcile"), ran.duplicates) == (End.ACCEPTED, 0, 1)


def test_it_waits_out_no_stated_wait_but_its_own() -> None:
    rig = Rig(Tiered({}, ALONE), faults=[fault("limited", "tool:add_order")])
    rig.run()
    assert 60 * SECOND <= rig.guard.tally.backoff_us <= 78 * SECOND


@pytest.mark.parametrize("kit", [KIT, ALONE])
@pytest.mark.parametrize("config", [{}, {"degrade_on_any": True, "median_cost_usd": 0.01}])
def test_it_keeps_the_rules_of_its_socket(kit: Kit, config: dict[str, Any]) -> None:
    assert check_strategy(lambda: Tiered(config, kit), walks=40) > 40


def test_without_faults_it_does_just_the_task() -> None:
    steps = (agent_step("look"), agent_step("add_order", item="tea"))
    ran = Rig(Tiered({}, ALONE), steps=steps).run()
    assert (ran.end, ran.attempts(), ran.grade.goal_met) == (End.ACCEPTED, 2, True)


def _until_it_ends(
    tiered: Tiered, seen: Observation, channel: Channel = Channel.MODEL
) -> list[Decision]:
    state, taken = tiered.begin(), []
    for attempt in range(1, 20):
        state, decision = tiered.decide(state, Attempted(_view(attempt, channel=channel), seen))
        taken.append(decision)
        if decision.action is not Action.RETRY:
            return taken
    raise AssertionError("no end after 19 attempts")


def _failed(
    tiered: Tiered, state: dict[str, Any], step: int, times: int
) -> tuple[dict[str, Any], Decision]:
    """A tool times out so often."""
    decision = Decision(Action.FAIL)
    for attempt in range(1, times + 1):
        view = _view(attempt, channel=Channel.TOOL, step=step)
        state, decision = tiered.decide(state, Attempted(view, lost()))
    return state, decision


def _opened(tiered: Tiered) -> tuple[dict[str, Any], int]:
    """The state once the main model's breaker is open, and when it opened."""
    state, at = tiered.begin(), 7 * SECOND
    for attempt in range(1, 6):
        state, _ = tiered.decide(state, Attempted(_view(attempt, now_us=at), refused(429)))
    assert state["breakers"]["m"][0] == "open"
    return state, at


def _view(
    attempts: int,
    *,
    channel: Channel = Channel.MODEL,
    target: str = "m",
    step: int = 1,
    now_us: int = 0,
) -> StepView:
    intent = Intent("i", channel, "m", SideEffect.READ, "d", "", "")
    return StepView(step, intent, "p", target, attempts, now_us, 600 * SECOND)
