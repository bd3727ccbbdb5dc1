"""Faults at the tool boundary: seen as declared, timed as declared, and nothing else touched."""

from collections.abc import Mapping
from typing import Any

import pytest

from hfr_bench import content
from hfr_bench.errors import InfrastructureError
from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.shape import CLOSED, TIMEOUT
from hfr_bench.injectors.tool_calls import ToolCallInjector
from hfr_bench.model import effects
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.schedule import Close, FaultEvent, KindSpec, Lasts, Respond, Stall, Wire
from hfr_bench.model.terms import Channel, Layer
from hfr_bench.model.trace import Body, FaultInjected
from hfr_bench.ports.injector import Scene
from hfr_bench.testing.conformance import ConformanceError, check_injector
from hfr_bench.testing.fakes import FakeClock, FakePort, fine
from hfr_bench.testing.rig import KINDS

WORK_US = 400_000


def kind(effect: Wire, **fields: Any) -> KindSpec:
    plain: dict[str, Any] = {"kind": "k", "layer": Layer.TOOL, "wire": {"tool": effect}}
    return KindSpec(**(plain | fields))


class Boundary:
    """One injected boundary over a world that takes WORK_US for each call."""

    def __init__(self, spec: KindSpec, lands: bool | None = None, **lasts: Any) -> None:
        event = FaultEvent(
            injection_id="i",
            layer=Layer.TOOL,
            kind="k",
            point="tool:x",
            occurrence=1,
            lasts=Lasts(**lasts),
            effect_lands=lands,
        )
        self.clock = FakeClock()
        self.told: list[Body] = []
        self.world = FakePort(self._work)
        scene = Scene("t", Cursor([event]), {"k": spec}, self.clock, self.told.append)
        self._port = ToolCallInjector({"k": spec}).wrap(self.world, scene)

    def _work(self, call: Call) -> Observation:
        self.clock.wait(WORK_US)
        return fine("real")

    def attempt(self, attempt: int = 1, target: str = "x", timeout_s: float = 10) -> Observation:
        return self._port.attempt(
            Call(
                step=1,
                point="tool:x",
                occurrence=1,
                attempt=attempt,
                channel=Channel.TOOL,
                target=target,
                timeout_us=int(timeout_s * 1_000_000),
                payload={},
            )
        )


def test_the_shipped_kinds_are_delivered_as_declared() -> None:
    injector = ToolCallInjector()
    assert injector.kinds() == {n for n, k in content.kinds().items() if "tool" in k.wire}
    assert {"runtime_crash", "tool_5xx", "tool_outcome_unknown"} < injector.kinds()
    plain = {
        name: spec
        for name, spec in content.kinds().items()
        if not isinstance(spec.wire.get("tool"), effects.Boundary)  # those: test_tool_trials.py
    }
    check_injector(ToolCallInjector(plain), plain)
    check_injector(ToolCallInjector(KINDS), KINDS)


def test_an_error_answer_takes_its_latency_and_nothing_runs() -> None:
    spec = kind(Respond(status=503, headers={"Retry-After": "2"}, body="busy"), latency_ms=100)
    boundary = Boundary(spec)
    seen = boundary.attempt()
    assert (seen.answered, seen.status, seen.body) == (False, 503, "busy")
    assert seen.headers == {"retry-after": "2"}
    assert (boundary.clock.now_us(), boundary.world.asked) == (100_000, [])


@pytest.mark.parametrize("lands", [True, False])
def test_a_lost_outcome_looks_and_lasts_the_same_whether_it_landed_or_not(lands: bool) -> None:
    boundary = Boundary(kind(Stall(stall_s=86_400), lands=0.5), lands)
    seen = boundary.attempt()
    assert seen == Observation(answered=False, exception=TIMEOUT)
    assert boundary.clock.now_us() == 10_000_000
    assert len(boundary.world.asked) == int(lands)


@pytest.mark.parametrize(("lands", "us"), [(True, WORK_US), (False, 0)])
def test_a_closed_connection_takes_only_the_work_done(lands: bool, us: int) -> None:
    boundary = Boundary(kind(Close(), lands=0.5), lands)
    assert boundary.attempt().exception == CLOSED
    assert boundary.clock.now_us() == us


def test_a_stall_shorter_than_the_timeout_ends_as_a_closed_connection() -> None:
    boundary = Boundary(kind(Stall(stall_s=3)))
    assert boundary.attempt().exception == CLOSED
    assert boundary.clock.now_us() == 3_000_000


def test_faults_last_as_long_as_planned_and_then_the_world_answers() -> None:
    boundary = Boundary(kind(Respond(status=500)), n=2)
    seen = [boundary.attempt(n).answered for n in (1, 2, 3)]
    assert seen == [False, False, True]
    assert len(boundary.world.asked) == 1


def test_a_sticky_fault_is_left_behind_with_its_target() -> None:
    boundary = Boundary(kind(Respond(status=500)), unit="target")
    seen = [boundary.attempt(n, target).answered for n, target in enumerate("aab", 1)]
    assert seen == [False, False, True]


def test_every_injection_is_told_before_its_answer() -> None:
    boundary = Boundary(kind(Stall(stall_s=9), lands=0.5), lands=True)
    boundary.attempt()
    (told,) = boundary.told
    assert isinstance(told, FaultInjected)
    assert (told.injection_id, told.kind, told.effect_lands) == ("i", "k", True)


def test_our_own_failure_is_not_dressed_up_as_a_fault() -> None:
    def broken(_: Call) -> Observation:
        raise InfrastructureError("the host is gone")

    spec = kind(Close(forward=True))
    event = FaultEvent(injection_id="i", layer=Layer.TOOL, kind="k", point="tool:x", occurrence=1)
    scene = Scene("t", Cursor([event]), {"k": spec}, FakeClock(), lambda _: None)
    port = ToolCallInjector({"k": spec}).wrap(FakePort(broken), scene)
    with pytest.raises(InfrastructureError):
        port.attempt(Call(1, "tool:x", 1, 1, Channel.TOOL, "x", 1_000_000, {}))


def test_healing_is_harmless() -> None:
    injector = ToolCallInjector(KINDS)
    injector.heal()
    injector.heal()


class Retrying(ToolCallInjector):
    """A broken injector: swallows the first fault by trying again."""

    def wrap(self, inner: Any, scene: Scene) -> Any:
        port = super().wrap(inner, scene)
        return FakePort(lambda call: self._twice(port, inner, call))

    @staticmethod
    def _twice(port: Any, inner: Any, call: Call) -> Observation:
        seen: Observation = port.attempt(call)
        return seen if seen.answered else inner.attempt(call)


class Loud(ToolCallInjector):
    """A broken injector: answers every call with the same fault."""

    def wrap(self, inner: Any, scene: Scene) -> Any:
        return FakePort(lambda _: Observation(answered=False, exception=TIMEOUT))


@pytest.mark.parametrize(
    ("broken", "specs", "what"),
    [(Retrying, KINDS, "the attempt was answered"), (Loud, KINDS, "hit attempt 1.1 as well")],
)
def test_the_kit_catches_broken_injectors(
    broken: type[ToolCallInjector], specs: Mapping[str, KindSpec], what: str
) -> None:
    with pytest.raises(ConformanceError, match=what):
        check_injector(broken(specs), specs)
