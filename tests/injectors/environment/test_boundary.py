"""The boundary around a host that only pretends: when it is broken, when it is whole again."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from hfr_bench import content, plugins
from hfr_bench.errors import InfrastructureError
from hfr_bench.faults.cursor import Cursor
from hfr_bench.injectors.environment import EnvironmentInjector
from hfr_bench.lab.clock import VirtualClock
from hfr_bench.lab.injecting import Nested
from hfr_bench.lab.recorder import TOOL_LAYERS, TruthQueue, WorldTools
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.breakage import Breakage
from hfr_bench.model.schedule import FaultEvent, Lasts
from hfr_bench.model.terms import Channel
from hfr_bench.ports.injector import Scene
from hfr_bench.ports.sandbox import (
    FillDisk,
    HostDiedError,
    Kill,
    LeaveFile,
    Limit,
    Partition,
    Pause,
    Restart,
)
from hfr_bench.testing.breaking import PretendedHost, PretendedWorld
from hfr_bench.testing.shop import task

from .conftest import fault

KINDS = content.kinds()
TIMEOUT_US = 5_000_000
POINT = "tool:add_order"


class Bench:
    """A boundary over the truth's recorder, over a world that pretends."""

    def __init__(self, events: Sequence[FaultEvent], host: PretendedHost | None = None) -> None:
        self.host = host or PretendedHost()
        self.world = PretendedWorld(self.host)
        self.clock, self.told = VirtualClock(), []
        truth = TruthQueue({event.injection_id: event for event in events})
        world: Any = self.world
        self.inner = WorldTools(world, task("shop/t"), truth, self.clock, 400_000)
        cursor = Cursor(events, TOOL_LAYERS)
        self.truth = truth
        self.scene = Scene("t", cursor, KINDS, self.clock, truth.tell, exposed=self.world)
        self.injector = Nested(
            [plugins.find("injectors", name)(KINDS) for name in ("tool_calls", "environment")]
        )
        self.port = self.injector.wrap(self.inner, self.scene)

    def call(self, occurrence: int = 1, attempt: int = 1, point: str = POINT) -> Observation:
        self.told.clear()
        return self.port.attempt(
            Call(
                step=occurrence,
                point=point,
                occurrence=occurrence,
                attempt=attempt,
                channel=Channel.TOOL,
                target="add_order",
                timeout_us=TIMEOUT_US,
                payload={},
                operation_id=f"t.{occurrence}.{attempt}",
            )
        )

    def bodies(self) -> list[str]:
        sink: list[Any] = []

        class Sink:
            def write(self, body: Any, *, step: int = 0, attempt: int = 0) -> None:
                sink.append(body)

        self.truth.drain(Sink())
        return [getattr(one, "when", one.type) for one in sink]


def test_every_breakage_has_a_kind_and_is_drawn() -> None:
    ours = EnvironmentInjector().kinds()
    effects: list[Any] = [KINDS[name].wire["host"] for name in ours]
    assert sorted(effect.what for effect in effects) == sorted(Breakage)
    drawn = {
        kind
        for matrix in ("environment", "shell_container", "desktop_container")
        for mix in content.matrix(matrix).mixes
        for kind in mix.kinds
    }
    assert ours <= drawn


def test_a_frozen_host_times_out_and_writes_before_anybody_looks_again() -> None:
    bench = Bench([fault("env_pause", POINT)])
    seen = bench.call()
    assert (seen.answered, seen.exception) == (False, "Timeout")
    assert bench.clock.now_us() == TIMEOUT_US
    assert bench.world.log == []
    assert bench.bodies() == ["fault_injected", "before", "after"]
    assert bench.host.standing
    assert bench.call(1, 2).body == "real"
    assert bench.world.log == ["t.1.1", "t.1.2"]
    assert bench.bodies() == ["effect", "healed", "effect"]
    assert bench.clock.now_us() == TIMEOUT_US + 400_000  # what is late takes nobody's time
    assert (bench.host.standing, bench.host.healed) == (False, 1)


def test_without_another_call_it_writes_when_it_is_healed() -> None:
    bench = Bench([fault("env_pause", POINT)])
    bench.call()
    bench.injector.heal()
    bench.injector.heal()
    assert bench.world.log == ["t.1.1"]
    assert bench.clock.now_us() == TIMEOUT_US
    assert not bench.host.standing


def test_a_fault_of_two_attempts_stands_between_them() -> None:
    bench = Bench([fault("env_pause", POINT, n=2)])
    bench.call()
    bench.call(1, 2)
    assert bench.host.inflicted == [Pause()]
    assert bench.world.log == []
    bench.call(1, 3)
    assert sorted(bench.world.log) == ["t.1.1", "t.1.2", "t.1.3"]
    assert bench.world.log[-1] == "t.1.3"


def test_somebody_elses_mending_is_seen_and_the_fault_is_made_anew() -> None:
    bench = Bench([fault("env_disk_full", POINT, n=2)])
    bench.call()
    bench.host.heal()  # the user of the suite has acted meanwhile
    bench.call(1, 2)
    assert bench.host.inflicted == [FillDisk("/scratch"), FillDisk("/scratch")]


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("env_process_stall", Pause("hfr-call=t.1.1;", 100)),
        ("env_process_crash", Kill("hfr-call=t.1.1;", 100)),
        ("env_disk_full", FillDisk("/scratch")),
        ("env_oom", Limit(memory_mib=64)),
        ("env_partition", Partition("peer", 80)),
        ("env_container_restart", Restart()),
    ],
)
def test_a_call_that_answers_is_answered_for_real(kind: str, made: Any) -> None:
    bench = Bench([fault(kind, POINT)])
    assert bench.call().body == "real"
    assert bench.host.inflicted == [made]
    assert bench.clock.now_us() == 400_000
    bench.injector.heal()
    assert not bench.host.standing
    assert bench.bodies() == ["fault_injected", "before", "after", "effect", "healed"]


@pytest.mark.parametrize(
    ("kind", "made"), [("env_process_stall", Pause), ("env_process_crash", Kill)]
)
def test_a_call_that_waits_for_it_is_struck_in_its_suite_s_own_time(kind: str, made: Any) -> None:
    bench = Bench([fault(kind, POINT)])
    bench.world.exposure = replace(bench.world.exposure, holds="/held", held_ms=7)
    bench.call()
    assert bench.host.inflicted == [made("hfr-call=t.1.1;", 7, "/held/hfr-call=t.1.1;")]


def test_a_lock_stays_whoever_calls_until_the_trial_ends() -> None:
    bench = Bench([fault("env_index_lock", POINT), fault("env_disk_full", POINT, 2)])
    assert bench.call().body == "real"
    assert bench.host.inflicted == [LeaveFile("/repository/.git/index.lock")]
    for occurrence in (2, 3):  # another fault comes and goes
        bench.call(occurrence)
        assert bench.host.state.left
    bench.injector.heal()
    assert not bench.host.state.left


def test_what_befalls_one_call_is_made_anew_for_the_next() -> None:
    bench = Bench([fault("env_container_restart", POINT, n=2)])
    bench.call()
    assert not bench.host.standing
    bench.call(1, 2)
    assert bench.host.inflicted == [Restart(), Restart()]


def test_calls_at_other_points_meet_a_whole_host() -> None:
    event = fault("env_disk_full", POINT, lasts=Lasts(unit="trial"))
    bench = Bench([event])
    bench.call()
    assert bench.call(1, 1, "reconcile:add_order").body == "real"
    assert not bench.host.standing
    bench.call(2)
    assert bench.host.standing


def test_one_cursor_serves_both_injectors() -> None:
    events = [fault("tool_5xx", POINT, 1), fault("env_disk_full", POINT, 2)]
    bench = Bench(events)
    assert bench.call(1).status == 503
    assert bench.world.log == []
    assert bench.call(2).body == "real"
    assert bench.host.inflicted == [FillDisk("/scratch")]
    assert bench.call(3).body == "real"
    assert len(bench.host.inflicted) == 1


def test_what_another_injector_held_back_lands_in_a_whole_host() -> None:
    """A fault that spreads does not reach back to a call that was sent before it began."""
    late = fault("tool_late_completion", POINT, 1)
    bench = Bench([late, fault("env_disk_full", POINT, 2, lasts=Lasts(unit="trial"))])
    bench.call(1)
    bench.call(2)
    assert bench.host.standing
    bench.clock.wait(20_000_000)
    bench.call(3)
    assert bench.world.log == ["t.2.1", "t.1.1", "t.3.1"]
    assert len(bench.host.inflicted) == 2  # undone for what was held back, and made again


def test_where_nothing_is_broken_nothing_is_wrapped() -> None:
    bench = Bench([fault("tool_5xx", POINT)])
    assert EnvironmentInjector(KINDS).wrap(bench.inner, bench.scene) is bench.inner


def test_a_world_without_a_host_is_told() -> None:
    bench = Bench([fault("env_pause", POINT)])
    with pytest.raises(InfrastructureError, match="gives nobody its host"):
        EnvironmentInjector(KINDS).wrap(bench.world, bench.scene)  # type: ignore[arg-type]


def test_a_host_that_cannot_be_mended_is_given_up() -> None:
    class Broken(PretendedHost):
        def heal(self, *, everything: bool = True) -> None:
            raise InfrastructureError("the engine refuses")

    bench = Bench([fault("env_disk_full", POINT)], Broken())
    with pytest.raises(HostDiedError, match="not whole after a fault"):
        bench.injector.heal()
