"""Parity with SWE-bench's own parsers and grader, asked in an environment of their own.

Runs where HFR_BENCH_SWEBENCH_PYTHON names a Python that has swebench 5.0.2, or .hosts/swebench is
one: `python3 -m venv .hosts/swebench && .hosts/swebench/bin/pip install swebench==5.0.2`.
"""

import json
import os
import random
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from hfr_bench.suites.swe_bench import parsers_js
from hfr_bench.suites.swe_bench.grade import END, START, Evaluation, grade
from hfr_bench.suites.swe_bench.parsers import PARSERS, parser
from hfr_bench.suites.swe_bench.rows import Gold

HERE = Path(__file__).parent
LOGS = sorted((HERE / "logs").glob("*.log"))
DEFAULT = HERE.parents[2] / ".hosts" / "swebench" / "bin" / "python"
PATCH = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n"
STATUSES = ("PASSED", "FAILED", "SKIPPED", "ERROR", "XFAIL", "XPASS", "PASSEDx")
NAMES = (
    *("t.py::a", "t.py::a[x y]", "t.py::a[/p/q.txt]", "t.py::b[f(one", "t.py::b[f(two)]"),
    *("t.py::b[f(one)]", "t.py::b[f(one, 2)]", "test_c", "[3]", "[100%]", "x.T"),
)
JS_TOOK = ("", " (3ms)", " (1.5 s)", " (2s)", " 4ms", " [skipped]")
JS_NAMES = ("adds", "adds (3ms) twice", "src/a.test.js", "a.b > c", "a) b", "Error")
SHAPES = (
    *(
        "{s} {n}",
        "{n} {s}",
        "{n} {s} [ 50%]",
        "{s} {n} - why - so",
        "{s}",
        "\x1b[32m{s}\x1b[0m {n}",
    ),
    *("test_c (x.T) ... ok", "test_c (x.T) ... FAIL", "{n} ... skipped 'x'", "FAIL: {n}", "ok"),
    *(
        "ERROR: {n} (x)",
        "test_c ... noise",
        "{n} ... System check identified no issues (0 silenced)",
    ),
    *(
        "test_c ok",
        "test_c F",
        "test_d E",
        "____ a/b.py:test_c ____",
        "{n} ... Internal Server Error",
    ),
    *("--version is equivalent to version", "{n} ... OK", "{n} ...  OK", "", "[31m{n} FAILED"),
)
TIMES = "\N{MULTIPLICATION SIGN}"
JS_SHAPES = (
    *(f"  {{pad}}{sign} {{n}}{took}" for sign in f"✓✔✕○↓{TIMES}" for took in JS_TOOK),
    *(
        "{pad}{n}",
        "    {n}",
        "  1) {n}",
        "2) {n}",
        "{pad}  3) {n}{took}",
        "   ",
        "",
        "Test Suites: 1",
    ),
    *(f"{word} {{n}}{took}" for word in ("PASS", "FAIL", "PASSED") for took in JS_TOOK),
    *(
        "ok 1 {n}",
        "not ok 2 {n}",
        "ok {n}",
        "[PASSED] {n}",
        "[FAILED] {n}",
        "[SKIPPED] {n}",
        "PASS",
    ),
    *("  4) {n}\n     {n}:\n   AssertionError: x", "  ● {n}", "  7 passing (1s)", "FAIL  "),
    "+ ./node_modules/.bin/jest {n}",
)
MARKS = (">>>>> Patch Apply Failed", ">>>>> Tests Timed Out", ">>>>> Reset Failed", "")


@pytest.fixture(scope="module")
def official():
    """Asks upstream: a list of requests -> a list of answers."""
    python = os.environ.get("HFR_BENCH_SWEBENCH_PYTHON") or str(DEFAULT)
    if not Path(python).exists():
        pytest.skip(f"no {python} with swebench 5.0.2; HFR_BENCH_SWEBENCH_PYTHON names another")

    def ask(requests):
        done = subprocess.run(
            [python, str(HERE / "official.py")],
            input="".join(json.dumps(request) + "\n" for request in requests),
            capture_output=True,
            text=True,
            check=True,
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    return ask


def drawn(chance):
    """A log of lines as test runners write them, mixed."""
    lines = [
        chance.choice(SHAPES).format(s=chance.choice(STATUSES), n=chance.choice(NAMES))
        for _ in range(chance.randrange(12))
    ]
    return "\n".join(lines) + "\n"


def drawn_js(chance):
    """As `drawn`, of JavaScript's runners."""
    lines = [
        chance.choice(JS_SHAPES).format(
            n=chance.choice(JS_NAMES), pad="  " * chance.randrange(3), took=chance.choice(JS_TOOK)
        )
        for _ in range(chance.randrange(14))
    ]
    return "\n".join(lines) + "\n"


def test_parsers_of_javascript_agree(official):
    chance = random.Random(9)
    logs = [drawn_js(chance) for _ in range(1000)]
    requests = [{"log": log, "parser": name} for log in logs for name in parsers_js.PARSERS]
    told, tripped = Counter(), Counter()
    for request, answer in zip(requests, official(requests), strict=True):
        found = parser(request["parser"])(request["log"])
        if answer["found"] is None:  # ours tells what it can
            tripped[request["parser"]] += 1
            continue
        assert found == answer["found"], request
        told.update((request["parser"], status) for status in found.values())
    assert {name for name, _ in told} == parsers_js.PARSERS.keys()
    assert tripped.keys() <= {"parse_log_calypso"}
    assert tripped["parse_log_calypso"] < len(logs) // 2


def test_parsers_agree(official):
    chance = random.Random(7)
    logs = [path.read_text() for path in LOGS] + [drawn(chance) for _ in range(300)]
    requests = [{"log": log, "parser": name} for log in logs for name in PARSERS]
    for request, answer in zip(requests, official(requests), strict=True):
        found = parser(request["parser"])(request["log"])
        assert found == answer["found"], request


def whole(chance):
    """A log of an evaluation, now and then a damaged one."""
    log = "\n".join((f"+ : '{START}'", drawn(chance), f"+ : '{END}'"))
    spoiled = chance.randrange(12)
    if spoiled == 0:
        log = log.replace(chance.choice((START, END)), "x")
    log = "\n".join((drawn(chance) if spoiled == 1 else "", log))
    if spoiled == 2:
        log += f"\n{chance.choice(MARKS)}\n"
    code = chance.choice((None, 0, 0, 1))
    return log + ("" if code is None else f"\n>>>>> Test Exit Code: {code}\n")


def asked(chance):
    """A log and lists of tests, mostly ones that it tells of."""
    name = chance.choice(("pytest", "pytest_v2", "django", "requests"))
    log = whole(chance)
    told = parser(f"parse_log_{name}")(log)
    good = [test for test, status in told.items() if status in ("PASSED", "XFAIL")]
    pool = chance.choice((good, list(told), NAMES)) or NAMES
    return {
        "log": log,
        "parser": f"parse_log_{name}",
        "grade": True,
        "patch": PATCH,
        "fail_to_pass": chance.sample(pool, min(len(pool), chance.randrange(1, 3))),
        "pass_to_pass": chance.sample(pool, min(len(pool), chance.randrange(3))),
    }


def test_verdicts_agree(official):
    chance = random.Random(8)
    requests = [asked(chance) for _ in range(1500)]
    resolved = strict = 0
    for request, answer in zip(requests, official(requests), strict=True):
        gold = Gold(PATCH, "", tuple(request["fail_to_pass"]), tuple(request["pass_to_pass"]))
        found = grade(gold, PATCH, Evaluation(request["log"]), parser(request["parser"]))
        report = answer["report"]
        odd = set(answer["found"].values()) - {"PASSED", "FAILED", "SKIPPED", "ERROR", "XFAIL"}
        if odd and report["resolved"] and not found.resolved:
            strict += 1  # see grade._judged
            continue
        assert found.resolved is report["resolved"], request
        resolved += found.resolved
        if found.fail_to_pass is not None and found.pass_to_pass is not None:
            told = report["tests_status"]
            assert list(found.fail_to_pass.passed) == told["FAIL_TO_PASS"]["success"], request
            if not odd:
                assert list(found.pass_to_pass.failed) == told["PASS_TO_PASS"]["failure"], request
    assert resolved > 50, "both verdicts must occur"
    assert 0 < strict < 60


def test_where_ours_is_stricter(official):
    """A status that is no status: upstream drops the test, and nothing is left that could fail."""
    log = f"{START}\nPASSEDx t.py::new\n{END}\n"
    request = {"log": log, "parser": "parse_log_pytest", "grade": True, "patch": PATCH}
    (answer,) = official([{**request, "fail_to_pass": ["t.py::new"]}])
    assert answer["report"]["resolved"]
    gold = Gold(PATCH, "", ("t.py::new",), ())
    assert not grade(gold, PATCH, Evaluation(log), parser("parse_log_pytest")).resolved
