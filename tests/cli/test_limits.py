"""Bounds of an experiment: an early stop that the report names; the share that must be graded."""

import json
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.runlog import last

pytestmark = pytest.mark.tau2


def report_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    run(["report", str(folder), "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_bound_on_money_stops_early_and_the_report_names_it(finished, frozen, capsys):
    folder = frozen
    assert run(["run", str(folder), "--max-cost-usd", "0.5"]) == 1
    assert "stopped early" in capsys.readouterr().out
    stopped = report_of(folder, capsys)
    assert not stopped["complete"]
    assert any("--max-cost-usd 0.5" in note for note in stopped["notes"])
    traces = [json.loads(p.read_bytes().splitlines()[-1]) for p in folder.glob("trials/*/r1/*")]
    spent = sum(line["body"]["result"]["cost_microusd"] for line in traces)
    assert 0 < spent <= 500_000
    # and it was no more than a stop: the rest runs, and the report is as if nothing had been
    assert run(["run", str(folder)]) == 0
    assert report_of(folder, capsys) == report_of(finished, capsys)


def test_a_complete_experiment_is_complete_whatever_the_bound(copied, capsys):
    assert run(["run", str(copied), "--max-cost-usd", "0.01"]) == 0
    assert "complete" in capsys.readouterr().out


def test_the_gate_says_how_much_must_be_graded(frozen, capsys):
    folder = frozen
    for gate, code in (("0.01", 0), ("0.9", 1)):
        assert run(["run", str(folder), "--max-cost-usd", "0.5", "--min-valid", gate]) == code
        assert run(["report", str(folder), "--min-valid", gate]) == code
    capsys.readouterr()


def test_a_registered_bound_of_a_trial_is_an_outcome_and_no_void(folder, edit, capsys):
    edit("controls:", "limits: {max_turns: 2, max_time_s: 500}\ncontrols:")
    edit(', "airline/14"', "")
    assert run(["freeze", str(folder)]) == 0
    assert run(["run", str(folder), "-n", "2"]) == 0
    found = report_of(folder, capsys)
    assert found["valid"]
    assert found["complete"]
    ends = {
        json.loads(path.read_bytes().splitlines()[-1])["body"]["result"]["outcome"]["end"]
        for path in folder.glob("trials/*/r1/*.jsonl")
    }
    assert "limit" in ends


def test_every_run_leaves_how_it_ended(copied):
    ended = last(copied)
    assert ended is not None
    assert (ended.end, ended.voids, ended.workers, ended.sandbox) == ("done", 0, 2, "process")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sandbox", "nonsense"], ["unknown sandbox 'nonsense'", "process"]),
        (["--data-dir", "nowhere"], ["--data-dir nowhere", "no directory"]),
        (["--data-dir", "airline=."], ["airline=.", "no directory"]),
        (["--max-cost-usd", "0"], ["--max-cost-usd"]),
        (["--min-valid", "1.5"], ["--min-valid"]),
    ],
)
def test_wrong_options_are_refused_in_words(copied, options, words, capsys):
    assert run(["run", str(copied), *options]) == 2
    told = capsys.readouterr().err
    assert all(word in told for word in words), told
