"""One trial's tool boundary: each call meets its planned event, or goes on to the world.

Calls that are held back (`Late`) land between attempts, in nobody's time: whoever looks at the
world does so through this boundary, so it is enough to let them land before it is looked at.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hfr_bench.errors import InfrastructureError
from hfr_bench.faults.shape import CLOSED, TIMEOUT, wire
from hfr_bench.injectors._edits import altered
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.effects import Alter, Forget, Late, Stale
from hfr_bench.model.record import json_digest
from hfr_bench.model.schedule import Close, FaultEvent, Own, Respond, Stall
from hfr_bench.model.trace import FaultInjected
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.clock import untimed
from hfr_bench.ports.injector import Scene

DIALECT = "tool"
_RPC = '"jsonrpc"'


@dataclass(slots=True)
class _Held:
    """A call on its way. `due_us` None: it lands once its write has been `retried`."""

    call: Call
    due_us: int | None
    retried: bool = False

    def is_due(self, now_us: int) -> bool:
        return self.retried if self.due_us is None else now_us >= self.due_us


@dataclass(slots=True)
class Boundary:
    """Implements `CallPort` for one trial. Only one thread uses it.

    `holds_back`: the schedule may hold back calls, so that it must be drained.
    """

    inner: CallPort
    scene: Scene
    holds_back: bool = field(init=False)
    _remembers: bool = field(init=False)
    _held: list[_Held] = field(default_factory=list)
    _answers: dict[tuple[str, str], list[Observation]] = field(default_factory=dict)
    _first_us: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = self.scene.kinds
        named = {event.kind for event in self.scene.cursor.events}
        effects = [kinds[name].wire.get(DIALECT) for name in named if name in kinds]
        self.holds_back = any(isinstance(effect, Late) for effect in effects)
        self._remembers = any(isinstance(effect, Stale) for effect in effects)

    def attempt(self, call: Call) -> Observation:
        """One attempt, and around it what others have held back."""
        now_us = self.scene.clock.now_us()
        if self._held:
            self._land(now_us)
        event = self.scene.cursor.at(
            call.point, call.occurrence, call.attempt, target=call.target, now_us=now_us
        )
        if event is not None and DIALECT not in self.scene.kinds[event.kind].wire:
            event = None  # of another injector, further in
        waiting = tuple(self._held)
        others = event is not None and isinstance(self._stated(event), Own)
        seen = self._run(call) if event is None or others else self._meet(event, call)
        if waiting:
            self._retried(call, waiting)
        return seen

    def drain(self) -> None:
        """All that is still held back lands, in the order in which it was sent."""
        while self._held:
            self._let(self._held[0])

    # -- what an event does -------------------------------------------------------------------

    def _meet(self, event: FaultEvent, call: Call) -> Observation:
        """The kind's effect in place of, around or (where it lands) after the real call."""
        kind = self.scene.kinds[event.kind]
        effect = wire(event, kind, DIALECT)
        match effect:
            case Respond():
                self._tell(event)
                self.scene.clock.wait(kind.latency_ms * 1000)
                return _answer(effect)
            case Close() | Stall():
                self._tell(event)
                stall_s = effect.stall_s if isinstance(effect, Stall) else 0
                return self._silence(call, stall_s, runs=effect.forward)
            case Alter():
                self._tell(event)
                seen = self._run(call)
                text = _filled(effect.text, event)
                return _with(seen, altered(effect.edit, seen.body, event.injection_id, text))
            case Stale():
                return self._stale(event, call)
            case Late():
                return self._late(event, effect, call)
            case Forget():
                return self._forget(event, effect, call)
        raise InfrastructureError(
            f"kind {event.kind}: {effect.type} is no effect of the tool boundary; its `wire.tool` "
            "must be one of those in docs/faults.md"
        )

    def _stated(self, event: FaultEvent) -> object:
        """The effect as its kind states it. A plugin's own was played around this boundary."""
        return self.scene.kinds[event.kind].wire.get(DIALECT)

    def _silence(self, call: Call, stall_s: float, *, runs: bool) -> Observation:
        """No answer, whether the call runs or not: both look and last the same."""
        clock = self.scene.clock
        began_us = clock.now_us()
        if runs:
            self._run(call)
        stall_us = round(stall_s * 1_000_000)
        spent_us = clock.now_us() - began_us
        clock.wait(max(0, min(stall_us, call.timeout_us) - spent_us))
        hangs = stall_us > 0 and stall_us >= call.timeout_us
        return Observation(answered=False, exception=TIMEOUT if hangs else CLOSED)

    def _stale(self, event: FaultEvent, call: Call) -> Observation:
        """The last earlier answer to this read that was another; without one, the true answer."""
        earlier = tuple(self._answers.get(_asked(call), ()))
        seen = self._run(call)
        if event.effect_lands is False or not seen.answered:
            return seen
        old = next((one for one in reversed(earlier) if one.body != seen.body), None)
        if old is None:
            return seen
        self._tell(event)
        return old

    def _late(self, event: FaultEvent, effect: Late, call: Call) -> Observation:
        self._tell(event, lands=True)
        due_us = None
        if effect.after_s is not None:
            due_us = self.scene.clock.now_us() + round(effect.after_s * 1_000_000)
        self._held.append(_Held(call, due_us))
        return self._silence(call, effect.stall_s, runs=False)

    def _forget(self, event: FaultEvent, effect: Forget, call: Call) -> Observation:
        """Lost but landed at first; from the key's end on, without the key."""
        now_us = self.scene.clock.now_us()
        first = event.injection_id not in self._first_us
        first_us = self._first_us.setdefault(event.injection_id, now_us)
        if now_us - first_us >= round(effect.ttl_s * 1_000_000):
            call = without_key(call)
        if first:
            self._tell(event, lands=True)
            return self._silence(call, effect.stall_s, runs=True)
        return self._run(call)

    # -- the world ----------------------------------------------------------------------------

    def _run(self, call: Call) -> Observation:
        """The real call; its answer is remembered where one may have to be stale later."""
        seen = self.inner.attempt(call)
        if self._remembers and seen.answered:
            self._answers.setdefault(_asked(call), []).append(seen)
        return seen

    def _land(self, now_us: int) -> None:
        for one in [held for held in self._held if held.is_due(now_us)]:
            self._let(one)

    def _retried(self, call: Call, waiting: tuple[_Held, ...]) -> None:
        """Whatever waited for another attempt of its write lands behind it."""
        intent = call.intent
        if intent is None:
            return
        for held in waiting:
            sent = held.call.intent
            same = sent is not None and sent.stepless_key == intent.stepless_key
            if held.due_us is None and same and held in self._held:
                held.retried = True
                self._let(held)

    def _let(self, held: _Held) -> None:
        self._held.remove(held)
        with untimed(self.scene.clock):
            self._run(replace(held.call, attempt=0))  # outside any: it meets no event now

    def _tell(self, event: FaultEvent, *, lands: bool | None = None) -> None:
        self.scene.tell(
            FaultInjected(
                injection_id=event.injection_id,
                kind=event.kind,
                effect_lands=event.effect_lands if lands is None else lands,
            )
        )


def without_key(call: Call) -> Call:
    """The call as the agent meant it: without the idempotency key that the ledger added.

    That argument is the one without which the rest is what the intent's digest is of.
    """
    payload, intent = call.payload, call.intent
    if intent is None or json_digest(dict(payload)) == intent.args_digest:
        return call
    for name in payload:
        rest = {key: value for key, value in payload.items() if key != name}
        if json_digest(rest) == intent.args_digest:
            return replace(call, payload=rest)
    return call


def _filled(text: str, event: FaultEvent) -> str:
    for name, value in event.params.items():
        text = text.replace("{" + name + "}", str(value))
    return text


def _answer(effect: Respond) -> Observation:
    return Observation(
        answered=False,
        status=effect.status,
        headers={name.lower(): value for name, value in effect.headers.items()},
        body=effect.body,
        rpc_code=_rpc_code(effect.body) if _RPC in effect.body else None,
    )


def _rpc_code(body: str) -> int | None:
    """The code of a JSON-RPC error, as an MCP client reports it."""
    try:
        found: Any = json.loads(body)
    except ValueError:
        return None
    error = found.get("error") if isinstance(found, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) else None


def _with(seen: Observation, body: str) -> Observation:
    """The same answer with another body; its payload is parsed where the true one was."""
    payload: Any = body
    if isinstance(seen.payload, Mapping | list):
        try:
            payload = json.loads(body)
        except ValueError:
            payload = body
    return replace(seen, body=body, payload=payload)


def _asked(call: Call) -> tuple[str, str]:
    return call.target, json_digest(dict(call.payload))
