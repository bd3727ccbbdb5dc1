"""`tiered`: the third seed whole, with its constants: retries by error type, breaker, levels.

What a production guide recommends today: a table of retries by error type, a circuit breaker, a
backup model, a cost cap and rules for calling a person. It keeps no ledger and never asks the
world: a write whose answer was lost is simply sent again. Where the seed's code has quirks, they
are kept and named here; where it says nothing, the choice is ours and marked so.
"""

from collections.abc import Mapping
from typing import Any

from hfr_bench.faults.draw import uniform
from hfr_bench.model.attempt import (
    Attempted,
    Decision,
    Observation,
    Proposed,
    StepView,
    StrategyEvent,
    Verified,
)
from hfr_bench.model.shared import Shared, SharedView
from hfr_bench.model.terms import Action, Channel, Rung
from hfr_bench.recovery.ladder import next_equal
from hfr_bench.recovery.plain import ACCEPT, DISPATCH, Plain, State

TIMEOUT, RATE_LIMIT, SERVER = "timeout", "rate_limit", "server_error"
SCHEMA, AUTH, EMPTY = "schema_violation", "auth_error", "empty_response"

# RetryStrategy.CONFIGS: retries, base and longest delay in us. What it does not list is treated as
# a server error (its `get`), an empty answer and a bad request among them.
RETRIES: Mapping[str, tuple[int, int, int]] = {
    TIMEOUT: (3, 500_000, 5_000_000),
    RATE_LIMIT: (5, 60_000_000, 300_000_000),
    SERVER: (2, 2_000_000, 10_000_000),
    SCHEMA: (2, 0, 0),
    AUTH: (0, 0, 0),
}
JITTER = 0.3

# LLMCircuitBreaker.__init__
FAILURES = 5
WINDOW_US = COOLDOWN_US = 300_000_000
LONG_COOLDOWN_US = 900_000_000

# HumanEscalationPolicy.ESCALATION_TRIGGERS
MOST_TOOL_FAILURES = 3
MOST_RETRIES = 5
LEAST_CONFIDENCE = 0.4
MOST_TIMES_MEDIAN = 10
RUNAWAY = Decision(Action.ESCALATE, "ten times the usual cost")

CLOSED, OPEN, HALF_OPEN = "closed", "open", "half_open"
Breaker = list[Any]
"""state, failures, last failure (us), last change (us), times reopened: a list, being JSON."""
NEW: Breaker = [CLOSED, 0, 0, 0, 0]


class Tiered(Plain):
    """Retries by error type, a breaker a model, a backup model, a cap on cost, then a person.

    Layers, from the inside out. (1) Every call is retried by the table above, with
    min(base * 2^n, longest) and up to 30 % more; a stated Retry-After is not read, nor a deadline.
    (2) Every failed attempt of a model counts with its breaker; while that is open the model is
    not called (ours: and no retry is waited for). (3) A timeout or rate limit of the main model
    that outlives its retries, or its open breaker, leads to the backup model, which is retried by
    the same table; then to a cache and a rule engine, of which none is registered; then to a
    person. Any other error of the main model is not caught there and ends the task, as the seed's
    `except` has it (`degrade_on_any` reads its drawing instead: any failure goes down). A tool's
    failure goes to the agent (ours: the seed counts them and goes on). (4) A person is called at
    the third failed tool call, at five retries in a row with no success between, above ten times
    the registered median cost, and for a breach of permission (403). Confidence below 0.4 counts
    too, but nothing here states one unless a verdict does.

    `max_cost_usd`: no model call goes out that would pass it, estimated at what the last one cost
    (ours); the seed raises there, so the task fails. `median_cost_usd`: 0 = not known, never asked.
    Not rebuilt: the prompt that a retry rewrites (a strategy does not write prompts), the growing
    number of workers (a trial has one), checkpoints (the harness makes them).

    State: what is counted above, and the breakers by model.
    """

    name = "tiered"
    defaults: Mapping[str, Any] = {
        "max_cost_usd": 1.0,
        "median_cost_usd": 0.0,
        "degrade_on_any": False,
    }

    def begin(self) -> State:
        return {
            "step": 0,
            "target": "",
            "failed": 0,
            "retries": 0,
            "tool_failures": 0,
            "cost": 0,
            "last_cost": 0,
            "breakers": {},
        }

    def begin_with(self, shared: Shared) -> State:
        """In a cohort: with the breakers of the trials before; the seed has one a model."""
        return {**self.begin(), "breakers": dict(shared.get("breaker") or {})}

    def carry(self, state: State) -> Shared:
        return {"breaker": state["breakers"] or None}

    def commons(self, state: State, now_us: int) -> SharedView:
        return SharedView(
            {
                f"model:{model}": changed_us + (LONG_COOLDOWN_US if reopened else COOLDOWN_US)
                for model, (at, _, _, changed_us, reopened) in state["breakers"].items()
                if at != CLOSED
            }
        )

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        if isinstance(event, Attempted):
            return self._attempted(_charged(state, event), event)
        if isinstance(event, Proposed):
            return self._proposed(state, event.view)
        if isinstance(event, Verified) and event.verdict.quality < LEAST_CONFIDENCE:
            return state, Decision(Action.ESCALATE, "confidence below 0.4")
        return super().decide(state, event)

    def _proposed(self, state: State, view: StepView) -> tuple[State, Decision]:
        if view.intent.channel is not Channel.MODEL:
            return state, DISPATCH
        if self._runs_away(state):
            return state, RUNAWAY
        if state["cost"] + state["last_cost"] > self._config["max_cost_usd"] * 1_000_000:
            return state, Decision(Action.FAIL, "the task's cost cap is reached")
        known = state["breakers"].get(view.target)
        if known is None:
            return state, DISPATCH
        breaker, allowed = allows(known, view.now_us)
        state = _with_breaker(state, view.target, breaker)
        return state, DISPATCH if allowed else self._down(state, view, "its breaker is open")

    def _attempted(self, state: State, event: Attempted) -> tuple[State, Decision]:
        view, seen = event.view, event.observation
        model = view.intent.channel is Channel.MODEL
        if seen.answered:
            state = _succeeded(state, view.target)
            if not (model and _is_empty(seen)):
                return ({**state, "retries": 0} if state["retries"] else state), ACCEPT
        same = (state["step"], state["target"]) == (view.step, view.target)
        failed = state["failed"] + 1 if same else 1
        state = {**state, "step": view.step, "target": view.target, "failed": failed}
        if model and not seen.answered:
            breaker = count_failure(state["breakers"].get(view.target, NEW), view.now_us)
            state = _with_breaker(state, view.target, breaker)
        return self._failed(state, view, seen)

    def _failed(self, state: State, view: StepView, seen: Observation) -> tuple[State, Decision]:
        kind, failed = error_type(seen), state["failed"]
        if seen.status == 403:
            return state, Decision(Action.ESCALATE, "a breach of permission")
        most, base_us, longest_us = RETRIES.get(kind, RETRIES[SERVER])
        is_open = state["breakers"].get(view.target, NEW)[0] == OPEN
        if failed <= most and not is_open:
            u = uniform("jitter", *self._kit.chance_key, view.step, view.attempts)
            wait_us = delay_us(failed - 1, base_us, longest_us, u)
            after = {**state, "retries": state["retries"] + 1}
            return after, Decision(Action.RETRY, kind, delay_us=wait_us, debit=1)
        if view.intent.channel is Channel.TOOL:
            state = {**state, "tool_failures": state["tool_failures"] + 1}
            return state, self._person(state) or Decision(Action.REPLAN, f"{kind}: to the agent")
        caught = self._config["degrade_on_any"] or is_open or kind in (TIMEOUT, RATE_LIMIT)
        if caught or view.target != view.intent.target:
            return state, self._down(state, view, kind)
        return state, self._person(state) or Decision(Action.FAIL, f"{kind}: nobody catches it")

    def _down(self, state: State, view: StepView, why: str) -> Decision:
        """GracefulAgent: the backup model once a step; no cache, no rules; a person."""
        main = view.intent.target
        other = next_equal(main, (main,), self._kit.substitutes) if view.target == main else None
        if other is not None and allows(state["breakers"].get(other, NEW), view.now_us)[1]:
            rung = Rung.SAME_TIER
            return Decision(Action.DEGRADE_MODEL, why, substitute=other, rung=rung)
        return Decision(Action.ESCALATE, f"{why}: no level is left")

    def _person(self, state: State) -> Decision | None:
        """HumanEscalationPolicy.should_escalate, asked once the inner layers have given up."""
        if state["tool_failures"] >= MOST_TOOL_FAILURES:
            return Decision(Action.ESCALATE, "three tool calls have failed")
        if state["retries"] >= MOST_RETRIES:
            return Decision(Action.ESCALATE, "five retries in a row")
        return RUNAWAY if self._runs_away(state) else None

    def _runs_away(self, state: State) -> bool:
        median = self._config["median_cost_usd"] * 1_000_000
        return bool(median) and state["cost"] > MOST_TIMES_MEDIAN * median


def delay_us(retry: int, base_us: int, longest_us: int, u: float) -> int:
    """min(base * 2^retry, longest) + U(0, 0.3 of it); `retry` from 0, `u` in [0, 1)."""
    delay: int = min(base_us * 2**retry, longest_us)
    return delay + int(JITTER * delay * u)


def error_type(seen: Observation) -> str:
    """The seed's names for what came back."""
    status = seen.status
    if seen.answered:
        return EMPTY
    if status == 408 or "Timeout" in (seen.exception or ""):
        return TIMEOUT
    if status == 429:
        return RATE_LIMIT
    if status in (401, 403):
        return AUTH
    return SCHEMA if status == 200 or seen.schema_error else SERVER


# -- the breaker: LLMCircuitBreaker, method by method ----------------------------------------------


def allows(breaker: Breaker, now_us: int) -> tuple[Breaker, bool]:
    """`can_execute`. Quirk: half-open lets everything through, not one probe."""
    state, failures, last_us, changed_us, reopened = breaker
    if state != OPEN:
        return breaker, True
    if now_us - changed_us > (LONG_COOLDOWN_US if reopened else COOLDOWN_US):
        return [HALF_OPEN, failures, last_us, changed_us, reopened], True
    return breaker, False


def count_failure(breaker: Breaker, now_us: int) -> Breaker:
    """`record_failure`.

    Quirks: the window runs from the last failure, so that five, each within 300 s of the one
    before, open it, however long all of them take. And as the cooldown is as long as the window,
    the count is back at 0 when a probe fails: it takes five failures to open again.
    """
    state, failures, last_us, changed_us, reopened = breaker
    failures = 1 if now_us - last_us > WINDOW_US else failures + 1
    if failures < FAILURES:
        return [state, failures, now_us, changed_us, reopened]
    return [OPEN, failures, now_us, now_us, reopened + (state == HALF_OPEN)]


# -- state -----------------------------------------------------------------------------------------


def _charged(state: State, event: Attempted) -> State:
    """BudgetCircuitBreaker.record_usage: model calls only; an unknown price counts as nothing."""
    cost = event.observation.cost_microusd
    if not cost or event.view.intent.channel is not Channel.MODEL:
        return state
    return {**state, "cost": state["cost"] + cost, "last_cost": cost}


def _with_breaker(state: State, target: str, breaker: Breaker) -> State:
    return {**state, "breakers": {**state["breakers"], target: breaker}}


def _succeeded(state: State, target: str) -> State:
    """`record_success`: closed, with nothing counted, which a new one is as well."""
    if target not in state["breakers"]:
        return state
    others = {model: b for model, b in state["breakers"].items() if model != target}
    return {**state, "breakers": others}


def _is_empty(seen: Observation) -> bool:
    """`classify_model_error`: no content (ours: and no tool call, which is content enough)."""
    message = seen.payload
    if not isinstance(message, Mapping):
        return False
    return not message.get("content") and not message.get("tool_calls")
