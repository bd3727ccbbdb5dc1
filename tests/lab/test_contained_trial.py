"""Whole trials whose tool runs wild in its container: graded or void, and the next one is well."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hfr_bench import plugins
from hfr_bench.lab.trial import run_trial
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import ImageSpec, Sandbox, SandboxContext
from hfr_bench.ports.suite import Execution
from hfr_bench.shell.client import Shell, command
from hfr_bench.testing.bench import FakeBench, FakeScope, planned_row
from hfr_bench.testing.shop import ShopSuite, ShopWorld

pytestmark = pytest.mark.docker

PYTHON_BOMB = """python3 -c '
import os
while True:
    try: os.fork()
    except OSError: pass'"""
WILD = {
    "a shell's fork bomb": "bomb() { bomb | bomb & }; bomb; sleep 60",
    "Python's fork bomb": PYTHON_BOMB,
    "a memory hog": "python3 -c 'x = bytearray(1 << 31)'; echo survived",
    "many hogs": "for n in 1 2 3 4; do python3 -c 'x = bytearray(1 << 27); input()' & done; wait",
    "a disk hog": "cat /dev/zero > /sandbox/full; cat /dev/zero > /tmp/full",
}


class ShellShop(ShopSuite):
    """The shop, whose orders run a script in a container first."""

    def __init__(self, sandbox: Sandbox, script: str) -> None:
        super().__init__(sandbox)
        self._sandbox, self.script = sandbox, script

    def open(self) -> ShopWorld:
        spec = ImageSpec("trial", "FROM base\n")
        shell = Shell(self._sandbox.start(command(spec, memory_mib=256)))
        return ShellWorld(self, self._sealed, shell)


class ShellWorld(ShopWorld):
    """A shop with a shell."""

    def __init__(self, shop: ShellShop, sealed: Mapping[str, Any], shell: Shell) -> None:
        super().__init__(sealed)
        self._shop, self._shell = shop, shell

    def reset(self, task_id: str) -> str:
        return f"{super().reset(task_id)} {self._shell.reset()}"

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, actor: str, operation_id: str
    ) -> Execution:
        if tool == "add_order":
            self._shell.exec(operation_id, self._shop.script, timeout_s=1)
        return super().execute(tool, arguments, actor=actor, operation_id=operation_id)

    def close(self) -> None:
        self._shell.close()


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    context = SandboxContext("testcontainedtrial", this_process())
    made: Sandbox = plugins.find("sandboxes", "docker")(context, pids=64)
    yield made
    made.close()


@pytest.mark.parametrize("script", WILD.values(), ids=WILD)
def test_a_wild_tool_ends_graded_or_void_and_the_next_trial_is_well(
    sandbox: Sandbox, tmp_path: Path, script: str
) -> None:
    shop = ShellShop(sandbox, script)
    bench = FakeBench(shop=shop)
    scope = FakeScope(bench)
    row = planned_row(task_id="shop/1")
    wild = run_trial(scope, row, 1, tmp_path / "wild.jsonl")  # type: ignore[arg-type]
    assert (wild.outcome is None) is (wild.void is not None)
    shop.script = "echo well"
    next_one = run_trial(scope, row, 1, tmp_path / "next.jsonl")  # type: ignore[arg-type]
    assert next_one.outcome is not None, next_one.void_reason
    assert next_one.outcome.succeeded
    scope.drop_world("shop")
    states = {state for _, _, state in bench.states}
    assert len(states) == 1, "a trial began in another state than the one before it"
