"""Faults at the tool boundary, in-process: between the two recorders, outside the world."""

from collections.abc import Mapping

from hfr_bench import content
from hfr_bench.faults.shape import CLOSED, TIMEOUT, wire
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.schedule import Close, FaultEvent, KindSpec, Respond, Stall
from hfr_bench.model.trace import FaultInjected
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.injector import Scene

DIALECT = "tool"


class ToolCallInjector:
    """Faults at the tool boundary. It never retries and never decides."""

    def __init__(self, specs: Mapping[str, KindSpec] | None = None) -> None:
        self._specs = content.kinds() if specs is None else specs

    def kinds(self) -> frozenset[str]:
        return frozenset(name for name, spec in self._specs.items() if DIALECT in spec.wire)

    def wrap(self, inner: CallPort, scene: Scene) -> CallPort:
        return _Faulty(inner, scene)

    def heal(self) -> None:
        """Nothing outlives a call here."""


class _Faulty:
    """The boundary of one trial, with its schedule."""

    def __init__(self, inner: CallPort, scene: Scene) -> None:
        self._inner = inner
        self._scene = scene

    def attempt(self, call: Call) -> Observation:
        scene = self._scene
        event = scene.cursor.at(
            call.point,
            call.occurrence,
            call.attempt,
            target=call.target,
            now_us=scene.clock.now_us(),
        )
        if event is None:
            return self._inner.attempt(call)
        scene.tell(
            FaultInjected(
                injection_id=event.injection_id, kind=event.kind, effect_lands=event.effect_lands
            )
        )
        return self._play(event, call)

    def _play(self, event: FaultEvent, call: Call) -> Observation:
        """The kind's effect in place of (or, where it lands, after) the real call."""
        clock, kind = self._scene.clock, self._scene.kinds[event.kind]
        began_us = clock.now_us()
        effect = wire(event, kind, DIALECT)
        match effect:
            case Respond():
                clock.wait(kind.latency_ms * 1000)
                return Observation(
                    answered=False,
                    status=effect.status,
                    headers={k.lower(): v for k, v in effect.headers.items()},
                    body=effect.body,
                )
            case Close() | Stall():
                if effect.forward:
                    self._inner.attempt(call)
                stall_us = int(effect.stall_s * 1_000_000) if isinstance(effect, Stall) else 0
                spent_us = clock.now_us() - began_us
                clock.wait(max(0, min(stall_us, call.timeout_us) - spent_us))
                hangs = isinstance(effect, Stall) and stall_us >= call.timeout_us
                return Observation(answered=False, exception=TIMEOUT if hangs else CLOSED)
