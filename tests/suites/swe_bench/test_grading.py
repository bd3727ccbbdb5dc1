"""Patches are graded once each, in a host that is closed whatever happens."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from hfr_bench.ports.sandbox import HostDiedError
from hfr_bench.suites.swe_bench.grade import Outcome
from hfr_bench.suites.swe_bench.grading import Grader
from hfr_bench.suites.swe_bench.rows import Baked

LOG = """\
+ : '>>>>> Start Test Output'
PASSED tests/test_slug.py::test_lower
PASSED tests/test_slug.py::test_spaces
PASSED tests/test_new.py::test_empty
+ : '>>>>> End Test Output'
"""


class Fresh:
    """A host that applies what it is told to, and logs that all is well."""

    def __init__(self, log=LOG, applies=True, dies=False, gate=None):
        self.log, self.applies, self.dies, self.gate = log, applies, dies, gate
        self.closed = False

    def try_command(self, command):
        return (0 if self.applies else 1), ""

    def write(self, name, text):
        return name

    def evaluate(self, path, timeout_s):
        if self.gate is not None:
            assert self.gate.wait(10)
        if self.dies:
            raise HostDiedError("gone")
        return SimpleNamespace(stdout=self.log, timed_out=timeout_s == 0)

    def close(self):
        self.closed = True


@pytest.fixture
def task(slug):
    baked = Baked("image", "eval", "parse_log_pytest")
    return SimpleNamespace(instance=slug[1], baked=baked)


def grader(*hosts, timeout_s=1.0):
    """A grader that is given these hosts in turn."""
    left = list(hosts)
    return Grader(lambda _task: left.pop(0), lambda _task: "sha256:1", timeout_s)


def test_the_same_patch_is_graded_once_and_anew_when_asked(task):
    made = grader(Fresh(), Fresh(log=""))
    patch = task.instance.gold.patch
    assert made.grade(task, patch).resolved
    assert made.grade(task, patch).resolved
    assert made.grade(task, patch, attempt=2).outcome is Outcome.UNRESOLVED


def test_who_wants_the_same_verdict_waits_for_it(task):
    gate = threading.Event()
    made = grader(Fresh(gate=gate))  # a second host is not there
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(made.grade, task, task.instance.gold.patch) for _ in range(4)]
        gate.set()
        assert all(one.result().resolved for one in asked)


def test_a_dead_host_is_no_verdict_and_the_next_one_gives_it(task):
    dead = Fresh(dies=True)
    made = grader(dead, Fresh())
    with pytest.raises(HostDiedError):
        made.grade(task, task.instance.gold.patch)
    assert dead.closed
    assert made.grade(task, task.instance.gold.patch).resolved


@pytest.mark.parametrize(
    ("host", "patch", "timeout_s", "outcome"),
    [
        (None, " \n", 1.0, Outcome.EMPTY_PATCH),
        (Fresh(applies=False), "x", 1.0, Outcome.APPLY_FAILED),
        (Fresh(), "x", 0, Outcome.EVAL_TIMEOUT),
    ],
)
def test_ends_without_a_log(task, host, patch, timeout_s, outcome):
    assert grader(host, timeout_s=timeout_s).grade(task, patch).outcome is outcome
    assert host is None or host.closed


def test_controls_want_the_fix_resolved_and_nothing_done_unresolved(task):
    red = LOG.replace("PASSED tests/test_slug.py::test_low", "FAILED tests/test_slug.py::test_low")
    assert grader(Fresh(), Fresh(log=red)).controls(task, 1) == ()
    assert grader(Fresh(log=red), Fresh(log=red)).controls(task, 1) == (
        "hfr__slug-1: its own fix is unresolved (1 of FAIL_TO_PASS failed)",
    )
    assert grader(Fresh(), Fresh()).controls(task, 1) == (
        "hfr__slug-1: untouched, tests/test_slug.py::test_lower is odd",
    )
    assert "cannot be read" in grader(Fresh(), Fresh(log="")).controls(task, 1)[0]
