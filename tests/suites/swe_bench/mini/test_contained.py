"""swe_mini in containers: the repository at /testbed, a fresh one for the grader, nothing left.

The first build of its image makes a base with git and patch, which may take minutes: hence `slow`.
"""

import secrets
from collections.abc import Iterator

import pytest

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.suites.swe_bench.mini import SweMiniSuite
from hfr_bench.suites.swe_bench.mini.adapter import MiniWorld

pytestmark = [pytest.mark.docker, pytest.mark.slow]

TASK = "hfr__waymark-2"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[DockerSandbox]:
    context = SandboxContext(f"test{secrets.token_hex(6)}", this_process(), tell=print)
    made = DockerSandbox(context)
    yield made
    made.close()


@pytest.fixture(scope="module")
def world(sandbox: DockerSandbox) -> Iterator[MiniWorld]:
    made = SweMiniSuite(sandbox).open()
    yield made
    made.close()


def said(world: MiniWorld, command: str) -> str:
    done = world.execute("bash", {"command": command}, actor="agent", operation_id="o")
    return done.observation.body


def test_the_repository_is_the_testbed(world: MiniWorld) -> None:
    world.reset(TASK)
    assert "waymark" in said(world, "cd /testbed && ls")
    assert "<returncode>0" in said(world, "test $PWD -ef /testbed")


def test_a_solution_is_resolved_and_a_doubled_one_is_not(
    world: MiniWorld, sandbox: DockerSandbox
) -> None:
    suite = SweMiniSuite(sandbox)
    for times, official in ((1, 1.0), (2, 0.0)):
        world.reset(TASK)
        for step in suite.sealed(TASK).oracle:
            for _ in range(times):
                world.execute(step.tool, step.arguments, actor="agent", operation_id="o")
        assert world.grade([]).official == official


def test_commands_have_no_network_and_no_rights(world: MiniWorld) -> None:
    world.reset(TASK)
    assert "uid=1000" in said(world, "id")
    assert said(world, "ls /sys/class/net").split("\n")[2:-1] == ["lo"]
    assert "CapEff:\t0000000000000000" in said(world, "cat /proc/self/status")
    assert "Read-only file system" in said(world, "touch /usr/x")


def test_a_grader_leaves_no_container(world: MiniWorld, sandbox: DockerSandbox) -> None:
    world.reset(TASK)
    said(world, "echo x >> waymark/extensions.txt")
    world.grade([])
    sandbox.close()
    assert sandbox.reap() == ()
