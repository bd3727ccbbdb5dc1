"""Whole trials with a patch that does not parse, or spoils a test: with the checks, and without."""

from pathlib import Path
from typing import Any

import pytest

from hfr_bench.lab.trial import run_trial
from hfr_bench.model.task import OracleStep
from hfr_bench.model.terms import CheckLevel, End
from hfr_bench.model.trace import TraceEvent
from hfr_bench.ports.verifier import Check
from hfr_bench.suites.swe_bench.mini import SweMiniSuite, catalog
from hfr_bench.suites.swe_bench.mini.adapter import MiniWorld
from hfr_bench.suites.swe_bench.tasks import HAND_IN
from hfr_bench.testing.bench import FakeScope, planned_row
from tests.suites.swe_bench.mini.bench import MiniBench

TASK = "hfr__plume-2"
BREAKS = "echo 'def f(:' >> plume/quotes.py"
SPOILS = "sed -i 's/text\\[1:-1\\]/text/' plume/quotes.py"
V1, V2 = CheckLevel.DETERMINISTIC, CheckLevel.SEMANTIC


def trial(
    suite: SweMiniSuite, world: MiniWorld, path: Path, strategy: str, *commands: str
) -> tuple[Any, list[Any]]:
    """A trial of an agent that runs these, and hands in: its outcome, and its trace's bodies."""
    asked = (*commands, HAND_IN)
    steps = [OracleStep(actor="agent", tool="bash", arguments={"command": c}) for c in asked]
    scope: Any = FakeScope(MiniBench(suite, (), steps, (strategy,)))
    scope._world = world
    result = run_trial(scope, planned_row(strategy, TASK), 1, path)
    assert result.void is None, result.void_reason
    lines = path.read_bytes().split(b"\n")[:-1]
    return result.outcome, [TraceEvent.loads(line).body for line in lines]


def rejections(bodies: list[Any]) -> list[str]:
    return [
        "; ".join(body.reasons) for body in bodies if body.type == "verified" and not body.passed
    ]


@pytest.mark.parametrize("strategy", ["hfr", "exp_retry+verifier"])
def test_a_patch_that_does_not_parse_is_not_accepted(
    suite: SweMiniSuite, world: MiniWorld, tmp_path: Path, strategy: str
) -> None:
    outcome, bodies = trial(suite, world, tmp_path / "a.jsonl", strategy, BREAKS)
    told = rejections(bodies)
    assert told[0].startswith("plume/quotes.py:"), told  # at the write itself
    assert len(told) > 1  # and where it is handed in
    assert (outcome.end, outcome.accepted) == (End.ESCALATED, False)
    looked = [b for b in bodies if b.type == "effect" and b.point == "verify:bash"]
    assert looked
    assert not any(b.changed or b.actor != "strategy" for b in looked)


@pytest.mark.parametrize("strategy", ["hfr-verifier", "exp_retry"])
def test_without_checks_nobody_says_a_word(
    suite: SweMiniSuite, world: MiniWorld, tmp_path: Path, strategy: str
) -> None:
    outcome, bodies = trial(suite, world, tmp_path / "a.jsonl", strategy, BREAKS)
    assert (outcome.end, outcome.goal_met) == (End.ACCEPTED, False)
    assert not any(b.type == "verified" for b in bodies)


def test_a_spoilt_visible_test_is_told(
    suite: SweMiniSuite, world: MiniWorld, tmp_path: Path
) -> None:
    outcome, bodies = trial(suite, world, tmp_path / "a.jsonl", "hfr", SPOILS)
    assert "failed: tests/test_quotes.py::" in rejections(bodies)[0]
    assert not outcome.accepted


@pytest.mark.slow  # an interpreter with pytest a repository
def test_all_visible_tests_are_green_before_any_change(
    suite: SweMiniSuite, world: MiniWorld
) -> None:
    for task_id in {
        task.public.domain: task_id for task_id, task in catalog.tasks().items()
    }.values():
        world.reset(task_id)
        test = {"command": catalog.settings()["visible_tests"]}
        said = world.execute("bash", test, actor="agent", operation_id="green").observation.body
        assert said.startswith("<returncode>0</returncode>"), (task_id, said)


@pytest.mark.slow  # an interpreter with pytest a task
def test_no_step_of_a_solution_is_rejected(suite: SweMiniSuite, world: MiniWorld) -> None:
    undecided = set()
    for task_id, task in catalog.tasks().items():
        world.reset(task_id)
        verifier = suite.verifier(task.public)

        def look(tool: str, arguments: Any) -> Any:
            done = world.execute(tool, arguments, actor="strategy", operation_id="look")
            assert done.changed == ()
            return done.observation

        for step in task.sealed.oracle:
            status = {"command": step.arguments["command"]}
            before = look("command_status", status).body
            done = world.execute("bash", step.arguments, actor="agent", operation_id="step")
            check = Check("bash", step.arguments, done.observation, (), look, before=before)
            for level in (V1, V2):
                found = verifier.verify(level, check)
                assert found.passed, (task_id, step, found)
                undecided |= {task_id} if found.undecided else set()
    assert undecided == {"hfr__tally-2", "hfr__tally-3", "hfr__waymark-2"}  # no test knows them
