"""The two recorders of the onion: the outer logs what the strategy saw, the inner the truth.

    agent -> guard -> Seen -> injector -> WorldTools (truth) -> world
                      Seen -> client ~~ gateway (injector, truth) ~~ model server

Truth records are queued by whoever knows them (also from the gateway's thread, always before
the answer) and written by the trial's own thread, so that one file has one writer.
"""

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from hfr_bench.errors import ProviderError
from hfr_bench.lab.levels import observed, refined
from hfr_bench.lab.underway import Lookout, UnderwayCall
from hfr_bench.model.attempt import Call, Decision, Observation, StrategyEvent, Truth
from hfr_bench.model.ledger import LedgerEntry
from hfr_bench.model.record import json_digest, text_digest
from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.signs import signs
from hfr_bench.model.task import TaskSpec, ToolSpec
from hfr_bench.model.terms import Channel, ClockKind, Layer, LedgerState, SideEffect
from hfr_bench.model.trace import (
    AttemptEnded,
    AttemptStarted,
    Body,
    Decided,
    EffectExecuted,
    FaultInjected,
    LedgerMoved,
    UpstreamHit,
)
from hfr_bench.model.web import WebHit
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.clock import Clock
from hfr_bench.ports.exposure import Exposed
from hfr_bench.ports.sink import Sink
from hfr_bench.ports.suite import Execution, Suite, World

CRASH = "runtime_crash"
"""The fault kind that ends the runtime under test (DESIGN §6)."""

TOOL_LAYERS = (Layer.TOOL, Layer.ENVIRONMENT, Layer.SEMANTIC)
"""Faults that a tool's call may meet: its own, those around it, and those in its answer."""


class TruthQueue:
    """Where truth is queued until the trial's thread writes it down.

    Also answers three questions about the last attempt: what stall the gateway announced, whether
    the runtime under test died of it, and (for arms equipped with `truth`) what really happened.
    """

    def __init__(self, events: Mapping[str, FaultEvent]) -> None:
        self._events = events
        self._queue: deque[Body] = deque()
        self._announced_us = 0
        self._landed: bool | None = None
        self._clears_by: str | None = None
        self.organic = False
        self.crashed = False

    def tell(self, body: Body) -> None:
        """Queue a truth record; safe from any thread."""
        match body:
            case UpstreamHit():
                self._announced_us = body.stall_us
                self.organic = self.organic or body.organic
                self._live(body.injection_id)
            case WebHit(injection_id=str()):
                self._live(body.injection_id)
            case FaultInjected():
                self._live(body.injection_id)
                self.crashed = self.crashed or body.kind == CRASH
                # Told before the call itself runs, and after what was held back has landed.
                self._landed = True if body.effect_lands else None
            case EffectExecuted():
                self._landed = is_effect(body)
            case _:
                pass
        self._queue.append(body)

    def take_announced_us(self) -> int:
        """The stall of the last closed connection, once."""
        announced, self._announced_us = self._announced_us, 0
        return announced

    def begin_attempt(self) -> None:
        self._landed, self._clears_by, self._announced_us = None, None, 0
        self.crashed = False

    def truth(self) -> Truth:
        return Truth(self._landed, self._clears_by)

    def drain(self, sink: Sink, step: int = 0, attempt: int = 0) -> None:
        """Write down what is queued; outside any step it came too late for the attempt it is of."""
        while self._queue:
            sink.write(self._queue.popleft(), step=step, attempt=attempt)

    def _live(self, injection_id: str | None) -> None:
        event = self._events.get(injection_id or "")
        self._clears_by = event.clears_by if event else None


@dataclass(slots=True)
class Sums:
    """What a trial adds up to. `attempts`: the agent's; `reads`: made for the strategy.

    `ambiguous`: numbers of the agent's write steps of which an attempt got no answer.
    """

    attempts: int = 0
    reads: int = 0
    cost_microusd: int | None = 0
    tokens_in: int = 0
    tokens_out: int = 0
    injected_wait_us: int = 0
    ambiguous: set[int] = field(default_factory=set)

    def charge(self, microusd: int | None) -> None:
        """Add a cost; one unknown price makes the sum unknown (never zero)."""
        if self.cost_microusd is not None:
            self.cost_microusd = None if microusd is None else self.cost_microusd + microusd


class Seen:
    """Logs each attempt as the strategy sees it, charges it, and adds it up."""

    def __init__(
        self,
        inner: CallPort,
        sink: Sink,
        truth: TruthQueue,
        clock: Clock,
        sums: Sums,
        tool_cost_microusd: int,
        *,
        sizes: bool = False,
    ) -> None:
        """`sizes`: write down how large each request is; for model calls."""
        self._inner = inner
        self._sink = sink
        self._truth = truth
        self._clock = clock
        self._sums = sums
        self._tool_cost = tool_cost_microusd
        self._sizes = sizes

    def attempt(self, call: Call) -> Observation:
        started = _started(call, request_size(call.payload) if self._sizes else 0)
        self._sink.write(started, step=call.step, attempt=call.attempt)
        self._truth.begin_attempt()
        began_us = self._clock.now_us()
        seen = self._inner.attempt(call)
        latency_us = self._clock.now_us() - began_us
        cost = self._tool_cost if call.channel is Channel.TOOL else seen.cost_microusd
        seen = replace(seen, latency_us=latency_us, cost_microusd=cost)
        self._truth.drain(self._sink, call.step, call.attempt)
        if self._truth.organic:
            raise ProviderError(
                f"the model server did not answer at {call.point}: an organic error"
            )
        self._sink.write(_ended(seen), step=call.step, attempt=call.attempt)
        self._add(call, seen)
        return seen

    def _add(self, call: Call, seen: Observation) -> None:
        sums = self._sums
        sums.attempts += call.purpose == "agent"
        sums.reads += call.purpose != "agent"
        sums.charge(seen.cost_microusd)
        sums.tokens_in += seen.tokens_in
        sums.tokens_out += seen.tokens_out
        if not seen.answered:
            sums.injected_wait_us += seen.latency_us
            if (
                call.intent is not None
                and call.intent.level.writes
                and seen.exception
                and seen.sent
            ):
                sums.ambiguous.add(call.step)


class WorldTools:
    """The innermost port of the tool onion: runs the tool for real, and records that it ran."""

    def __init__(
        self,
        world: World,
        task: TaskSpec,
        truth: TruthQueue,
        clock: Clock,
        latency_us: int,
        suite: Suite | None = None,
    ) -> None:
        """`suite`: asked for the level of each call, where it is one whose tools' levels vary."""
        self._suite = suite
        self._world = world
        self._task = task
        self._truth = truth
        self._clock = clock
        self._latency_us = latency_us

    def attempt(self, call: Call) -> Observation:
        return self._written(call, self._execute(call))

    def start(self, call: Call) -> UnderwayCall:
        """Begin the call beside this thread, in a container that may be broken meanwhile."""
        assert isinstance(self._world, Exposed)
        return UnderwayCall(
            call,
            partial(self._execute, call),
            partial(self._written, call),
            Lookout(self._world, call.operation_id, self._truth.tell, self._clock),
        )

    def _execute(self, call: Call) -> Execution:
        actor = "agent" if call.purpose == "agent" else "strategy"
        return self._world.execute(
            call.target, call.payload, actor=actor, operation_id=call.operation_id
        )

    def _written(self, call: Call, done: Execution) -> Observation:
        """Charge and write down what ran; its answer."""
        spec = self._task.tool(call.target) or ToolSpec(name=call.target, level=SideEffect.READ)
        if self._clock.kind is ClockKind.VIRTUAL:
            self._clock.wait(self._latency_us)
        self._truth.tell(
            EffectExecuted(
                operation_id=call.operation_id,
                point=call.point,
                tool=call.target,
                actor="agent" if call.purpose == "agent" else "strategy",
                level=self._level(spec, call, done.changed),
                natural_key=done.key or spec.natural_key(call.payload),
                args_digest=json_digest(dict(call.payload)),
                domain_error=done.observation.domain_error,
                changed=done.changed,
                response_digest=text_digest(done.observation.body),
            )
        )
        return done.observation

    def _level(self, spec: ToolSpec, call: Call, changed: tuple[str, ...]) -> SideEffect:
        if self._suite is None:
            return spec.level
        level = refined(self._suite, spec, call.payload).level
        return observed(self._suite, level, changed)


def is_effect(executed: EffectExecuted) -> bool:
    """An execution that changed the world; at R3 nobody can look, so success counts as one."""
    if executed.level is SideEffect.IRREVERSIBLE:
        return not executed.domain_error
    return executed.level.writes and bool(executed.changed)


def request_size(payload: Mapping[str, Any]) -> int:
    """Bytes of a model request, the model's name left out."""
    rest = {key: value for key, value in payload.items() if key != "model"}
    text = json.dumps(rest, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode(errors="surrogatepass"))


def _started(call: Call, size: int) -> AttemptStarted:
    intent = call.intent
    return AttemptStarted(
        point=call.point,
        occurrence=call.occurrence,
        channel=call.channel,
        target=call.target,
        purpose=call.purpose,
        timeout_us=call.timeout_us,
        intent_id=intent.intent_id if intent else "",
        key=intent.key if intent else "",
        stepless_key=intent.stepless_key if intent else "",
        level=intent.level if intent else SideEffect.READ,
        request_digest=intent.args_digest if intent else json_digest(dict(call.payload)),
        operation_id=call.operation_id,
        request_size=size,
    )


def _ended(seen: Observation) -> AttemptEnded:
    return AttemptEnded(
        answered=seen.answered,
        sent=seen.sent,
        status=seen.status,
        exception=seen.exception,
        domain_error=seen.domain_error,
        response_digest="" if seen.exception else text_digest(seen.body),
        retry_after=seen.headers.get("retry-after"),
        returned_model=seen.returned_model,
        finish_reason=seen.finish_reason,
        tokens_in=seen.tokens_in,
        tokens_out=seen.tokens_out,
        cost_microusd=seen.cost_microusd,
        latency_us=seen.latency_us,
        exit_code=seen.exit_code,
        signs=signs(seen.body) if seen.domain_error or seen.exit_code else (),
    )


def decided_body(event: StrategyEvent, decision: Decision) -> Decided:
    """A decision as a trace body."""
    fault, budget = decision.fault, decision.budget
    return Decided(
        on=type(event).__name__,
        action=decision.action,
        reason=decision.reason,
        fault_class=fault.fault_class if fault else None,
        confidence=fault.confidence if fault else None,
        evidence=fault.evidence if fault else "",
        delay_us=decision.delay_us,
        substitute=decision.substitute,
        rung=decision.rung,
        check=decision.check,
        debit=decision.debit,
        step_left=budget.step_left,
        task_left=budget.task_left,
        deadline_left_us=budget.deadline_left_us,
    )


def ledger_body(entry: LedgerEntry, before: LedgerState | None) -> LedgerMoved:
    """A ledger move as a trace body."""
    return LedgerMoved(
        key=entry.key,
        stepless_key=entry.stepless_key,
        tool=entry.tool,
        level=entry.level,
        before=before,
        after=entry.state,
        evidence=entry.evidence,
        lease=entry.lease,
        fencing=entry.fencing,
        expires_us=entry.expires_us,
        operation_id=entry.operation_id,
    )
