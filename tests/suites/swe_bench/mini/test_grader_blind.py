"""Altering the grader changes nothing that a runtime can see: answers, checks, decisions."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hfr_bench import content
from hfr_bench.faults.generate import Draw, generate
from hfr_bench.lab.trial import run_trial
from hfr_bench.model.attempt import Observation
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.task import ExpectedEffect
from hfr_bench.model.terms import CheckLevel, Landed
from hfr_bench.model.trace import TraceEvent
from hfr_bench.ports.verifier import Check
from hfr_bench.shell.ran import RAN_SINCE
from hfr_bench.suites.swe_bench.mini import SweMiniSuite, catalog
from hfr_bench.suites.swe_bench.mini.catalog import MiniTask
from hfr_bench.testing.bench import FakeScope, planned_row
from hfr_bench.testing.fakes import fine
from tests.suites.swe_bench.mini.bench import MiniBench

TASKS = ("hfr__relay-1", "hfr__waymark-2")
RATE, HORIZON = 0.4, 12
SHOWN = """\
<returncode>0</returncode>
<output>

== hfr-check changed
relay/queue.py

== hfr-check new

== hfr-check applies
yes

== hfr-check file relay/queue.py
LEFT = 1

== hfr-check tree
tests/test_queue.py

== hfr-check mentions

== hfr-check end
</output>"""
"""What a look at a repository may show."""


def another(task: MiniTask) -> MiniTask:
    """Other hidden tests, another fix, another verdict to be expected, other effects wanted."""
    gold = replace(
        task.instance.gold, patch="", test_patch="", fail_to_pass=("no::such",), pass_to_pass=()
    )
    wanted = (ExpectedEffect(natural_key="nothing like it", tool="bash", count=3),)
    return replace(
        task,
        sealed=task.sealed.model_copy(update={"expected": wanted, "grading": {}}),
        instance=replace(task.instance, gold=gold),
        baked=replace(task.baked, eval_script="echo no tests"),
    )


@pytest.fixture
def altered() -> Iterator[None]:
    tasks: Any = catalog.tasks()
    kept = {task_id: tasks[task_id] for task_id in TASKS}
    tasks.update({task_id: another(task) for task_id, task in kept.items()})
    yield
    tasks.update(kept)


def trials(suite: SweMiniSuite, folder: Path) -> list[list[TraceEvent]]:
    """A trial a task under the matrix of shells."""
    folder.mkdir()
    found, world = [], None
    for task_id in TASKS:
        steps = suite.sealed(task_id).oracle
        (task,) = suite.select(SuiteSelection(suite="swe_mini", tasks=(task_id,)))
        draw = Draw("swe_mini", task_id, 1, "shell", RATE)
        matrix = content.matrix("shell")
        planned = generate(draw, task.fault_points, matrix, content.kinds(), HORIZON)
        scope: Any = FakeScope(MiniBench(suite, planned.events, steps))
        scope._world = world
        path = folder / f"{task_id}.jsonl"
        result = run_trial(scope, planned_row("hfr", task_id), 1, path)
        assert result.void is None, result.void_reason
        world = scope.world("swe_mini")
        found.append([TraceEvent.loads(line) for line in path.read_bytes().split(b"\n")[:-1]])
    assert world is not None
    world.close()
    return found


def told(events: list[TraceEvent]) -> list[str]:
    """All between the first line and the last, measured time left out."""
    return [e.model_copy(update={"wall_us": 0, "prev": ""}).dumps() for e in events[1:-1]]


def seen(suite: SweMiniSuite) -> list[str]:
    """What a strategy may ask: the public half, every check of every command, every reconcile."""
    found = []
    for task_id in TASKS:
        (task,) = suite.select(SuiteSelection(suite="swe_mini", tasks=(task_id,)))
        found.append(task.model_dump_json())
        verifier = suite.verifier(task)
        for step in suite.sealed(task_id).oracle:
            handed_in = "COMPLETE_TASK" in step.arguments["command"]
            for before, after in ((0, 0), (0, 1), (1, 1)):
                then, now = (f'{{"started": {n}, "ended": {n}}}' for n in (before, after))
                said = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n" if handed_in else ""
                good = fine(f"<returncode>0</returncode>\n<output>\n{said}</output>")

                def look(tool: str, asked: Any, now: str = now, to: Any = found) -> Observation:
                    to.append(f"{tool} {asked}")
                    return fine(SHOWN if tool == "bash" else now)

                check = Check("bash", step.arguments, good, (), look, before=then)
                found += [
                    repr(verifier.verify(level, check))
                    for level in (
                        CheckLevel.TRANSPORT,
                        CheckLevel.DETERMINISTIC,
                        CheckLevel.SEMANTIC,
                    )
                ]
                found.append(Landed(suite.landed(RAN_SINCE, then, now, step.arguments)))
            found.append(repr(suite.level_of("bash", step.arguments)))
    return found


def test_checks_and_reconcile_answers_are_byte_for_byte_the_same(
    suite: SweMiniSuite, request: pytest.FixtureRequest
) -> None:
    plain = seen(suite)
    assert any("pytest" in line for line in plain)  # the visible tests, by the tree alone
    request.getfixturevalue("altered")
    assert seen(suite) == plain
    assert suite.sealed(TASKS[0]).expected[0].count == 3  # it is another grader


@pytest.mark.slow
def test_whole_trials_are_the_same_but_for_their_verdict(
    suite: SweMiniSuite, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    plain = trials(suite, tmp_path / "plain")
    request.getfixturevalue("altered")
    other = trials(suite, tmp_path / "other")
    assert [told(events) for events in plain] == [told(events) for events in other]
    kinds = [event.body.type for events in plain for event in events]
    assert kinds.count("reconciled") > 0
    assert kinds.count("verified") > 0
    ends = []
    for one in (plain, other):
        last: list[Any] = [events[-1].body for events in one]
        ends.append([body.result.outcome for body in last])
    assert ends[0] != ends[1]
