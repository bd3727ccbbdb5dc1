"""Altering the grader changes nothing that a runtime can see: answers, checks, levels."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.task import ExpectedEffect
from hfr_bench.ports.verifier import Check
from hfr_bench.suites.osworld import contracts
from hfr_bench.suites.osworld.halves import DeskTask
from hfr_bench.suites.osworld.mini import DeskMiniSuite, catalog
from hfr_bench.suites.osworld.mini.adapter import MiniWorld
from hfr_bench.suites.osworld.verifier import DeskVerifier
from hfr_bench.testing.fakes import fine

TASKS = ("files-append-log", "settings-add-user", "sheet-fetch-rates")
READS = {
    "execute": (contracts.logged(0, 0), contracts.logged(1, 1)),
    "append_text": (contracts.file_told("f", "a\n"), contracts.file_told("f", "a\nb\n")),
}


def another(task: DeskTask) -> DeskTask:
    """Another evaluator, other effects wanted."""
    wanted = (ExpectedEffect(natural_key="nothing like it", tool="execute", count=3),)
    sealed = task.sealed.model_copy(update={"expected": wanted})
    evaluator: dict[str, Any] = {"func": "infeasible"}
    if task.infeasible:
        rule = {"type": "rule", "rules": {"expected": "none"}}
        look = {"type": "vm_command_line", "command": "ls", "shell": True}
        evaluator = {"func": "exact_match", "result": look, "expected": rule}
    return replace(task, sealed=sealed, row={**task.row, "evaluator": evaluator})


@pytest.fixture
def altered() -> Iterator[None]:
    tasks: Any = catalog.tasks()
    kept = {name: tasks[name] for name in TASKS}
    tasks.update({name: another(task) for name, task in kept.items()})
    yield
    tasks.update(kept)


def seen(suite: DeskMiniSuite, desk: MiniWorld) -> list[str]:
    """The public halves, every answer, every check and every level."""
    found = []
    for task in suite.select(SuiteSelection(suite="desk_mini", tasks=TASKS)):
        found.append(task.model_dump_json())
        verifier = suite.verifier(task)
        found.append(desk.reset(task.task_id))
        for step in suite.sealed(task.task_id).oracle:
            done = desk.execute(step.tool, step.arguments, actor="agent", operation_id="o")
            found.append(repr(done))
            found.append(repr(suite.level_of(step.tool, step.arguments)))
            reads = READS.get(step.tool, (None, None))
            for after in reads:
                look = lambda _tool, _arguments, after=after: fine(after or "{}")  # noqa: E731
                check = Check(
                    step.tool, step.arguments, done.observation, (), look, before=reads[0]
                )
                found += [repr(verifier.verify(level, check)) for level in DeskVerifier.levels]
    return found


def test_answers_and_checks_are_byte_for_byte_the_same(
    suite: DeskMiniSuite, desk: MiniWorld, request: pytest.FixtureRequest
) -> None:
    plain = seen(suite, desk)
    verdict = desk.grade(()).goal_met
    request.getfixturevalue("altered")
    assert seen(suite, desk) == plain
    assert desk.grade(()).goal_met is not verdict  # it is another grader
