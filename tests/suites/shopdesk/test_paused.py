"""The desk in a container that is frozen: real timeouts, and calls that land late."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hfr_bench import content, plugins
from hfr_bench.faults.audit import audit
from hfr_bench.lab.injecting import Nested
from hfr_bench.lab.trial import run_trial
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.terms import Layer
from hfr_bench.model.trace import TraceEvent
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import Sandbox, SandboxContext
from hfr_bench.suites.shopdesk import ShopdeskSuite
from hfr_bench.testing.bench import FakeBench, FakeScope, planned_row
from hfr_bench.testing.breaking import check_bears

pytestmark = pytest.mark.docker

FEW, MANY = 2, 8


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    context = SandboxContext(f"test{secrets.token_hex(6)}", this_process())
    made: Sandbox = plugins.find("sandboxes", "docker")(context)
    yield made
    made.close()


class Desk(FakeBench):
    """A bench with the real desk."""

    def __init__(self, suite: Any, faults: tuple[FaultEvent, ...], **prereg: Any) -> None:
        super().__init__(faults, shop=suite, **prereg)
        self.tasks = {
            t.task_id: t for t in suite.select(SuiteSelection(suite="shopdesk", pool="base"))
        }
        self.kinds = content.kinds()
        made = [plugins.find("injectors", name)() for name in ("tool_calls", "environment")]
        self.tool_injector: Any = Nested(made)

    def task(self, suite: str, task_id: str) -> Any:
        return self.tasks[task_id]


def planned(oracle: Any) -> tuple[FaultEvent, ...]:
    """A pause at the first call of every tool that the oracle uses."""
    tools = dict.fromkeys(step.tool for step in oracle if step.actor == "agent")
    return tuple(
        FaultEvent(
            injection_id=f"pause/{tool}",
            layer=Layer.ENVIRONMENT,
            kind="env_pause",
            point=f"tool:{tool}",
            occurrence=1,
        )
        for tool in tools
    )


@pytest.mark.parametrize("tasks", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("arm", ["hfr", "blind_resend"])
def test_every_tool_is_paused_once_and_every_late_call_is_told(
    arm: str, tasks: int, sandbox: Sandbox, tmp_path: Path
) -> None:
    suite = ShopdeskSuite(sandbox, tasks=tasks)
    reached = delivered = 0
    scope: Any = FakeScope(Desk(suite, ()))
    for task_id in scope.bench.tasks:
        faults = planned(suite.sealed(task_id).oracle)
        bench = scope.bench = Desk(suite, faults)
        path = tmp_path / f"{task_id.replace('/', '_')}.jsonl"
        result = run_trial(scope, planned_row(arm, task_id), 1, path)
        assert result.void is None, result.void_reason
        lines = path.read_text(encoding="utf-8").splitlines()
        events = [TraceEvent.model_validate_json(line) for line in lines]
        found = audit(events, bench.schedule("x"), content.kinds(), tool_latency_us=400_000)
        assert [one.mismatch for one in found.deliveries if one.mismatch] == []
        assert (found.failed, found.untrue) == ((), ())
        sums = found.sums["environment", "env_pause"]
        reached, delivered = reached + sums.reached, delivered + sums.delivered
    assert reached == delivered
    assert delivered >= (20 if tasks == MANY else 4)
    scope.world("shopdesk").close()


def test_the_desk_bears_what_it_says(sandbox: Sandbox) -> None:
    suite = ShopdeskSuite(sandbox, tasks=1)
    (task,) = suite.select(SuiteSelection(suite="shopdesk", pool="base"))
    world = suite.open()
    step = next(s for s in suite.sealed(task.task_id).oracle if s.actor == "agent")
    check_bears(world, task.task_id, step)
    world.close()
