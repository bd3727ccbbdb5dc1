"""The living shell: what changed, what is handed in, what a check finds."""

import json
from typing import Any

import pytest

from hfr_bench.ports.suite import Execution
from hfr_bench.suites.agentbench.os_interaction.rows import Match
from hfr_bench.suites.agentbench.os_interaction.world import OsWorld, matches


def ask(world: OsWorld, tool: str, **arguments: Any) -> Execution:
    return world.execute(tool, arguments, actor="agent", operation_id="x")


def run(world: OsWorld, script: str) -> Execution:
    return ask(world, "bash_action", script=script)


def test_both_streams_are_one_answer_and_the_home_is_where_scripts_start(world: OsWorld) -> None:
    world.reset("own-append-entry")
    done = run(world, "ls; pwd; cat none; [ $PWD = $HOME ] || echo elsewhere")
    lines = done.observation.body.splitlines()
    assert lines[2:4] == ["log.txt", "/sandbox/home"]
    assert "No such file" in lines[4]
    assert done.changed == ()


def test_files_that_change_are_told_and_a_refusal_is_one(world: OsWorld) -> None:
    first = world.reset("own-append-entry")
    done = run(world, "echo a >> log.txt; mkdir -p d && echo b > d/e")
    assert done.changed == ("home/d/e", "home/log.txt")
    assert done.state != first
    failed = run(world, "cat none")
    assert (failed.observation.domain_error, failed.observation.exit_code) == (True, 1)
    half = run(world, "echo c >> log.txt; false")
    assert (half.observation.domain_error, half.changed) == (False, ("home/log.txt",))


def test_taking_away_what_is_not_there_is_no_effect(world: OsWorld) -> None:
    world.reset("own-clear-drafts")
    first, second = (run(world, "rm -rf drafts") for _ in range(2))
    assert (first.observation.domain_error, second.observation.domain_error) == (False, True)


def test_a_reset_brings_everything_back(world: OsWorld) -> None:
    first = world.reset("own-clear-drafts")
    run(world, "rm -r drafts keep")
    assert world.reset("own-clear-drafts") == first
    assert world.reset("own-count-errors") != first


def test_status_counts_runs_of_this_very_script(world: OsWorld) -> None:
    world.reset("own-next-number")
    asked = json.loads(ask(world, "command_status", script="cat counter").observation.body)
    assert asked == {"started": 0, "ended": 0}
    run(world, "cat counter")
    asked = json.loads(ask(world, "command_status", script="cat counter").observation.body)
    assert asked == {"started": 1, "ended": 1, "last": "The output of the OS:\n\n41\n"}


def test_the_first_hand_in_stands(world: OsWorld) -> None:
    world.reset("own-largest")
    assert world.grade(()).official == 0.0
    first = ask(world, "answer_action", answer=" deck.txt ")
    same = ask(world, "answer_action", answer=" deck.txt ")
    other = ask(world, "finish_action", thought="done")
    assert (first.changed, same.changed) == (("answers",), ())
    assert (same.observation.domain_error, other.observation.domain_error) == (False, True)
    assert world.grade(()).official == 1.0


@pytest.mark.parametrize(("answer", "official"), [("3", 1.0), ("4", 0.0), ("three", 0.0)])
def test_a_check_is_given_the_answer_and_what_the_solution_says(
    world: OsWorld, answer: str, official: float
) -> None:
    world.reset("own-count-errors")
    ask(world, "answer_action", answer=answer)
    assert world.grade(()).official == official


def test_a_script_that_runs_twice_fails_a_task_that_counts(world: OsWorld) -> None:
    script = "n=$(cat counter); echo $((n + 2)) > counter"
    for runs, official in ((1, 1.0), (2, 0.0)):
        world.reset("own-next-number")
        for _ in range(runs):
            run(world, script)
        ask(world, "finish_action", thought="done")
        assert world.grade(()).official == official


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("bash_action", {}),
        ("bash_action", {"script": "\0"}),
        ("command_status", {"script": 3}),
        ("finish_action", {}),
        ("answer_action", {"answer": 3}),
        ("other", {"script": "ls"}),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(
    world: OsWorld, tool: str, arguments: dict[str, Any]
) -> None:
    first = world.reset("own-largest")
    done = ask(world, tool, **arguments)
    assert done.observation.domain_error
    assert (done.changed, done.state) == ((), first)


def test_matches_are_upstream_s() -> None:
    assert matches(Match("a"), " a\n")
    assert not matches(Match("a", strip=False), " a")
    assert matches(Match(regex="^b+"), "bbc")
    assert not matches(Match(regex="^b+"), "abb")
