"""`litellm_router` and `litellm_completion`: litellm's two ways to retry, as they are.

Both retry model calls only. A failed tool call goes to the agent (REPLAN) at once, as in the usual
agent loop around them. Measured against litellm 1.110.2 over HTTP: tests/baselines/test_litellm.py.
"""

from collections.abc import Mapping
from typing import Any

from hfr_bench.baselines._rules import SECOND_US, completion_again
from hfr_bench.faults.draw import uniform
from hfr_bench.model.attempt import Attempted, Decision, Observation, StepView, StrategyEvent
from hfr_bench.model.terms import Action, Channel, Rung
from hfr_bench.recovery.ladder import next_equal
from hfr_bench.recovery.plain import Plain, State

LONGEST_TOLD_S = 60
JITTER_S = 0.75

_TO_AGENT = Decision(Action.REPLAN, "the error is shown to the agent")


class LitellmRouter(Plain):
    """`Router(num_retries=2)` with one deployment a model group, and `fallbacks` where registered.

    It retries no answer, 403, 408, 409, 429, 5xx and an answer that cannot be parsed, and nothing
    else: 400, 401, 404, 422, too long a context and a refusal are one hit. Waits: a stated whole
    number of seconds up to 60, else 0.5 s * 2^n up to 8 s; and up to 0.75 s more. With a ladder
    (equipment) the backup model is its fallback: after any error, and retried in the same way.

    As it is: 403 is tried again, and so is a 429 that says the account is empty
    (`insufficient_quota`); a stated wait of 0.5 s, or of more than 60, is not read; 529 is
    just another server error; after the last failure it waits once more before it gives up or
    falls back. Old releases used the first answer's Retry-After for every wait (litellm#20722);
    1.110 reads each anew. Not rebuilt: the cooldown of a deployment (5 s after a 401 or 404), which
    matters only to later calls.

    State: `step`, and `before`, the attempts made before the fallback took over.
    """

    name = "litellm_router"
    defaults: Mapping[str, Any] = {"num_retries": 2}

    def begin(self) -> State:
        return {"step": 0, "before": 0}

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        if isinstance(event, Attempted) and not event.observation.answered:
            return self._failed(state, event)
        return super().decide(state, event)

    def _failed(self, state: State, event: Attempted) -> tuple[State, Decision]:
        view, seen = event.view, event.observation
        if view.intent.channel is Channel.TOOL:
            return state, _TO_AGENT
        before = state["before"] if state["step"] == view.step else 0
        taken, most = view.attempts - before - 1, self._config["num_retries"]
        wait_us = 0
        if router_retries(seen) and most:
            u = uniform("jitter", *self._kit.chance_key, view.step, view.attempts)
            wait_us = router_wait_us(seen, taken, u)
            if taken < most:
                return state, Decision(Action.RETRY, delay_us=wait_us, debit=1)
        return {"step": view.step, "before": view.attempts}, self._fall_back(view, wait_us)

    def _fall_back(self, view: StepView, wait_us: int) -> Decision:
        main = view.intent.target
        other = next_equal(main, (main,), self._kit.substitutes) if view.target == main else None
        if other is None:
            return Decision(Action.FAIL, "the Router raises", delay_us=wait_us)
        why, rung = "the Router's fallback", Rung.SAME_TIER
        return Decision(Action.DEGRADE_MODEL, why, delay_us=wait_us, substitute=other, rung=rung)


class LitellmCompletion(Plain):
    """`litellm.completion(num_retries=2)`: every error is tried twice more, at once.

    A bad request, a wrong password and a refusal as well; a stated wait is not waited for.
    `through_sdk`: the model is OpenAI's, whose SDK litellm calls and hands `num_retries` to: then
    its own retries and waits come first, and a 429 makes five hits; without it, as for Anthropic's
    models, three. State: see `_rules.completion_again`.
    """

    name = "litellm_completion"
    defaults: Mapping[str, Any] = {"num_retries": 2, "through_sdk": False}

    def begin(self) -> State:
        return {"step": 0, "left": None, "since": 0}

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        if not isinstance(event, Attempted) or event.observation.answered:
            return super().decide(state, event)
        view, config = event.view, self._config
        if view.intent.channel is Channel.TOOL:
            return state, _TO_AGENT
        u = uniform("jitter", *self._kit.chance_key, view.step, view.attempts)
        return completion_again(state, event, config["num_retries"], config["through_sdk"], u)


def router_retries(seen: Observation) -> bool:
    """What the Router tries again."""
    status = seen.status
    return status is None or status in (200, 403, 408, 409, 429) or status >= 500


def router_wait_us(seen: Observation, retry: int, u: float) -> int:
    """`calculate_retry_after`; `retry` from 0, `u` in [0, 1)."""
    try:
        told_s = int(seen.headers.get("retry-after", ""))
    except ValueError:
        told_s = 0
    if not 0 < told_s <= LONGEST_TOLD_S:
        return round((min(0.5 * 2.0 ** min(retry, 1000), 8.0) + JITTER_S * u) * SECOND_US)
    return round((told_s + JITTER_S * u) * SECOND_US)
