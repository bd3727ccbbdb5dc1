"""`hfr-bench look`: as far as the look, the look, and on to the end."""

import json

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.looks import LOOKS, taken
from hfr_bench.lab.runlog import lines

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

    assert run(["report", place]) == 1  # nobody may; whoever does is remembered
    assert "trials are in: noted in " in capsys.readouterr().err
    assert run(["compare", place, "hfr", "no_retry"]) == 0
    assert "as a look before the end" in capsys.readouterr().err
    assert run(["run", place, "--sandbox", "process"]) == 0
    assert "is due" not in capsys.readouterr().out
    run(["report", place, "--json"])
    made = json.loads(capsys.readouterr().out)
    assert (made["complete"], made["look"]["look"], made["look"]["stopped"]) == (True, 2, False)
    (told,) = (one for one in made["deviations"] if one["what"] == "looked at before the end")
    assert told["count"] == 2
    assert told["detail"].startswith("with 2, 2 of 4 trials in; ")
    assert [one["tasks"] for one in made["anytime"]] == [2]
    assert run(["status", place]) == 0  # its progress is blinded, and no look
    assert [one.end for one in lines(frozen)].count("looked") == 2


def test_a_look_that_nobody_registered_is_refused(tmp_path, frozen, capsys):
    lines = [line for line in PREREG.splitlines() if not line.startswith("stopping_rule")]
    (tmp_path / "prereg.yaml").write_text("\n".join(lines))
    assert run(["freeze", str(tmp_path), "--sandbox", "process"]) == 0
    assert run(["look", str(tmp_path)]) == 2
    assert "`stopping_rule: fixed_n` has no looks before the end" in capsys.readouterr().err
