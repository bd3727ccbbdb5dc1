"""The profiles `guest` and `gui` of desk_mini in trials on broken containers: reached = delivered.

Each trial has a guest of its own, and meets one kind once.
"""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hfr_bench import content
from hfr_bench.lab.trial import run_trial
from hfr_bench.model.schedule import FaultEvent, Lasts
from hfr_bench.model.task import OracleStep
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import Sandbox, SandboxContext
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.suites.osworld.mini import DeskMiniSuite
from hfr_bench.testing.bench import FakeScope, planned_row
from hfr_bench.testing.breaking import check_bears
from tests.suites.swe_bench.mini.broken import Bench, Ended

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1800)]

FILES, SCREEN = "sheet-total", "screen-type-line"
WRITES = "sleep 0.4; head -c 100000 /dev/zero > ~/{}/new || exit 1"
MET = {"scheduled": 1, "reached": 1, "delivered": 1}
PASSED_BY = {"scheduled": 1, "reached": 0, "delivered": 0}
ON_A_SHELL = (
    *("env_pause", "env_process_stall", "env_process_crash"),
    *("env_disk_full", "env_container_restart", "env_read_only"),
)


def step(tool: str, /, **arguments: Any) -> OracleStep:
    return OracleStep(actor="agent", tool=tool, arguments=arguments)


TYPES = step("computer_13", action_type="TYPING", parameters={"text": "typed"})
LASTS = step("pyautogui", command="import time; time.sleep(1); pyautogui.press('a')")


class Desks:
    """Trials of one suite, by whoever takes every failure for done."""

    def __init__(self, sandbox: Sandbox, folder: Path, profile: str) -> None:
        self.suite = DeskMiniSuite(sandbox, profile=profile)
        self._folder, self._number = folder, 0
        self._scope: Any = FakeScope(Bench(self.suite, (), ()))

    @property
    def world(self) -> Any:
        return self._scope.world(self.suite.name)

    def run(self, task: str, met: OracleStep, kind: str) -> Ended:
        """One step, which meets the fault; a look behind it, which meets none."""
        spec = content.kinds()[kind]
        event = FaultEvent(
            injection_id=kind,
            layer=spec.layer,
            kind=kind,
            point=f"tool:{met.tool}",
            occurrence=1,
            lasts=Lasts(n=1),
        )
        self._number += 1
        self._scope.bench = Bench(self.suite, (event,), [met, step("list_directory", path=".")])
        path = self._folder / f"{self._number}.jsonl"
        result = run_trial(self._scope, planned_row("deaf", task), 1, path)
        ended = Ended(result, path, self._scope.bench)
        assert ended.wrong == ()
        assert not self.world.host.standing
        return ended


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    context = SandboxContext(f"test{secrets.token_hex(6)}", this_process(), tell=print)
    made = DockerSandbox(context)
    yield made
    made.close()
    assert made.reap() == ()


@pytest.fixture(scope="module")
def guest(sandbox: Sandbox, tmp_path_factory: Any) -> Iterator[Desks]:
    made = Desks(sandbox, tmp_path_factory.mktemp("guest"), "guest")
    yield made
    made.world.close()


@pytest.fixture(scope="module")
def gui(sandbox: Sandbox, tmp_path_factory: Any) -> Iterator[Desks]:
    made = Desks(sandbox, tmp_path_factory.mktemp("gui"), "gui")
    yield made
    made.world.close()


@pytest.mark.parametrize("kind", ON_A_SHELL)
def test_without_a_screen(kind: str, guest: Desks) -> None:
    ended = guest.run(FILES, step("execute", command=WRITES.format("sheets")), kind)
    assert ended.sums == MET


@pytest.mark.parametrize("tool", [step("terminal"), step("execute", command="")])
def test_what_is_answered_from_here_waits_for_a_frozen_guest_too(
    tool: OracleStep, guest: Desks
) -> None:
    assert guest.run(FILES, tool, "env_pause").sums == MET


def test_a_killed_command_is_told_as_a_shell_tells_it(guest: Desks) -> None:
    ended = guest.run(FILES, step("execute", command="sleep 3"), "env_process_crash")
    assert ended.sums == MET
    assert ended.bodies("attempt_ended")[0].exit_code == 137


@pytest.mark.parametrize(
    ("kind", "met", "sums"),
    [
        *((kind, TYPES, MET) for kind in ("env_app_killed", "env_app_frozen", "env_modal")),
        *((kind, TYPES, MET) for kind in ("env_pause", "env_container_restart")),
        *((kind, LASTS, MET) for kind in ("env_process_stall", "env_process_crash")),
        ("env_clock_skew", step("execute", command="date > ~/docs/date"), MET),
        ("env_read_only", step("execute", command=WRITES.format("docs")), MET),
        ("env_disk_full", step("execute", command=WRITES.format("docs")), MET),
        ("env_read_only", TYPES, PASSED_BY),
    ],
)
def test_with_a_screen(kind: str, met: OracleStep, sums: Any, gui: Desks) -> None:
    assert gui.run(SCREEN, met, kind).sums == sums


def test_where_no_program_of_the_task_runs_it_is_passed_by(gui: Desks) -> None:
    assert gui.run(FILES, step("terminal"), "env_app_killed").sums == PASSED_BY


def test_a_desk_without_a_screen_bears_what_it_says(guest: Desks) -> None:
    met = step("execute", command=WRITES.format("sheets"))
    check_bears(guest.suite.open(), FILES, met)


def test_a_desk_with_a_screen_bears_what_it_says(gui: Desks) -> None:
    check_bears(gui.suite.open(), SCREEN, TYPES)
