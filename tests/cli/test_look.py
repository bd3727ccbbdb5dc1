"""`hfr-bench look`: as far as the look, the look, and on to the end."""

import json

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.looks import LOOKS, taken

PREREG = """\
v: 1
name: looked
title: Looked at on the way
origin: rehearsal
suites:
  - {suite: shopdesk, pool: base, sample: {n: 2, seed: 5, strata: [level]}, success: official}
seeds: [1]
faults: {matrix: stress, rates: [0.2]}
arms:
  - {name: no_retry, strategy: no_retry}
  - {name: hfr, strategy: hfr, equipment: {ledger: true, query: true, ladder: true}}
controls: {arm: hfr, a_a: false}
hypotheses:
  - {id: H1, metric: dup_any, arm: hfr, against: no_retry, direction: less}
stopping_rule: {kind: obrien_fleming, looks: 2}
analysis: {baseline: no_retry, resamples: 1000}
"""


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("look") / "e"
    folder.mkdir()
    (folder / "prereg.yaml").write_text(PREREG)
    assert run(["freeze", str(folder), "--sandbox", "process"]) == 0
    return folder


def test_from_the_first_trial_to_the_last(frozen, capsys):
    place = str(frozen)
    assert run(["look", place]) == 2
    assert f"`hfr-bench run {place}` runs the others, and no further" in capsys.readouterr().err
    assert not (frozen / LOOKS).exists()

    assert run(["run", place, "--sandbox", "process"]) == 0
    assert f"look 1 of 2 is due\nnext: hfr-bench look {place}" in capsys.readouterr().out
    assert run(["look", place]) == 0
    told = capsys.readouterr().out
    assert told.startswith("look 1 of 2, 1 tasks, ")
    assert "|z| to reach: 2.963; claims that did: none" in told
    assert told.endswith(f"go on\nnext: hfr-bench run {place}\n")
    (kept,) = taken(frozen)
    assert not kept.stop

    (frozen / LOOKS).unlink()  # the same look again, for a program
    assert run(["look", place, "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert line == json.loads((frozen / LOOKS).read_text())
    assert {**line, "at": kept.at} == json.loads(kept.dumps())

    assert run(["look", place]) == 2
    assert "the last look is the report of the whole plan" in capsys.readouterr().err
    assert run(["run", place, "--sandbox", "process"]) == 0
    assert "is due" not in capsys.readouterr().out
    run(["report", place, "--json"])
    made = json.loads(capsys.readouterr().out)
    assert (made["complete"], made["look"]["look"], made["look"]["stopped"]) == (True, 2, False)


def test_a_look_that_nobody_registered_is_refused(tmp_path, frozen, capsys):
    lines = [line for line in PREREG.splitlines() if not line.startswith("stopping_rule")]
    (tmp_path / "prereg.yaml").write_text("\n".join(lines))
    assert run(["freeze", str(tmp_path), "--sandbox", "process"]) == 0
    assert run(["look", str(tmp_path)]) == 2
    assert "`stopping_rule: fixed_n` has no looks before the end" in capsys.readouterr().err
