"""The guarded runtime an agent is given: model, tools and user; steps are counted here."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hfr_bench.lab.guard import Guard
from hfr_bench.lab.levels import refined
from hfr_bench.lab.step import Step, StepResult
from hfr_bench.lab.verifying import tool_request
from hfr_bench.model.attempt import Intent, Observation
from hfr_bench.model.prereg import Limits, ModelPins
from hfr_bench.model.record import json_digest, text_digest
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import Action, Channel, End, SideEffect
from hfr_bench.model.trace import Said
from hfr_bench.ports.agent import Message, ModelReply, ToolReply, ToolRequest
from hfr_bench.ports.sink import Sink
from hfr_bench.ports.suite import Suite
from hfr_bench.ports.user import User, UserTurn
from hfr_bench.recovery.ledger import idempotency_key


class GuardedRuntime:
    """Implements `ports.agent.Runtime` over one trial's guard. `said`: all agent texts.

    `suite`: asked for the level of each call, where its tools' levels vary (`lab.levels`).
    """

    def __init__(
        self,
        guard: Guard,
        task: TaskSpec,
        user: User,
        sink: Sink,
        models: ModelPins,
        limits: Limits,
        tenant: str,
        suite: Suite | None = None,
    ) -> None:
        self.said: list[str] = []
        self._guard = guard
        self._task = task
        self._user = user
        self._sink = sink
        self._models = models
        self._limits = limits
        self._tenant = tenant
        self._suite = suite
        self._steps = 0
        self._turns = 0

    def model(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> ModelReply:
        payload: dict[str, Any] = {"messages": list(messages)}
        if tools:
            payload["tools"] = list(tools)
        number = self._next_step()
        self._turns += 1
        most = self._limits.max_turns
        if most is not None and self._turns > most:
            self._guard.stop(End.LIMIT, f"more than max_turns = {most} turns of the model")
        request = json_digest(payload)
        intent = Intent(
            intent_id=request[:16],
            channel=Channel.MODEL,
            target=self._models.agent,
            level=SideEffect.READ,
            args_digest=request,
            key="",
            stepless_key="",
        )
        timeout_us = round(self._limits.model_timeout_s * 1_000_000)
        result = self._guard.run(Step(number, intent, "model:agent", payload, timeout_us))
        if result.observation is None or not result.observation.answered:
            self._guard.stop(End.FAILED, "the strategy accepted a model call without an answer")
        return _reply(result.observation)

    def tool(self, request: ToolRequest) -> ToolReply:
        spec = self._task.tool(request.name)
        if spec is None:
            offered = ", ".join(t.name for t in self._task.tools)
            return ToolReply(f"Error: unknown tool {request.name!r}; there are: {offered}")
        if request.malformed:
            return ToolReply(f"Error: the arguments could not be read: {request.malformed}")
        if self._suite is not None:
            spec = refined(self._suite, spec, request.arguments)
        number = self._next_step()
        keyed = (self._tenant, self._task.task_id)
        stepless = idempotency_key(*keyed, None, spec.name, request.arguments)
        intent = Intent(
            intent_id=stepless[:16],
            channel=Channel.TOOL,
            target=spec.name,
            level=spec.level,
            args_digest=json_digest(dict(request.arguments)),
            key=idempotency_key(*keyed, number, spec.name, request.arguments),
            stepless_key=stepless,
        )
        timeout_us = round(self._limits.tool_timeout_s * 1_000_000)
        step = Step(number, intent, f"tool:{spec.name}", request.arguments, timeout_us, spec)
        result = self._guard.run(step)
        if result.action is Action.ACCEPT and not spec.level.writes and not _has_answer(result):
            self._guard.stop(End.FAILED, "the strategy accepted a read without an answer")
        return _tool_reply(result)

    def user_opens(self) -> UserTurn:
        return self._heard(self._user.open())

    def user_replies(self, text: str) -> UserTurn:
        self.said.append(text)
        self._sink.write(Said(who="agent", text_digest=text_digest(text), length=len(text)))
        return self._heard(self._user.reply(text))

    def _heard(self, turn: UserTurn) -> UserTurn:
        self._sink.write(
            Said(who="user", text_digest=text_digest(turn.text), length=len(turn.text))
        )
        return turn

    def _next_step(self) -> int:
        self._steps += 1
        if self._steps > self._limits.max_steps:
            self._guard.stop(End.LIMIT, f"more than max_steps = {self._limits.max_steps} steps")
        return self._steps


def _reply(seen: Observation) -> ModelReply:
    message: Mapping[str, Any] = seen.payload
    requests = tuple(tool_request(call) for call in message.get("tool_calls") or ())
    return ModelReply(message, message.get("content") or "", requests)


def _tool_reply(result: StepResult) -> ToolReply:
    seen = result.observation
    if result.action is Action.REPLAN:
        return ToolReply(failed_content(seen, result.reasons), failed=True)
    if seen is not None and _has_answer(result):
        return ToolReply(seen.body)
    return ToolReply(committed_content(result))


def _has_answer(result: StepResult) -> bool:
    seen = result.observation
    return seen is not None and seen.answered and result.read is None


def committed_content(result: StepResult) -> str:
    """What the agent is told of a write whose own answer was lost but which is known to be in."""
    told: dict[str, Any] = {"status": "committed", "note": "the call's own answer was lost"}
    if result.read is not None and result.read.answered:
        told["read_back"] = result.read.body
    return json.dumps(told)


def failed_content(observation: Observation | None, reasons: Sequence[str] = ()) -> str:
    """What the agent is told of a call that the runtime gave up on (REPLAN).

    `reasons`: why a check rejected it.
    """
    if reasons:
        error = {"type": "rejected", "message": f"A check rejected the call: {'; '.join(reasons)}"}
        return json.dumps({"error": error})
    status = observation.status if observation else None
    what = (observation.exception if observation else None) or f"HTTP {status}"
    return json.dumps({"error": {"type": "tool_failed", "message": f"The call failed: {what}"}})
