"""Every fault between a browser and its sites, once each: a valid experiment without sampling."""

import json
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.register import load

PREREG = """\
v: 1
name: each-once
title: Every fault between a browser and its site, once
origin: rehearsal
agent: oracle
suites:
  - {suite: web_mini, tasks: [TASK]}
faults: {matrix: MATRIX, design: exhaustive-1}
arms:
  - {name: blind_resend, strategy: blind_resend}
  - {name: oracle_recovery, strategy: oracle_recovery, equipment: {query: true, truth: true}}
controls: {arm: blind_resend, a_a: false}
analysis: {baseline: blind_resend, resamples: 200}
"""


def experiment(folder: Path, task: str, matrix: str, capsys: pytest.CaptureFixture[str]) -> Any:
    """Freeze, run and report; of each kind: planned, reached, delivered, by both arms."""
    folder.mkdir()
    (folder / "prereg.yaml").write_text(PREREG.replace("TASK", task).replace("MATRIX", matrix))
    assert run(["freeze", str(folder)]) == 0
    assert run(["run", str(folder), "--sandbox", "process"]) == 0
    capsys.readouterr()
    assert run(["report", str(folder), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["valid"]
    found: dict[str, list[int]] = {}
    for row in told["audit"]:
        sums = (row["scheduled"], row["reached"], row["delivered"])
        before = found.get(row["kind"], [0, 0, 0])
        found[row["kind"]] = [x + y for x, y in zip(before, sums, strict=True)]
    return found


def test_a_refusal_and_a_sale_are_met_once_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "x"
    found = experiment(folder, "shop-order-lantern", "web_world", capsys)
    # Five calls that ask for a page, and one order; two arms.
    assert found == {"web_refused": [10, 10, 10], "web_sold_out": [2, 2, 2]}
    profiles = {row.trial.profile for row in load(folder).plan}
    assert "exhaustive-1/site:shopping#2/web_refused" in profiles


@pytest.mark.slow
def test_every_kind_of_the_matrix_web_is_met_where_it_can_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = experiment(tmp_path / "x", "forum-post-lighthouse", "web", capsys)
    assert len(found) == 14
    for kind, (_, reached, delivered) in found.items():
        assert delivered == reached, kind
        assert reached or kind == "web_stale_page", kind  # no page is asked for twice
