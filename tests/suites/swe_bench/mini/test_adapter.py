"""swe_mini on real shell hosts: controls, effects by what changed, a fresh place for the grader."""

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.validate import validate
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.signs import signs
from hfr_bench.model.terms import SideEffect
from hfr_bench.ports.suite import Controlled, Execution, Levelled
from hfr_bench.ports.verifier import Checked
from hfr_bench.suites.swe_bench.mini import SweMiniSuite
from hfr_bench.suites.swe_bench.mini.adapter import MiniWorld
from hfr_bench.testing.conformance import check_suite

APPEND = "echo waymark.ext.slash >> waymark/extensions.txt"
WAYMARK, WAYMARK_3 = "hfr__waymark-2", "hfr__waymark-3"


def bash(world: MiniWorld, command: str) -> Execution:
    return world.execute("bash", {"command": command}, actor="agent", operation_id="o")


def solve(suite: SweMiniSuite, world: MiniWorld, task_id: str, twice: int | None = None) -> str:
    """Play the oracle, one command twice; the state at its start."""
    initial = world.reset(task_id)
    for number, step in enumerate(suite.sealed(task_id).oracle):
        for _ in range(1 + (number == twice)):
            world.execute(step.tool, step.arguments, actor="agent", operation_id="o")
    return initial


def test_it_is_a_suite_with_levels_controls_and_checks(suite: SweMiniSuite) -> None:
    assert isinstance(suite, Levelled)
    assert isinstance(suite, Controlled)
    assert isinstance(suite, Checked)
    check_suite(suite, SuiteSelection(suite="swe_mini", tasks=(WAYMARK,)))


@pytest.mark.slow
def test_a_task_passes_its_own_controls(suite: SweMiniSuite) -> None:
    assert suite.controls(WAYMARK) == ()


@pytest.mark.slow
def test_all_twelve_are_fit_to_be_registered(suite: SweMiniSuite) -> None:
    found = validate(suite, SuiteSelection(suite="swe_mini", pool="all"))
    assert found.problems == ()
    assert [row.oracle for row in found.tasks] == [1.0] * 12
    assert [row.nop for row in found.tasks] == [0.0] * 12


def test_pools_and_tasks_are_chosen_by_name(suite: SweMiniSuite) -> None:
    def chosen(pool: str) -> list[str]:
        return [t.task_id for t in suite.select(SuiteSelection(suite="swe_mini", pool=pool))]

    assert len(chosen("all")) == 12
    assert chosen("base") == chosen("all")
    assert set(chosen("demo")) < set(chosen("all"))
    assert chosen("relay") == ["hfr__relay-1", "hfr__relay-2", "hfr__relay-3"]
    with pytest.raises(BadInputError, match=r"no pool 'x'; there are: all, base, demo, plume"):
        chosen("x")
    with pytest.raises(BadInputError, match=r"no task 'x'; there are: hfr__plume-1"):
        suite.select(SuiteSelection(suite="swe_mini", tasks=("x",)))


def test_the_grader_is_out_of_the_agents_reach(suite: SweMiniSuite) -> None:
    for task in suite.select(SuiteSelection(suite="swe_mini", pool="all")):
        public = task.model_dump_json()
        assert "FAIL_TO_PASS" not in public
        assert "test.patch" not in public


def test_an_execution_tells_what_it_changed(world: MiniWorld) -> None:
    initial = world.reset(WAYMARK)
    assert bash(world, "cat waymark/extensions.txt").changed == ()
    first = bash(world, APPEND)
    assert first.changed == ("waymark/extensions.txt",)
    assert first.state != initial
    assert bash(world, APPEND).changed == ("waymark/extensions.txt",)
    assert bash(world, "rm waymark/extensions.txt; git commit -qam x").changed == (
        ".git/refs/heads/main",
        "waymark/extensions.txt",
    )
    assert bash(world, "mkdir -p waymark/__pycache__; touch waymark/__pycache__/x").changed == ()


def test_a_command_that_fails_is_an_answer(world: MiniWorld) -> None:
    world.reset(WAYMARK)
    seen = bash(world, "echo no >&2; false").observation
    assert (seen.answered, seen.domain_error) == (True, True)
    assert seen.body == "<returncode>1</returncode>\n<output>\nno\n</output>"


def test_a_command_that_failed_half_way_was_not_refused(world: MiniWorld) -> None:
    world.reset(WAYMARK)
    done = bash(world, "echo x >> waymark/extensions.txt; false")
    assert done.observation.body.startswith("<returncode>1<")
    assert not done.observation.domain_error
    assert done.changed == ("waymark/extensions.txt",)


def test_a_stale_lock_fails_git_in_its_own_words_until_it_is_removed(world: MiniWorld) -> None:
    world.reset(WAYMARK)
    bash(world, "touch .git/index.lock")
    seen = bash(world, "git add -A").observation
    assert (seen.exit_code, seen.domain_error) == (128, True)
    assert "Unable to create '/testbed/.git/index.lock': File exists." in seen.body
    assert signs(seen.body) == ("EEXIST",)
    assert bash(world, "rm .git/index.lock; git add -A").observation.exit_code == 0


def test_a_command_tells_the_code_it_ended_with(world: MiniWorld) -> None:
    world.reset(WAYMARK)
    for command, code in (("exit 3", 3), ("kill -KILL $$", 137), ("trap 'exit 4' EXIT; true", 4)):
        seen = bash(world, command).observation
        assert seen.exit_code == code
        assert seen.body.startswith(f"<returncode>{code}<")


def test_a_shell_stays_known_by_its_mark_to_its_end(world: MiniWorld) -> None:
    """Its last command must not take its place: whoever breaks it looks for the mark."""
    world.reset(WAYMARK)
    script = 'import os; print(open(f"/proc/{os.getppid()}/cmdline").read())'
    said = bash(world, f"python3 -c '{script}'")
    assert "/run/hfr-call;" in said.observation.body


def test_a_reset_takes_everything_back(world: MiniWorld) -> None:
    initial = world.reset(WAYMARK)
    bash(world, "rm -rf .git waymark; echo x > ../elsewhere; sleep 60 &")
    assert world.reset(WAYMARK) == initial
    assert "elsewhere" not in bash(world, "ls -a ..").observation.body


def test_a_command_that_was_run_can_be_asked_for(world: MiniWorld, suite: SweMiniSuite) -> None:
    world.reset(WAYMARK)
    ask = {"command": APPEND}

    def status() -> str:
        seen = world.execute("command_status", ask, actor="strategy", operation_id="s")
        assert seen.changed == ()
        return seen.observation.body

    before = status()
    bash(world, APPEND)
    after = status()
    assert suite.landed("ran_since", before, before, ask) == "absent"
    assert suite.landed("ran_since", before, after, ask) == "committed"


def test_a_doubled_append_fails_where_the_tests_see_it(
    world: MiniWorld, suite: SweMiniSuite
) -> None:
    solve(suite, world, WAYMARK, twice=1)
    graded = world.grade([])
    assert (graded.official, graded.goal_met) == (0.0, False)
    assert graded.components["outcome:unresolved"] == 1.0


def test_a_doubled_append_that_no_test_sees_shows_in_the_state(
    world: MiniWorld, suite: SweMiniSuite
) -> None:
    solve(suite, world, WAYMARK_3)
    once = world.grade([])
    solve(suite, world, WAYMARK_3, twice=2)
    twice = world.grade([])
    assert (once.official, twice.official) == (1.0, 1.0)
    assert once.state_digest != twice.state_digest


def test_only_the_patch_reaches_the_grader(world: MiniWorld, suite: SweMiniSuite) -> None:
    solve(suite, world, WAYMARK)
    bash(world, "git commit -qam mine; touch .git/index.lock; rm -rf /nowhere")
    assert world.grade([]).official == 1.0
    solve(suite, world, WAYMARK)
    bash(world, "rm -rf .git")
    assert world.grade([]).components["outcome:empty_patch"] == 1.0


@pytest.mark.parametrize(
    ("command", "level"),
    [("cat x", "R0"), ("echo a > f", "R1"), (APPEND, "R2"), ("git push", "R3")],
)
def test_each_command_has_a_level_of_its_own(suite: SweMiniSuite, command: str, level: str) -> None:
    assert suite.level_of("bash", {"command": command}) is SideEffect(level)
    assert suite.level_of("command_status", {"command": command}) is None
    assert suite.level_of("bash", {}) is None


def test_what_is_no_command_is_answered(world: MiniWorld) -> None:
    world.reset(WAYMARK)
    for tool, arguments in (("bash", {}), ("bash", {"command": 1}), ("other", {"command": "ls"})):
        done = world.execute(tool, arguments, actor="agent", operation_id="o")
        assert done.observation.domain_error
        assert done.observation.body.startswith("Error")
