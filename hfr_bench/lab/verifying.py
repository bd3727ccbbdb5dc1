"""Checks on what came back (paper §4.6): which levels are on offer, and who gives the verdict.

V0 of a tool, and V0 and V1 of a model's answer, are the guard's own and cost nothing. What lies
above is the suite's verifier, for arms equipped with it. V3 is a person's, whom the guard asks.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hfr_bench.lab.step import Progress
from hfr_bench.model.attempt import Observation, Verdict
from hfr_bench.model.record import canonical
from hfr_bench.model.task import TaskSpec
from hfr_bench.model.terms import Channel, CheckLevel
from hfr_bench.ports.agent import ToolRequest
from hfr_bench.ports.verifier import Answered, Check, Look, Verifier

V0, V1, V3 = CheckLevel.TRANSPORT, CheckLevel.DETERMINISTIC, CheckLevel.AUTHORITY
_ON_ARGUMENTS = (V0, V1)  # what can be said of a call that is not made yet

Levels = tuple[CheckLevel, ...]


@dataclass(slots=True)
class Checks:
    """One trial's checks. `verifier` None: the arm may use none, or the suite ships none."""

    verifier: Verifier | None
    task: TaskSpec
    history: list[Answered] = field(default_factory=list)
    _proposed: Levels = ()
    _answered: Levels = (V0,)
    _model: Levels = (V0,)

    def __post_init__(self) -> None:
        if self.verifier is None:
            return
        levels = tuple(level for level in self.verifier.levels if level is not V3)
        self._proposed = (*(level for level in levels if level in _ON_ARGUMENTS), V3)
        self._answered = (*dict.fromkeys((V0, *levels)), V3)
        self._model = (V0, V1)

    def offered(self, at: Progress) -> Levels:
        """The levels at which a step can be checked where it stands."""
        tool, last = at.step.intent.channel is Channel.TOOL, at.last
        if last is None:
            return self._proposed if tool and not at.attempts else ()
        if not last.answered:
            return ()
        return self._answered if tool else self._model

    def verdict(self, level: CheckLevel, at: Progress, look: Look) -> Verdict:
        """What a check of an offered level says; V3 is not given here."""
        seen = at.last
        if at.step.intent.channel is Channel.MODEL:
            assert seen is not None
            return _judged(level, _against_answer(level, seen, self.task))
        if self.verifier is not None and level in self.verifier.levels:
            payload, name = at.step.payload, at.target
            check = Check(name, payload, seen, self.history, look, at.before)
            return self.verifier.verify(level, check)
        return Verdict(level, passed=True)  # V0 of an answer that could be parsed

    def keep(self, at: Progress) -> None:
        """Remember an accepted answer of a tool, for later checks."""
        seen = at.last
        if self.verifier is None or seen is None or not seen.answered or seen.domain_error:
            return
        self.history.append(Answered(at.target, at.step.payload, seen.body))


def tool_request(call: Mapping[str, Any]) -> ToolRequest:
    """A tool call of the model's message; unreadable arguments are said, not raised."""
    function = call.get("function") or {}
    name, raw = str(function.get("name")), function.get("arguments") or "{}"
    try:
        arguments = json.loads(raw)
        canonical(arguments)  # keys are made of it: no NaN, no integers past 2**53
    except (ValueError, TypeError, RecursionError) as error:
        return ToolRequest(str(call.get("id")), name, {}, malformed=str(error))
    if not isinstance(arguments, dict):
        return ToolRequest(str(call.get("id")), name, {}, malformed="not an object")
    return ToolRequest(str(call.get("id")), name, arguments)


def _judged(level: CheckLevel, found: Iterator[str]) -> Verdict:
    reasons = tuple(found)
    return Verdict(level, passed=not reasons, quality=float(not reasons), reasons=reasons)


def _against_answer(level: CheckLevel, seen: Observation, task: TaskSpec) -> Iterator[str]:
    """Reasons against a model's answer: V0 it says nothing; V1 it calls what cannot be called."""
    message: Mapping[str, Any] = seen.payload if isinstance(seen.payload, Mapping) else {}
    calls = message.get("tool_calls") or ()
    if level is V0:
        if not calls and not message.get("content"):
            yield "the answer is empty"
        return
    for request in map(tool_request, calls):
        if task.tool(request.name) is None:
            yield f"unknown tool {request.name!r}"
        elif request.malformed:
            yield f"the arguments of {request.name} could not be read: {request.malformed}"
