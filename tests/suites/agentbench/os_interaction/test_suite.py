"""os_mini as a suite: fit to be registered; os_interaction only where it can be."""

import json
from pathlib import Path

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.validate import validate
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.terms import SideEffect
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.agentbench.os_interaction import OsInteractionSuite, OsMiniSuite
from hfr_bench.suites.agentbench.os_interaction.catalog import kinds, load
from hfr_bench.testing.conformance import check_suite

BASE = SuiteSelection(suite="os_mini", pool="base")


def test_it_is_a_suite(suite: OsMiniSuite) -> None:
    check_suite(suite, BASE)


def test_it_is_fit_to_be_registered_and_every_tool_is_tried(suite: OsMiniSuite) -> None:
    found = validate(suite, BASE)
    assert found.problems == ()
    assert {(row.oracle, row.nop, row.changes) for row in found.tasks} == {(1.0, 0.0, True)}
    assert {row.verdict for row in found.tools} == {"tested"}
    bash = next(row for row in found.tools if row.tool == "bash_action")
    assert (bash.changed, bash.nothing) == (3, 1)
    assert set(bash.reconciled) == {"landed:committed", "not landed:absent"}


def test_where_only_the_solution_tells_the_answer_it_is_run(suite: OsMiniSuite) -> None:
    last = suite.sealed("own-count-errors").oracle[-1]
    assert (last.tool, last.arguments) == ("answer_action", {"answer": "3"})
    assert suite.sealed("own-largest").oracle[-1].arguments == {"answer": "deck.txt"}
    assert suite.sealed("own-private-keys").oracle[-1].tool == "finish_action"


def test_pools_and_what_is_not_there(suite: OsMiniSuite) -> None:
    sizes = [
        len(suite.select(SuiteSelection(suite="os_mini", pool=pool)))
        for pool in ("base", "own", "answer", "found", "state")
    ]
    assert sizes == [6, 6, 1, 1, 4]
    with pytest.raises(BadInputError, match="there are: base, own, answer, found, state"):
        suite.select(SuiteSelection(suite="os_mini", pool="std"))
    with pytest.raises(BadInputError, match="no task 'x'; there are 6"):
        suite.select(SuiteSelection(suite="os_mini", tasks=("x",)))


def test_what_is_graded_is_in_the_pin_and_not_in_the_task(suite: OsMiniSuite) -> None:
    assert suite.pin(BASE) == suite.pin(BASE)
    told = json.dumps([task.model_dump(mode="json") for task in suite.select(BASE)])
    for task in suite.select(BASE):
        for step in suite.sealed(task.task_id).oracle[:-1]:
            assert json.dumps(step.arguments["script"])[1:-1] not in told
    assert suite.level_of("bash_action", {"script": "ls"}) is SideEffect.READ
    assert suite.level_of("finish_action", {"thought": "x"}) is None


def test_upstream_s_tasks_need_containers(tmp_path: Path) -> None:
    sandbox = ProcessSandbox(SandboxContext("root", this_process()))
    made = OsInteractionSuite(sandbox, tmp_path)
    with pytest.raises(BadInputError, match=r"docker alone .*os_mini, our own pack"):
        made.select(SuiteSelection(suite="os_interaction", pool="base"))
    made.close()


def test_a_task_that_lacks_something_here_is_refused_by_name(tmp_path: Path) -> None:
    graded = {"match": "1"}
    rows = [
        {"description": "a", "evaluation": graded},
        {"description": "b", "evaluation": graded, "start": "x=1"},
        {"description": "c", "evaluation": graded, "create": {"init": "apt install sudo"}},
        {"description": "d", "evaluation": graded, "create": {"local": "packages"}},
    ]
    for part in "1234567":
        folder = tmp_path / "data/os_interaction/data" / part
        folder.mkdir(parents=True)
        (folder / "made.json").write_text(json.dumps(rows))
    made = OsInteractionSuite(ProcessSandbox(SandboxContext("s", this_process())), tmp_path)
    assert [task.public.task_id for task in made._pool("base")] == [
        f"std-00{part}-made-00000" for part in "1234567"
    ]
    for number, why in ((1, "a shell of its own"), (2, "no network"), (3, "another image")):
        with pytest.raises(BadInputError, match=why):
            made.sealed(f"std-001-made-0000{number}")
    made.close()


def test_the_144_tasks_of_a_checkout_are_read_and_told_by_kind(root: Path) -> None:
    std = load("os_interaction", "std", root)
    assert len(std) == 144
    assert kinds(list(std.values())) == {
        "answer": 6,
        "found": 122,
        "image": 1,
        "network": 3,
        "session": 4,
        "state": 8,
    }
    assert len(load("os_interaction", "dev", root)) == 26


def test_doctor_is_told() -> None:
    assert OsMiniSuite.diagnose().ok
    assert OsInteractionSuite.diagnose().ok is None
