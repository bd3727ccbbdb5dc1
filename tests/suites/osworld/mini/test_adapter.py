"""desk_mini as a suite: controls, actions, resends, read-backs, the verdict."""

import json
import time
from typing import Any

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.validate import validate
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.ports.suite import Controlled, Declinable, Execution, Levelled
from hfr_bench.ports.verifier import Checked
from hfr_bench.suites.osworld.mini import DeskMiniSuite
from hfr_bench.suites.osworld.mini.adapter import MiniWorld
from hfr_bench.suites.osworld.mini.catalog import tasks
from hfr_bench.testing.conformance import check_suite

APPEND, QUEUE, SAFE = "files-append-log", "terminal-queue-job", "files-open-safe"
LOG = "logs/harbour.log"


def do(desk: MiniWorld, tool: str, /, **arguments: Any) -> Execution:
    return desk.execute(tool, arguments, actor="agent", operation_id="o")


def told(done: Execution) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.observation.body)
    return found


def play(desk: MiniWorld, name: str, twice: bool = False) -> float:
    """The task's oracle, each write twice if asked for; the verdict."""
    desk.reset(name)
    for step in tasks()[name].sealed.oracle:
        first = do(desk, step.tool, **step.arguments)
        if twice and first.changed:
            do(desk, step.tool, **step.arguments)
    return desk.grade(()).official


def test_it_is_a_suite_with_levels_controls_and_checks(suite: DeskMiniSuite) -> None:
    for port in (Levelled, Controlled, Declinable, Checked):
        assert isinstance(suite, port)
    check_suite(suite, SuiteSelection(suite="desk_mini", tasks=(APPEND, SAFE)))


def test_each_task_is_met_by_its_solution_and_by_nothing_less(suite: DeskMiniSuite) -> None:
    chosen = ("browser-add-bookmark", "files-open-safe", "sheet-raise-prices")  # all: see below
    assert [problem for name in chosen for problem in suite.controls(name)] == []


def test_a_task_is_fit_to_be_registered(suite: DeskMiniSuite) -> None:
    found = validate(suite, SuiteSelection(suite="desk_mini", tasks=(QUEUE, "files-open-safe")))
    assert found.problems == ()
    assert [(row.oracle, row.nop, row.changes) for row in found.tasks] == [
        (1.0, 0.0, True),
        (1.0, 1.0, False),
    ]


@pytest.mark.slow
def test_all_are_fit_to_be_registered(suite: DeskMiniSuite) -> None:
    found = validate(suite, SuiteSelection(suite="desk_mini", pool="all"))
    assert found.problems == ()
    assert [row.oracle for row in found.tasks] == [1.0] * 24
    given_up = [row.task_id for row in found.tasks if row.nop == 1.0]
    assert given_up == [name for name, task in tasks().items() if task.infeasible]
    assert {row.verdict for row in found.tools} == {"tested"}


def test_pools_and_tasks_are_chosen_by_name(suite: DeskMiniSuite) -> None:
    def chosen(pool: str) -> list[str]:
        return [t.task_id for t in suite.select(SuiteSelection(suite="desk_mini", pool=pool))]

    assert len(chosen("all")) == 24
    assert chosen("base") == chosen("all")
    assert len(chosen("demo")) == 8
    assert chosen("infeasible") == [name for name, task in tasks().items() if task.infeasible]
    assert len(chosen("sheet")) == 5
    with pytest.raises(BadInputError, match=r"no pool 'x'; there are: all, base, demo, infeasible"):
        chosen("x")
    with pytest.raises(BadInputError, match=r"no task 'x'; there are: browser-add-bookmark"):
        suite.select(SuiteSelection(suite="desk_mini", tasks=("x",)))


def test_the_grader_is_out_of_the_agents_reach(suite: DeskMiniSuite) -> None:
    for task in suite.select(SuiteSelection(suite="desk_mini", pool="all")):
        public = task.model_dump_json()
        assert "infeasible" not in public
        assert "compare_" not in public


def test_the_solution_has_just_the_expected_effects(suite: DeskMiniSuite, desk: MiniWorld) -> None:
    for shown in suite.select(SuiteSelection(suite="desk_mini", pool="demo")):
        name, task = shown.task_id, tasks()[shown.task_id]
        wanted = {one.natural_key for one in task.sealed.expected}
        desk.reset(name)
        for step in task.sealed.oracle:
            spec = task.public.tool(step.tool)
            assert spec is not None
            if do(desk, step.tool, **step.arguments).changed:
                assert spec.natural_key(step.arguments) in wanted


DOUBLED = (
    *("browser-add-bookmark", "doc-add-decision", "doc-insert-note", APPEND, "files-backup-copy"),
    *("settings-add-user", "settings-autostart", "sheet-add-row", "sheet-import-orders"),
    *("sheet-raise-prices", "terminal-next-version", QUEUE, "terminal-send-letter"),
)


@pytest.mark.parametrize("name", DOUBLED)
def test_a_write_that_is_done_twice_is_seen_by_the_evaluator(desk: MiniWorld, name: str) -> None:
    assert play(desk, name, twice=True) == 0.0


def test_whoever_gives_up_is_told_apart(desk: MiniWorld) -> None:
    desk.reset(APPEND)
    do(desk, "finish", status="FAIL")
    graded = desk.grade(())
    assert (graded.official, graded.goal_met) == (0.0, False)
    assert (graded.components["declined"], graded.components["infeasible"]) == (1.0, 0.0)
    desk.reset(SAFE)
    assert desk.grade(()).official == 0.0
    do(desk, "finish", status="FAIL")
    graded = desk.grade(())
    assert (graded.official, graded.goal_met) == (1.0, True)
    assert graded.components["infeasible"] == 1.0
    do(desk, "execute", command="ls")  # the last action counts, as upstream has it
    assert desk.grade(()).official == 0.0


def test_an_execution_tells_what_it_changed(desk: MiniWorld) -> None:
    initial = desk.reset(APPEND)
    assert do(desk, "execute", command=f"cat {LOG}").changed == ()
    first = do(desk, "execute", command=f"echo x >> {LOG}; mkdir -p a; echo > a/b")
    assert first.changed == ("a/b", LOG)
    assert first.state != initial
    assert do(desk, "append_text", path="~/new/x", text="1").changed == ("new/x",)
    assert do(desk, "write_text", path="/home/user/new/x", text="1").changed == ()


def test_a_command_that_fails_is_an_answer(desk: MiniWorld) -> None:
    desk.reset(APPEND)
    failed = do(desk, "execute", command="echo no >&2; exit 3")
    assert told(failed) == {"status": "success", "output": "", "error": "no\n", "returncode": 3}
    assert (failed.observation.domain_error, failed.observation.exit_code) == (True, 3)
    half = do(desk, "execute", command=f"echo x >> {LOG}; false")
    assert (half.observation.domain_error, half.changed) == (False, (LOG,))


def test_the_home_folder_has_one_name_everywhere(desk: MiniWorld) -> None:
    desk.reset(APPEND)
    done = do(desk, "execute", command="pwd; ls -d /home/user/logs; echo ~; ls /home/user/none")
    assert told(done)["output"] == "/home/user\n/home/user/logs\n/home/user\n"
    assert "'/home/user/none'" in told(done)["error"]
    assert desk.desk.home not in done.observation.body


def test_files_and_folders_are_read_as_they_are(desk: MiniWorld) -> None:
    desk.reset(APPEND)
    assert told(do(desk, "read_file", path=LOG))["content"].startswith("2026-03-11")
    assert told(do(desk, "read_file", path="/home/user/none")) == {
        "path": "/home/user/none",
        "missing": True,
    }
    assert told(do(desk, "read_file", path="logs"))["missing"]
    assert told(do(desk, "list_directory", path="."))["entries"] == ["logs/"]
    assert told(do(desk, "list_directory", path=LOG))["missing"]
    do(desk, "append_text", path="it's here", text="a 'b'\n")
    assert told(do(desk, "read_file", path="it's here"))["content"] == "a 'b'\n"


def test_of_a_long_file_only_the_beginning_is_read(suite: DeskMiniSuite, desk: MiniWorld) -> None:
    """So nothing follows from it: what was added may lie behind."""
    desk.reset(APPEND)
    do(desk, "execute", command="head -c 1048576 /dev/zero | tr '\\0' x > long")
    assert "cut" not in told(do(desk, "read_file", path="long"))
    do(desk, "append_text", path="long", text="y")
    reads = []
    for _ in range(2):
        reads.append(do(desk, "read_file", path="long").observation.body)
        do(desk, "append_text", path="long", text="y")
    assert json.loads(reads[0])["cut"]
    assert reads[0] == reads[1]
    assert suite.landed("grown_by", reads[0], reads[1], {"text": "y"}) == "unknown"


def test_the_terminal_shows_what_was_run(desk: MiniWorld) -> None:
    desk.reset(APPEND)
    do(desk, "execute", command="echo one")
    do(desk, "execute", command="echo two >&2")
    assert told(do(desk, "terminal"))["output"] == "$ echo one\none\n$ echo two >&2\ntwo\n"


@pytest.mark.parametrize(
    ("tool", "given", "read", "asked"),
    [
        (
            "execute",
            {"command": "echo x >> f"},
            "operation_log",
            {"tool": "execute", "command": "echo x >> f"},
        ),
        ("append_text", {"path": "f", "text": "x\n"}, "read_file", {"path": "f"}),
    ],
)
def test_a_write_can_be_asked_for(
    suite: DeskMiniSuite, desk: MiniWorld, tool: str, given: Any, read: str, asked: Any
) -> None:
    desk.reset(APPEND)
    spec = tasks()[APPEND].public.tool(tool)
    assert spec is not None
    assert spec.reconcile is not None
    assert spec.reconcile.fill(given) == asked
    reads = []
    for _ in range(3):
        reads.append(do(desk, read, **asked).observation.body)
        do(desk, tool, **given)
    predicate = spec.reconcile.landed
    assert suite.landed(predicate, reads[0], reads[0], given) == "absent"
    assert suite.landed(predicate, reads[0], reads[1], given) == "committed"
    assert suite.landed(predicate, reads[1], reads[2], given) == "committed"


def test_a_reset_takes_everything_back(desk: MiniWorld) -> None:
    initial = desk.reset(APPEND)
    do(desk, "execute", command="rm -rf logs; echo x > ../elsewhere; sleep 60 & disown")
    assert desk.reset(APPEND) == initial
    assert told(do(desk, "operation_log", tool="execute", command="ls"))["started"] == 0
    assert "elsewhere" not in told(do(desk, "execute", command="ls -a .."))["output"]


def test_what_is_no_action_is_refused_in_words(desk: MiniWorld) -> None:
    desk.reset(APPEND)
    for tool, given in (
        ("execute", {"command": 3}),
        ("execute", {"command": "a\0b"}),
        ("append_text", {"path": "", "text": "x"}),
        ("read_file", {"path": "a\nb"}),
        ("finish", {"status": "MAYBE"}),
        ("operation_log", {"tool": "wait"}),
        ("computer_13", {"action_type": "CLICK"}),
        ("nothing", {}),
    ):
        seen = do(desk, tool, **given).observation
        assert (seen.domain_error, told(Execution(seen))["status"]) == (True, "error"), tool


def test_a_trial_is_quick(desk: MiniWorld) -> None:
    play(desk, QUEUE)
    began = time.process_time()
    play(desk, QUEUE)
    assert time.process_time() - began < 3.0


def test_answers_are_the_same_on_every_desk(suite: DeskMiniSuite, desk: MiniWorld) -> None:
    other = suite.open()
    try:
        for name in (QUEUE, "sheet-raise-prices"):
            assert desk.reset(name) == other.reset(name)
            for step in tasks()[name].sealed.oracle:
                assert do(desk, step.tool, **step.arguments) == do(
                    other, step.tool, **step.arguments
                )
            assert desk.grade(()) == other.grade(())
    finally:
        other.close()
