"""The rules that join metrics to a verdict."""

import pytest

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.suites.osworld.grade import grade
from hfr_bench.testing.desktop import FakeGuest

SAYS = {"type": "vm_command_line", "command": "whoami"}


def rule(**rules):
    return {"type": "rule", "rules": rules}


def exact(value):
    return {
        "func": "exact_match",
        "result": {"type": "rule", "rules": value},
        "expected": rule(expected=1),
    }


def both(values, conj):
    """Two exact matches with 1, joined."""
    return {
        "func": ["exact_match"] * len(values),
        "conj": conj,
        "result": [{"type": "rule", "rules": value} for value in values],
        "expected": [rule(expected=1)] * len(values),
    }


def lines(*expected, conj="and", **getter):
    """Shares of lines in common, so that scores between 0 and 1 are joined as well."""
    part = {"type": "vm_file", "path": "/a", "dest": "a"} | getter
    return {
        "func": ["diff_text_file"] * len(expected),
        "conj": conj,
        "result": [part] * len(expected),
        "expected": [{"type": "vm_file", "path": path, "dest": path[1:]} for path in expected],
    }


def test_a_metric_is_handed_what_its_getters_read(world, guest):
    guest.run = lambda command, shell: (f"{command} {shell}", "", 0)
    asked = {"func": "exact_match", "result": SAYS, "expected": rule(expected="whoami False")}
    found = grade(asked, world)
    assert found.met
    assert [(check.metric, check.score) for check in found.checks] == [("exact_match", 1.0)]
    assert not grade(asked | {"expected": rule(expected="root")}, world).met


@pytest.mark.parametrize(
    ("values", "conj", "score"),
    [
        ([1, 1], "and", 1.0),
        ([1, 2], "and", 0.0),
        ([2, 1], "and", 0.0),
        ([1, 2], "or", 1.0),
        ([2, 1], "or", 1.0),
        ([2, 3], "or", 0.0),
    ],
)
def test_metrics_are_joined(world, values, conj, score):
    assert grade(both(values, conj), world).score == score


def test_and_stops_at_the_first_zero_and_or_at_the_first_one(world):
    assert len(grade(both([2, 1], "and"), world).checks) == 1
    assert len(grade(both([1, 2], "or"), world).checks) == 1


def test_and_is_the_mean_and_or_the_best_of_what_lies_between(world, guest):
    guest.files = {"/a": b"1\n2\n", "/half": b"1\n3\n", "/same": b"1\n2\n"}
    assert grade(lines("/half", "/same"), world).score == 0.75
    assert grade(lines("/half", "/half", conj="or"), world).score == 0.5
    assert grade(lines("/half", "/same", conj="or"), world).score == 1.0


def test_a_file_that_is_not_there_is_a_zero_for_its_metric_alone(world, guest):
    guest.files = {"/a": b"1"}
    assert grade(lines("/a", type="cache_file", path="none"), world).score == 0.0
    other = lines("/a", "/a", conj="or")
    other["result"][0] = {"type": "cache_file", "path": "none"}
    found = grade(other, world)
    assert found.score == 1.0
    assert "none" in found.checks[0].why


@pytest.mark.parametrize(
    ("actions", "infeasible", "feasible"),
    [
        (["FAIL"], 1.0, 0.0),
        (["FAIL", "DONE"], 0.0, 1.0),
        ([], 0.0, 1.0),
        ([{"action_type": "FAIL"}], 1.0, 0.0),
        ([{"action_type": "CLICK"}], 0.0, 1.0),
    ],
)
def test_giving_up_is_right_only_where_nothing_can_be_done(world, actions, infeasible, feasible):
    world.actions = actions
    assert grade({"func": "infeasible"}, world).score == infeasible
    assert grade(exact(1), world).score == feasible


def test_steps_before_the_grading_come_first_and_a_window_gone_is_no_error(world, guest):
    steps = [
        {"type": "activate_window", "parameters": {"window_name": "gone"}},
        {"type": "execute", "parameters": {"command": ["save"]}},
    ]
    found = grade(exact(1) | {"postconfig": steps}, world)
    assert found.met
    assert "gone" not in found.error
    assert len(found.notes) == 1
    assert [path for path, _ in guest.calls] == ["/setup/activate_window", "/setup/execute"]


def test_a_step_that_must_work_and_does_not_is_an_error(world, guest):
    guest.broken = ["/setup/open_file"]
    steps = [{"type": "open", "parameters": {"path": "/x"}}]
    found = grade(exact(1) | {"postconfig": steps}, world)
    assert found.score == 0.0
    assert "step 1 (open)" in found.error


def test_where_a_metric_raises_the_score_is_zero_and_why_is_said(world):
    asked = {
        "func": "is_in_list",
        "result": {"type": "vm_file", "path": "/none", "dest": "x"},
        "expected": rule(expected="a"),
    }
    found = grade(asked, world)
    assert found.score == 0.0
    assert "is_in_list: TypeError" in found.error


def test_what_nothing_here_grades_is_no_zero(world):
    asked = {"func": "read_minds", "result": SAYS}
    found = grade(asked, world)
    assert found.score is None
    assert not found.met
    assert found.ungradeable == "no metric 'read_minds'"
    asked = exact(1) | {"result": {"type": "googledrive_file"}}
    assert grade(asked, world).ungradeable == "no getter 'googledrive_file'"
    asked = exact(1) | {"postconfig": [{"type": "login", "parameters": {}}]}
    assert grade(asked, world).ungradeable == "no postconfig step 'login'"


def test_a_file_that_is_not_in_the_cache_is_not_downloaded(world):
    asked = {
        "func": "diff_text_file",
        "result": {"type": "vm_file", "path": "/none", "dest": "x"},
        "expected": {"type": "cloud_file", "path": "https://x.invalid/gold", "dest": "gold"},
    }
    assert "https://x.invalid/gold is not in the cache" in grade(asked, world).ungradeable
    (world.cache / "gold").write_text("1")
    assert grade(asked, world).score == 0.0


def test_upstreams_own_metric_serves_where_ours_is_missing(world):
    class Stand:
        """Knows one metric; says a half."""

        def lacks(self, metric):
            return {"theirs": (), "blind": ("easyocr",)}.get(metric)

        def judge(self, metric, result, expected, options):
            return 0.5 if (metric, result, expected, options) == ("theirs", 1, 1, {"n": 2}) else 0

    asked = {
        "func": "theirs",
        "result": {"type": "rule", "rules": 1},
        "expected": {"type": "rule", "rules": 1},
        "options": {"n": 2},
    }
    assert grade(asked, world, Stand()).score == 0.5
    assert grade(asked, world).score is None
    found = grade(asked | {"func": "blind"}, world, Stand())
    assert found.ungradeable == "no metric 'blind'; upstream's misses easyocr"


def test_a_guest_that_does_not_answer_is_no_verdict(world):
    class Silent(FakeGuest):
        """Nobody answers."""

        def call(self, method, path, **_):
            raise InfrastructureError("no answer")

    world.guest = Silent()
    with pytest.raises(InfrastructureError, match="no answer"):
        grade({"func": "exact_match", "result": SAYS, "expected": rule(expected="x")}, world)


@pytest.mark.parametrize(
    ("evaluator", "said"),
    [
        ({}, "func None is no name"),
        ({"func": "exact_match"}, "exact_match: result is missing"),
        ({"func": "exact_match", "result": {"rules": 1}}, "each must be an object with a type"),
        ({"func": "exact_match", "result": [SAYS]}, "result must be an object, as func is"),
        ({"func": ["exact_match"] * 2, "result": [SAYS]}, "result must be a list of 2"),
        ({"func": "exact_match", "result": SAYS, "conj": "xor"}, "conj 'xor': there are and, or"),
        ({"func": "infeasible", "postconfig": [1]}, "postconfig must be a list of steps"),
    ],
)
def test_a_malformed_evaluator_is_named(world, evaluator, said):
    with pytest.raises(BadInputError, match=said):
        grade(evaluator, world)
