"""Upstream's comparison of answers; against upstream's own program where a checkout is named."""

import os
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.suites.agentbench.dbbench.answers import clean, right
from hfr_bench.suites.agentbench.source import ROOT

CASES: list[tuple[Any, list[str], bool]] = [
    (["Godwit"], ["Godwit"], True),
    ([" 'Godwit' "], ["Godwit"], True),
    (["godwit"], ["Godwit"], False),
    (["6.804"], ["6.8"], True),
    (["6.82"], ["6.8"], False),
    (["12%"], ["12"], True),
    (["1,200"], ["1200"], True),
    (["None"], ["0"], True),
    ([""], ["null"], True),
    ([], ["0"], False),
    (None, ["0"], True),
    (None, ["Godwit"], False),
    (["b", "a"], ["a", "b"], True),
    (["a", "a", "b"], ["a", "b"], True),  # sets
    (["1", "2"], ["2.001", "1"], True),
    (["1", "1"], ["1", "2"], False),
    (["1", "2", "2"], ["1", "2"], False),  # numbers are counted
    (["1", "a"], ["a", "1"], True),
    ("[('x',), ('y',)]", ["y", "x"], True),
    ("[('x', 1), ('y',)]", ["y"], True),
    ("['x', \"y\"]", ["x", "y"], True),
    ("[x, 'y, z']", ["x", "y z"], True),
    ("[]", [], True),
    ("[1, 2]", ["1", "2"], True),
    ("Godwit", ["Godwit"], True),
    (3, ["3"], True),
]


@pytest.mark.parametrize(("answer", "label", "expected"), CASES)
def test_answers(answer: Any, label: list[str], expected: bool) -> None:
    assert right(answer, label) is expected


def test_a_program_is_not_run() -> None:
    assert clean("[1 + 1]") == ["1 + 1"]


def test_upstream_s_own_program_says_the_same() -> None:
    root = os.environ.get(ROOT)
    path = Path(root or ".") / "src/server/tasks/dbbench/result_processor.py"
    if not root or not path.is_file():
        pytest.skip(f"{ROOT} names no checkout of THUDM/AgentBench with its programs")
    source = path.read_text("utf-8").replace("from .interaction import Database", "Database = None")
    scope: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), scope)
    compare = scope["DBResultProcessor"].compare_results
    for answer, label, _ in CASES:
        assert right(answer, label) is compare(answer, label, "other"), answer
