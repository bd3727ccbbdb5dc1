"""The shipped tool kinds, played by the real injector and audited; and injectors with a defect."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from hfr_bench import content
from hfr_bench.faults.audit import TrialAudit, audit
from hfr_bench.injectors.tool_calls import ToolCallInjector
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.terms import Layer
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.injector import Scene
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.strategies import BlindResend
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import events, schedule, started
from hfr_bench.testing.rig import Rig


def _landings(kind: str) -> tuple[bool | None, ...]:
    return (None,) if content.kinds()[kind].lands is None else (False, True)


# What happens behind the boundary has tests of its own: tests/injectors/test_tool_boundary.py.
PLAIN = ("respond", "close", "stall")
TOOL_KINDS = sorted(
    name
    for name, kind in content.kinds().items()
    if "tool" in kind.wire and kind.wire["tool"].type in PLAIN
)
LANDING = [(name, lands) for name in TOOL_KINDS for lands in _landings(name)]


@dataclass
class Shipped:
    """The built-in tool injector with the shipped kinds, or a defect of it."""

    defect: Callable[[CallPort, Scene, CallPort], CallPort] = lambda honest, *_: honest

    def kinds(self) -> frozenset[str]:
        return frozenset(content.kinds())

    def wrap(self, inner: CallPort, scene: Scene) -> CallPort:
        scene = replace(scene, kinds=content.kinds())
        return self.defect(ToolCallInjector().wrap(inner, scene), scene, inner)

    def heal(self) -> None:
        """Nothing to heal."""


class Spoiled:
    """A port whose answers somebody changes, or that somebody calls once too often."""

    def __init__(self, port: CallPort, change, before=None) -> None:
        self._port = port
        self._change = change
        self._before = before

    def attempt(self, call: Call) -> Observation:
        if self._before is not None:
            self._before(call)
        return self._change(self._port.attempt(call))


def onion(kind: str, lands: bool | None, injector: Shipped) -> TrialAudit:
    """A real run over the shop under a shipped kind, audited; the second attempt is healthy."""
    event = FaultEvent(
        injection_id="i",
        layer=Layer.TOOL,
        kind=kind,
        point="tool:add_order",
        occurrence=1,
        effect_lands=lands,
    )
    found = Rig(BlindResend({}, Kit()), faults=[event], injector=injector).run().events
    trial = planned().rows[0].trial
    return audit(
        [*events("rig", [started(trial)]), *found],
        schedule(trial, [event]),
        content.kinds(),
        tool_latency_us=400_000,
    )


def sound(found: TrialAudit) -> bool:
    assert found.deliveries
    delivered = all(one.delivered for one in found.deliveries)
    return delivered and not found.failed and not found.untrue


@pytest.mark.parametrize(("kind", "lands"), LANDING)
def test_the_real_onion_is_believed(kind, lands):
    assert sound(onion(kind, lands, Shipped()))


DEFECTS = {
    "never delivers": lambda honest, scene, inner: inner,
    "runs the tool once too often": lambda honest, scene, inner: Spoiled(
        honest, lambda seen: seen, inner.attempt
    ),
    "alters every answer": lambda honest, scene, inner: Spoiled(
        honest, lambda seen: replace(seen, body=seen.body + " ", exception=seen.exception and "Odd")
    ),
    "takes time": lambda honest, scene, inner: Spoiled(
        honest, lambda seen: seen, lambda _: scene.clock.wait(1)
    ),
    "passes errors off as answers": lambda honest, scene, inner: Spoiled(
        honest, lambda seen: replace(seen, answered=True)
    ),
    "adds a Retry-After": lambda honest, scene, inner: Spoiled(
        honest, lambda seen: replace(seen, headers={"retry-after": "1"})
    ),
}


# A lost answer has no headers to add to.
SPOILED = [
    (kind, lands, defect)
    for kind, lands in LANDING
    for defect in DEFECTS
    if lands is None or defect != "adds a Retry-After"
]


@pytest.mark.parametrize(("kind", "lands", "defect"), SPOILED)
def test_a_defect_of_the_injector_is_not(kind, lands, defect):
    assert not sound(onion(kind, lands, Shipped(DEFECTS[defect])))
