"""Which suites and sandboxes may be broken, the clock it takes, and injectors in injectors."""

from typing import Any

import pytest

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.lab.injecting import Nested, check_borne, exposed
from hfr_bench.lab.wire import Bench
from hfr_bench.model.breakage import DESKTOP, Break, Breakage
from hfr_bench.model.schedule import KindSpec, Lasts
from hfr_bench.model.terms import ClockKind, Layer
from hfr_bench.ports.exposure import Exposure
from hfr_bench.testing.breaking import PretendedHost, PretendedWorld
from hfr_bench.testing.hosts import FakeSandbox, ScriptedHost
from hfr_bench.testing.shop import ShopSuite

from .test_wire import prereg

VIRTUAL = ClockKind.VIRTUAL


class Breakable(FakeSandbox):
    """A sandbox that can break all."""

    contained = True
    breaks = frozenset(Breakage)


class Bears(ShopSuite):
    """A shop that outlives a pause."""

    exposure = Exposure(frozenset({Breakage.PAUSE}))


def check(name: str, suite: Any, sandbox: Any, clock: ClockKind = VIRTUAL, **kinds: Any) -> None:
    check_borne({**content.kinds(), **kinds}, {name}, [(suite, sandbox)], clock)


def test_a_suite_that_bears_it_in_a_sandbox_that_can_is_let_through() -> None:
    check("env_pause", Bears(), Breakable())
    check("tool_5xx", ShopSuite(), FakeSandbox())


def test_a_suite_that_says_nothing_bears_nothing() -> None:
    with pytest.raises(BadInputError, match=r"'shop' does not say .* bears nothing of the kind"):
        check("env_pause", ShopSuite(), Breakable())


def test_what_a_suite_bears_is_told_where_it_is_not_enough() -> None:
    with pytest.raises(BadInputError, match=r"env_oom.*\(oom\).*it bears: pause"):
        check("env_oom", Bears(), Breakable())


def test_a_sandbox_that_cannot_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"the sandbox 'fake' cannot do; one that can: docker"):
        check("env_pause", Bears(), FakeSandbox())


def test_seconds_take_the_wall_clock() -> None:
    kind = KindSpec(
        kind="long",
        layer=Layer.ENVIRONMENT,
        wire={"host": Break(what=Breakage.PAUSE)},
        lasts=((1.0, Lasts(unit="seconds", n=3)),),
    )
    with pytest.raises(BadInputError, match=r"'long' .* register `clock: wall`"):
        check("long", Bears(), Breakable(), long=kind)
    check("long", Bears(), Breakable(), ClockKind.WALL, long=kind)


def test_the_shipped_matrices_are_refused_where_nothing_contains_them() -> None:
    shopdesk = [{"suite": "shopdesk", "pool": "demo"}]
    for matrix in ("environment", "pause"):
        registered = prereg(suites=shopdesk, faults={"matrix": matrix, "rates": [0.1]})
        with Bench(registered) as bench, pytest.raises(BadInputError, match="is not one"):
            bench.check_answered()


@pytest.mark.docker
def test_in_containers_a_suite_is_broken_as_far_as_it_bears_it() -> None:
    shopdesk = [{"suite": "shopdesk", "pool": "demo"}]
    fields: dict[str, Any] = {"suites": shopdesk, "sandbox": "docker"}
    with Bench(prereg(**fields, faults={"matrix": "pause", "rates": [0.1]})) as bench:
        bench.check_answered()
    with (
        Bench(prereg(**fields, faults={"matrix": "environment", "rates": [0.1]})) as bench,
        pytest.raises(BadInputError, match=r"'shopdesk' does not say .* it bears: pause"),
    ):
        bench.check_answered()


def test_only_a_host_that_can_be_broken_is_given_away() -> None:
    world: Any = PretendedWorld(PretendedHost())
    assert exposed(world) is world
    world.host = ScriptedHost(lambda _op, _fields: {})
    assert exposed(world) is None
    assert exposed(ShopSuite().open()) is None


class Noted:
    """An injector that notes what is done with it."""

    def __init__(self, name: str, notes: list[str]) -> None:
        self._name, self._notes = name, notes

    def kinds(self) -> frozenset[str]:
        return frozenset({self._name})

    def wrap(self, inner: Any, scene: Any) -> Any:
        self._notes.append(f"wrap {self._name}")
        return (self._name, inner)

    def heal(self) -> None:
        self._notes.append(f"heal {self._name}")
        raise RuntimeError(self._name)


def test_nested_the_first_is_outermost_and_is_healed_first_whatever_happens() -> None:
    notes: list[str] = []
    both = Nested([Noted("outer", notes), Noted("inner", notes)])
    assert both.kinds() == {"outer", "inner"}
    scene: Any = None
    inner: Any = "world"
    assert both.wrap(inner, scene) == ("outer", ("inner", "world"))
    with pytest.raises(RuntimeError):
        both.heal()
    assert notes == ["wrap inner", "wrap outer", "heal outer", "heal inner"]


def test_nobody_bears_on_a_desktop_what_he_does_not_name() -> None:
    assert Exposure(frozenset(Breakage)).bears == frozenset(Breakage) - DESKTOP
    named = Exposure(frozenset(Breakage), folder="/f", app="a", clock="/c", screen=True)
    assert named.bears == frozenset(Breakage)
    assert Exposure(frozenset({Breakage.PAUSE}), folder="/f").bears == {Breakage.PAUSE}
