"""The user played by a model: tau2's scenario, our wording around it, its own tools by `act`.

Its calls go straight to the model server: no gateway, no strategy, no fault, no charge to the arm.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hfr_bench.errors import BadInputError, ProviderError
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.terms import Channel, ClockKind
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.llm import LlmBackend, ModelScope
from hfr_bench.ports.suite import UserAct
from hfr_bench.ports.user import UserTurn

STOPS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
GREETING = "Hi! How can I help you today?"
CALLS_MAX = 30
"""Tool calls in one turn of the user; a model that goes on for ever plays no user."""

PROMPT = """\
You play a customer who talks to a customer service agent. Never say that you are a model.

- Write one short message at a time, as people do. Tell the agent only what it needs next.
- Keep to the scenario. Make up nothing that it does not say; what you do not know, say so.
- Do not quote the scenario; use your own words.
- If you have tools, they are your own device: use them when the agent asks for it, one at a
  time, and report truly what they answered. Never claim an action that you have not taken.
- When your goal in the scenario is met, end your message with ###STOP###.
- When the agent hands you over to a person, answer with ###TRANSFER###.
- When the scenario does not tell enough to go on, answer with ###OUT-OF-SCOPE###.

Scenario:
"""


class UserLostError(ProviderError):
    """The user's model did not answer as one can: the trial measures nothing."""


class LlmUser:
    """Implements `ports.user.User`. `cost_microusd`: what it has cost so far; None = unknown."""

    def __init__(
        self,
        port: CallPort,
        model: str,
        timeout_s: float,
        scenario: str,
        tools: Sequence[Mapping[str, Any]],
        act: UserAct,
    ) -> None:
        self._port = port
        self._model = model
        self._timeout_us = round(timeout_s * 1e6)
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": PROMPT + scenario}]
        self._tools = [_offered(tool) for tool in tools]
        self._names = frozenset(str(tool["name"]) for tool in tools)
        self._act = act
        self._calls = 0
        self.cost_microusd: int | None = 0

    def open(self) -> UserTurn:
        return self.reply(GREETING)

    def reply(self, text: str) -> UserTurn:
        """What the user says. To its model the agent is the `user`. Raises UserLostError."""
        self._messages.append({"role": "user", "content": text})
        for _ in range(CALLS_MAX):
            message = self._ask()
            self._messages.append(message)
            calls = message.get("tool_calls")
            if not calls:
                said = (message.get("content") or "").strip()
                if not said:
                    raise UserLostError(f"the user's model {self._model} said nothing")
                return UserTurn(said, over=any(stop in said for stop in STOPS))
            for call in calls:
                done = self._run(call["function"])
                self._messages.append({"role": "tool", "tool_call_id": call["id"], "content": done})
        raise UserLostError(f"the user's model {self._model} made {CALLS_MAX} rounds of tool calls")

    def _ask(self) -> dict[str, Any]:
        self._calls += 1
        payload: dict[str, Any] = {"messages": list(self._messages)}
        if self._tools:
            payload["tools"] = self._tools
        seen = self._port.attempt(
            Call(
                step=self._calls,
                point="model:user",
                occurrence=self._calls,
                attempt=1,
                channel=Channel.MODEL,
                target=self._model,
                timeout_us=self._timeout_us,
                payload=payload,
            )
        )
        self._charge(seen)
        if not seen.answered:
            what = seen.exception or f"HTTP {seen.status}"
            raise UserLostError(f"the user's model {self._model} did not answer: {what}")
        return dict(seen.payload)

    def _charge(self, seen: Observation) -> None:
        if self.cost_microusd is not None:
            cost = seen.cost_microusd
            self.cost_microusd = None if cost is None else self.cost_microusd + cost

    def _run(self, function: Mapping[str, Any]) -> str:
        """One of the user's own tools; what cannot be run is told to the model."""
        name = str(function["name"])
        if name not in self._names:
            return f"Error: you have no tool {name!r}"
        try:
            arguments = json.loads(function["arguments"] or "{}")
        except ValueError as error:
            return f"Error: the arguments could not be read: {error}"
        if not isinstance(arguments, dict):
            return "Error: the arguments must be an object"
        return self._act(name, arguments).body


class Cast:
    """Who plays the users of a suite: one model, for every task. Connected by a run only."""

    def __init__(self, model: str, timeout_s: float) -> None:
        self._model = model
        self._timeout_s = timeout_s
        self._client: Callable[[ModelScope], CallPort] | None = None

    def connect(self, backend: LlmBackend, upstream: str) -> None:
        """Where the model is to be had: the model server itself, never a gateway."""
        self._client = lambda scope: backend.client(upstream, scope)

    def user(
        self,
        suite: str,
        task_id: str,
        scenario: str,
        tools: Sequence[Mapping[str, Any]],
        act: UserAct,
    ) -> LlmUser:
        """A fresh user. Raises BadInputError outside a run, where there is no model."""
        if self._client is None:
            raise BadInputError("suite tau2: `user: llm` needs the model server of a live run")
        scope = ModelScope(suite, task_id, 0, _RealTime(), lambda: 0)
        port = self._client(scope)
        return LlmUser(port, self._model, self._timeout_s, scenario, tools, act)


class _RealTime:
    """The user lives outside trial time; its client needs to know only that time is real."""

    kind = ClockKind.WALL

    def now_us(self) -> int:
        return time.monotonic_ns() // 1000

    def wait(self, us: int) -> None:
        time.sleep(us / 1e6)


def _offered(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = {key: tool[key] for key in ("name", "description", "parameters")}
    return {"type": "function", "function": function}
