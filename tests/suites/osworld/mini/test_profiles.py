"""The same tasks on OSWorld's guest: by its HTTP API alone, without a screen and with one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.owner import this_process
from hfr_bench.ports.exposure import Exposed
from hfr_bench.ports.sandbox import Sandbox, SandboxContext
from hfr_bench.ports.suite import Execution
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.osworld.episode import DeskWorld
from hfr_bench.suites.osworld.mini import DeskMiniSuite
from hfr_bench.suites.osworld.mini.adapter import MiniWorld
from hfr_bench.suites.osworld.mini.catalog import tasks

QUEUE, APPEND = "terminal-queue-job", "files-backup-copy"


@pytest.fixture(scope="module")
def here() -> Iterator[Sandbox]:
    made = ProcessSandbox(SandboxContext("deskguests", this_process()))
    yield made
    made.close()


def do(world: DeskWorld, tool: str, /, **arguments: Any) -> Execution:
    return world.execute(tool, arguments, actor="agent", operation_id="o")


def test_an_unknown_profile_is_named_and_a_screen_needs_a_container(here: Sandbox) -> None:
    with pytest.raises(BadInputError, match="no profile 'vm'; there are: shell, guest, gui"):
        DeskMiniSuite(here, profile="vm")
    with pytest.raises(BadInputError, match="profile gui needs containers"):
        DeskMiniSuite(here, profile="gui")


def test_a_desk_without_a_screen_offers_no_tools_for_one(suite: DeskMiniSuite) -> None:
    with_one = {tool.name for tool in tasks(True)[QUEUE].public.tools}
    without = {tool.name for tool in tasks()[QUEUE].public.tools}
    assert with_one - without == {"computer_13", "pyautogui", "screenshot", "accessibility_tree"}
    assert set(tasks(True)) - set(tasks()) == {"screen-terminal-note", "screen-type-line"}


@pytest.mark.slow
def test_both_desks_answer_alike(here: Sandbox, desk: MiniWorld) -> None:
    """A shell host of ours and OSWorld's guest: the same answers, changes and verdict."""
    suite = DeskMiniSuite(here, profile="guest")
    world = suite.open()
    assert isinstance(desk, Exposed)
    assert isinstance(world, Exposed)
    try:
        for name in (QUEUE, APPEND):
            desk.reset(name)
            world.reset(name)
            for step in tasks()[name].sealed.oracle:
                one, other = (do(w, step.tool, **step.arguments) for w in (desk, world))
                assert one.observation == other.observation
                assert one.changed == other.changed
            log = {"tool": "execute", "command": "bin/queue add nightly-copy"}
            assert do(world, "operation_log", **log) == do(desk, "operation_log", **log)
            assert world.grade(()).official == 1.0
    finally:
        world.close()


@pytest.mark.docker
@pytest.mark.slow
def test_a_screen_is_worked_at_and_looked_at(tmp_path: Path) -> None:
    """The two tasks with a screen, by keys; what was seen lies beside."""
    sandbox = DockerSandbox(SandboxContext("deskgui", this_process()))
    suite = DeskMiniSuite(sandbox, profile="gui", keep=str(tmp_path))
    world = suite.open()
    try:
        trees = []
        for name in suite.select(SuiteSelection(suite="desk_mini", pool="screen")):
            world.reset(name.task_id)
            for step in suite.sealed(name.task_id).oracle:
                done = do(world, step.tool, **step.arguments)
                assert done.observation.answered
                told = json.loads(done.observation.body)
                if step.tool == "screenshot":
                    kept = tmp_path / f"{told['screenshot'].removeprefix('sha256:')}.png"
                    assert kept.read_bytes().startswith(b"\x89PNG")
                elif step.tool == "accessibility_tree":
                    trees.append(told["accessibility_tree"])
                elif step.tool == "computer_13":
                    assert "screen" in done.changed
                    log = {"tool": "computer_13", **step.arguments}
                    counts = json.loads(do(world, "operation_log", **log).observation.body)
                    assert counts["started"] == counts["ended"] > 0
            assert world.grade(()).official == 1.0
        assert "minutes.md" in trees[0]
    finally:
        world.close()
        suite.close()
