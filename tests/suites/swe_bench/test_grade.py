"""The official rule case by case, the ends that are no verdict, and a real run from end to end."""

from dataclasses import replace

import pytest

from hfr_bench.suites.swe_bench.apply import apply_patch
from hfr_bench.suites.swe_bench.grade import (
    END,
    START,
    Evaluation,
    Outcome,
    cache_key,
    grade,
    read_log,
    recorded_exit_code,
)
from hfr_bench.suites.swe_bench.parsers import parser
from hfr_bench.suites.swe_bench.rows import Gold

PYTEST = parser("parse_log_pytest")
PATCH = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n"
SPOOF = PATCH.replace("a.py", "conftest.py")
GOLD = Gold(PATCH, "", ("t.py::new",), ("t.py::old", "t.py::kept"))
ALL = {"t.py::new": "PASSED", "t.py::old": "PASSED", "t.py::kept": "PASSED"}


def log_of(statuses, code=0, before="", after=""):
    lines = [f"{status} {name}" for name, status in statuses.items()]
    body = "\n".join((before, f"+ : '{START}'", *lines, f"+ : '{END}'", after))
    return body + (f"\n>>>>> Test Exit Code: {code}\n" if code is not None else "\n")


def judge(log, gold=GOLD, patch=PATCH, **rest):
    return grade(gold, patch, Evaluation(log), PYTEST, **rest)


def test_all_named_tests_pass():
    found = judge(log_of({**ALL, "t.py::other": "FAILED"}, code=1))
    assert found.resolved
    assert found.outcome is Outcome.RESOLVED
    assert (found.reason, found.suspect_spoof) == ("", ())


@pytest.mark.parametrize(
    ("name", "status", "resolved"),
    [
        ("new", "XFAIL", True),
        ("new", "SKIPPED", False),
        ("new", "FAILED", False),
        ("new", "ERROR", False),
        ("new", "XPASS", False),
        ("new", None, False),
        ("old", "XFAIL", True),
        ("old", "SKIPPED", True),
        ("old", "FAILED", False),
        ("old", "ERROR", False),
        ("old", None, False),
    ],
)
def test_what_counts_as_passed(name, status, resolved):
    statuses = {key: value for key, value in ALL.items() if key != f"t.py::{name}"}
    if status:
        statuses[f"t.py::{name}"] = status
    found = judge(log_of(statuses))
    assert found.resolved is resolved
    assert found.outcome is (Outcome.RESOLVED if resolved else Outcome.UNRESOLVED)
    assert bool(found.reason) is not resolved


def test_partial():
    gold = replace(GOLD, fail_to_pass=("t.py::new", "t.py::newer"))
    found = judge(log_of({**ALL, "t.py::newer": "FAILED"}), gold)
    assert (found.resolved, found.partial) == (False, True)
    assert found.reason == "1 of FAIL_TO_PASS failed"
    assert not judge(log_of({**ALL, "t.py::old": "FAILED"}), gold).partial
    assert not judge("").partial


def test_without_tests_to_keep_the_new_ones_decide():
    gold = replace(GOLD, pass_to_pass=())
    assert judge(log_of({"t.py::new": "PASSED"}), gold).resolved


def test_fail_only_believes_what_is_not_told():
    found = judge(log_of({"t.py::x": "PASSED"}), eval_type="fail_only")
    assert found.resolved
    assert not judge(log_of({"t.py::new": "FAILED"}, 1), eval_type="fail_only").resolved


@pytest.mark.parametrize(
    ("statuses", "resolved"),
    [
        ({"t.py::p[log(photon)]": "PASSED"}, True),
        ({"t.py::p[log(photon)]": "PASSED", "t.py::p[log(photon),x]": "XFAIL"}, True),
        ({"t.py::p[log(photon)]": "PASSED", "t.py::p[log(photon),x]": "FAILED"}, False),
        ({"t.py::p[log(photon)]": "FAILED"}, False),
        ({"t.py::p[log(phot)]": "PASSED"}, False),
    ],
)
def test_a_name_that_was_cut_short(statuses, resolved):
    gold = Gold(PATCH, "", ("t.py::p[log(photon",), ())
    assert judge(log_of(statuses), gold).resolved is resolved


def test_a_whole_name_is_never_a_beginning():
    gold = Gold(PATCH, "", ("t.py::p",), ())
    assert not judge(log_of({"t.py::p2": "PASSED"}), gold).resolved


@pytest.mark.parametrize(
    ("log", "outcome", "said"),
    [
        ("", Outcome.UNRESOLVED, "lacks '>>>>> Start"),
        (f"{START}\nPASSED t.py::new\n", Outcome.UNRESOLVED, "lacks '>>>>> End"),
        (log_of({}), Outcome.UNRESOLVED, "no test result"),
        (log_of(ALL, code=2), Outcome.UNRESOLVED, "the test command ended with 2"),
        (log_of(ALL, before=">>>>> Patch Apply Failed"), Outcome.APPLY_FAILED, "Patch Apply"),
        (log_of(ALL, after=">>>>> Tests Timed Out"), Outcome.EVAL_TIMEOUT, "Timed Out"),
        (log_of(ALL, after=">>>>> Tests Errored"), Outcome.UNRESOLVED, "Errored"),
        (log_of(ALL, after=">>>>> Reset Failed"), Outcome.UNRESOLVED, "Reset Failed"),
    ],
)
def test_a_log_that_is_no_record(log, outcome, said):
    found = judge(log)
    assert (found.outcome, found.fail_to_pass) == (outcome, None)
    assert said in found.reason


def test_an_exit_code_that_a_failure_explains():
    assert judge(log_of({**ALL, "t.py::x": "ERROR"}, code=1)).resolved
    assert judge(log_of(ALL, code=None)).resolved, "older eval scripts write none down"
    assert recorded_exit_code("x\n>>>>> Test Exit Code: -9\n") == -9


def test_results_outside_the_markers_count_where_there_are_none_within():
    log = log_of({}, before="PASSED t.py::new")
    assert read_log(log, PYTEST) == ({"t.py::new": "PASSED"}, "")


@pytest.mark.parametrize(
    ("patch", "evaluation", "outcome"),
    [
        ("", Evaluation(log_of(ALL)), Outcome.EMPTY_PATCH),
        (" \n", Evaluation(None, infra="no engine"), Outcome.EMPTY_PATCH),
        (None, Evaluation(None), Outcome.EMPTY_PATCH),
        (PATCH, Evaluation(None, infra="no engine"), Outcome.INFRA_ERROR),
        (PATCH, Evaluation(log_of(ALL), infra="no disk"), Outcome.INFRA_ERROR),
        (PATCH, Evaluation(None, applied=False), Outcome.APPLY_FAILED),
        (PATCH, Evaluation(log_of(ALL), timed_out=True), Outcome.EVAL_TIMEOUT),
        (PATCH, Evaluation(None), Outcome.INFRA_ERROR),
    ],
)
def test_ends_that_need_no_log(patch, evaluation, outcome):
    found = grade(GOLD, patch, evaluation, PYTEST)
    assert found.outcome is outcome
    assert found.reason
    assert not found.resolved


def test_a_hint_never_changes_the_outcome():
    found = judge("Killed\n")
    assert (found.outcome, found.hint) == (Outcome.UNRESOLVED, "environment: out of memory")
    assert judge("ModuleNotFoundError: x").hint == "either: a module is missing"
    assert judge("nothing").hint == ""


def test_a_spoof_is_resolved_and_suspected():
    found = judge(log_of(ALL), patch=SPOOF)
    assert found.resolved
    assert "conftest.py" in found.suspect_spoof[0]
    assert judge(log_of({}), patch=SPOOF).suspect_spoof == ()


def test_the_cache_key_holds_all_that_a_verdict_rests_on():
    def key(name="x", patch=PATCH, image="sha256:1", script="s", gold=GOLD, attempt=1):
        return cache_key(name, patch, image, script, gold, attempt)

    others = [
        key(name="y"),
        key(patch=PATCH + "\n"),
        key(image="sha256:2"),
        key(script="t"),
        key(gold=replace(GOLD, pass_to_pass=())),
        key(attempt=2),
    ]
    assert len({key(), *others}) == 7
    assert key() == key()


def verdict(slug, log, patch):
    return grade(slug[1].gold, patch, Evaluation(log), PYTEST)


def test_the_fix_resolves_a_real_repository(copy_of, slug, judged, tmp_path):
    repo, run = copy_of
    (tmp_path / "p.diff").write_text(slug[1].gold.patch)
    assert apply_patch(run, str(tmp_path / "p.diff")).ok
    found = verdict(slug, judged(), slug[1].gold.patch)
    assert found.resolved, found
    left = run("git status --porcelain -- ':!*__pycache__*'")[1]
    assert left == " M slug.py\n", "the tests' files are put back"
    assert not (repo / "tests" / "test_new.py").exists()


def test_doing_nothing_does_not(slug, judged):
    found = verdict(slug, judged(), "not empty")
    assert found.outcome is Outcome.UNRESOLVED
    assert (found.fail_to_pass.failed, found.pass_to_pass.failed) == (
        ("tests/test_slug.py::test_lower",),
        (),
    )


def test_the_known_spoof_is_caught_by_the_flag_alone(copy_of, slug, judged):
    """A conftest that calls every test passed scores `resolved`, here as upstream."""
    repo, run = copy_of
    (repo / "conftest.py").write_text(
        "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport():\n"
        "    result = yield\n    result.get_result().outcome = 'passed'\n"
    )
    patch = run("git diff")[1]
    found = verdict(slug, judged(), patch)
    assert found.resolved
    assert len(found.suspect_spoof) == 2


def test_printed_results_are_not_believed_against_the_exit_code(slug, judged):
    lie = "".join(f"echo PASSED {name};" for name in slug[1].gold.pass_to_pass)
    log = judged(f"echo PASSED tests/test_slug.py::test_lower; {lie} (exit 3) #")
    found = verdict(slug, log, "not empty")
    assert (found.outcome, found.fail_to_pass) == (Outcome.UNRESOLVED, None)
    assert "ended with 3" in found.reason
