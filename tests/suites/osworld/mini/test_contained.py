"""desk_mini in containers: no network, no rights, and a desk that bears what it says it bears."""

import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from hfr_bench.model.task import OracleStep
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import Restart, SandboxContext
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.suites.osworld.mini import DeskMiniSuite
from hfr_bench.suites.osworld.mini.adapter import MiniWorld
from hfr_bench.suites.osworld.mini.catalog import tasks
from hfr_bench.testing.breaking import check_bears

pytestmark = [pytest.mark.docker, pytest.mark.slow]

TASK = "sheet-import-orders"


@pytest.fixture(scope="module")
def world() -> Iterator[MiniWorld]:
    context = SandboxContext(f"test{secrets.token_hex(6)}", this_process(), tell=print)
    sandbox = DockerSandbox(context)
    made = DeskMiniSuite(sandbox).open()
    assert isinstance(made, MiniWorld)
    yield made
    made.close()
    sandbox.close()
    assert sandbox.reap() == ()


def do(world: MiniWorld, tool: str, /, **arguments: Any) -> dict[str, Any]:
    done = world.execute(tool, arguments, actor="agent", operation_id="o")
    found: dict[str, Any] = json.loads(done.observation.body)
    return found


def test_every_solution_is_right_and_answers_as_it_does_here(
    world: MiniWorld, desk: MiniWorld
) -> None:
    for name, task in tasks().items():
        assert world.reset(name) == desk.reset(name)
        for step in task.sealed.oracle:
            one, other = (
                w.execute(step.tool, step.arguments, actor="agent", operation_id="o")
                for w in (world, desk)
            )
            assert one == other
        assert world.grade(()) == desk.grade(())
        assert world.grade(()).official == 1.0


def test_commands_have_no_network_and_no_rights(world: MiniWorld) -> None:
    world.reset(TASK)
    assert "uid=1000" in do(world, "execute", command="id")["output"]
    assert do(world, "execute", command="ls /sys/class/net")["output"] == "lo\n"
    status = do(world, "execute", command="cat /proc/self/status")["output"]
    assert "CapEff:\t0000000000000000" in status
    assert "Read-only file system" in do(world, "execute", command="touch /usr/x")["error"]


def test_home_and_log_outlive_a_restart(world: MiniWorld) -> None:
    world.reset(TASK)
    command = "echo x >> sheets/orders.csv"
    do(world, "execute", command=command)
    state = world.desk.state()
    world.host.inflict(Restart())
    world.host.heal()
    assert world.desk.state() == state
    log = {"tool": "execute", "command": command}
    assert do(world, "operation_log", **log) == {"started": 1, "ended": 1}


def test_the_desk_bears_what_it_says(world: MiniWorld) -> None:
    arguments = {"command": "sleep 0.3; echo x >> sheets/orders.csv"}
    check_bears(world, TASK, OracleStep(actor="agent", tool="execute", arguments=arguments))
