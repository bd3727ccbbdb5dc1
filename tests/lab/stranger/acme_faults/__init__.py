"""Faults of a stranger's: two kinds of built-in effects, and two that only this injector knows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.trace import FaultInjected
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.injector import Scene

OWN = frozenset({"acme_quota", "acme_brownout"})


def folder() -> Path:
    """Where `kinds/` and `matrices/` lie."""
    return Path(__file__).parent


class Acme:
    """A quota that is used up, and a search that answers only in part."""

    def kinds(self) -> frozenset[str]:
        return OWN

    def wrap(self, inner: CallPort, scene: Scene) -> CallPort:
        return Port(inner, scene)

    def heal(self) -> None:
        """Nothing outlives an attempt."""


@dataclass(slots=True)
class Port:
    """One trial's tool boundary."""

    inner: CallPort
    scene: Scene

    def attempt(self, call: Call) -> Observation:
        """Hand the call on, unless an event of ours is live here."""
        clock = self.scene.clock
        event = self.scene.cursor.at(
            call.point, call.occurrence, call.attempt, target=call.target, now_us=clock.now_us()
        )
        if event is None or event.kind not in OWN:
            return self.inner.attempt(call)
        self.scene.tell(FaultInjected(injection_id=event.injection_id, kind=event.kind))
        if event.kind == "acme_brownout":
            return self._in_part(call, event)
        clock.wait(self.scene.kinds[event.kind].latency_ms * 1000)
        looks: Any = self.scene.kinds[event.kind].wire["tool"]
        status, headers, body = looks.looks.status, looks.looks.headers, looks.looks.body
        return Observation(answered=False, status=status, headers=headers, body=body)

    def _in_part(self, call: Call, event: FaultEvent) -> Observation:
        seen = self.inner.attempt(call)
        words = self._settings(event)["words"]
        return replace(seen, body=f"{seen.body} {words}", payload=f"{seen.payload} {words}")

    def _settings(self, event: FaultEvent) -> Mapping[str, Any]:
        effect: Any = self.scene.kinds[event.kind].wire["tool"]
        settings: Mapping[str, Any] = effect.settings
        return settings
