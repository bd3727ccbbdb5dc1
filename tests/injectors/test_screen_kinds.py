"""The shipped kinds of screens, over answers as a screen's tools give them."""

import hashlib
import json

import pytest

from hfr_bench import content
from hfr_bench.faults.cursor import Cursor
from hfr_bench.injectors._edits import black
from hfr_bench.injectors.tool_calls import ToolCallInjector
from hfr_bench.lab.clock import VirtualClock
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.terms import Channel, Layer
from hfr_bench.model.trace import Body
from hfr_bench.ports.injector import Scene
from hfr_bench.suites.osworld.screen import picture_told, tree_told
from hfr_bench.testing.fakes import FakePort, fine

KINDS = content.kinds()


def shown(call: Call) -> str:
    """Another picture, another tree at each look."""
    if call.target == "screenshot":
        digest = hashlib.sha256(str(call.occurrence).encode()).hexdigest()
        return picture_told(f"sha256:{digest}", black(64, 32))
    return tree_told(f'<desk><button name="Save {call.occurrence}"/></desk>')


def looked(kind: str, tool: str) -> tuple[list[Observation], list[str], list[Body]]:
    """Three looks, of which the second meets the kind: seen, true, and what was told of it."""
    event = FaultEvent(
        injection_id="i", layer=Layer.SEMANTIC, kind=kind, point=f"tool:{tool}", occurrence=2
    )
    told: list[Body] = []
    scene = Scene("t", Cursor([event]), KINDS, VirtualClock(), told.append)
    world = FakePort(lambda call: fine(shown(call)))
    port = ToolCallInjector(KINDS).wrap(world, scene)
    calls = [Call(n, f"tool:{tool}", n, 1, Channel.TOOL, tool, 10_000_000, {}) for n in range(1, 4)]
    return [port.attempt(call) for call in calls], [shown(call) for call in calls], told


@pytest.mark.parametrize(
    ("kind", "tool"),
    [
        ("obs_stale_screenshot", "screenshot"),
        ("obs_black_screenshot", "screenshot"),
        ("obs_empty_tree", "accessibility_tree"),
    ],
)
def test_one_look_is_wrong_and_looks_right(kind: str, tool: str) -> None:
    seen, true, told = looked(kind, tool)
    assert [one.body == other for one, other in zip(seen, true, strict=True)] == [
        True,
        False,
        True,
    ]
    assert seen[1].answered
    assert json.loads(seen[1].body).keys() == json.loads(true[1]).keys()
    assert len(told) == 1


def test_a_stale_picture_is_the_one_before() -> None:
    seen, true, _ = looked("obs_stale_screenshot", "screenshot")
    assert seen[1].body == true[0]


def test_a_black_picture_is_black_and_of_the_same_size() -> None:
    seen, _, _ = looked("obs_black_screenshot", "screenshot")
    digest = hashlib.sha256(black(64, 32)).hexdigest()
    assert seen[1].body == picture_told(f"sha256:{digest}", black(64, 32))


def test_an_empty_tree_is_that_of_an_empty_screen() -> None:
    seen, _, _ = looked("obs_empty_tree", "accessibility_tree")
    assert seen[1].body == tree_told("")
