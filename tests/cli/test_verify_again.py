"""`verify --level 4` on a real experiment: what was run once can be run again, and lies show."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

from hfr_bench.cli.main import run
from hfr_bench.faults.draw import uniform
from hfr_bench.lab.verification.again import Sample, level_4
from hfr_bench.lab.verification.files import lay_out
from hfr_bench.lab.verification.read import opened
from hfr_bench.lab.wire import Place
from hfr_bench.testing.bundled import failed, forge, rechain


@pytest.fixture(scope="module")
def made(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("again") / "bundle"
    assert run(["bundle", str(finished), "-o", str(out), "--with-places"]) == 0
    return out


@pytest.fixture
def bundled(made: Path, tmp_path: Path) -> Path:
    """A copy, free to be spoiled."""
    return Path(shutil.copytree(made, tmp_path / "bundle"))


def again(bundle: Path, work: Path, trial: Path) -> dict[str, tuple[bool | None, str]]:
    """What level 4 says where its sample of one is that trial."""
    own = json.loads(trial.read_text().splitlines()[0])["trial_id"]
    every = [json.loads(line) for line in (bundle / "plan.jsonl").read_text().splitlines()]
    names = [row["trial"]["trial_id"] for row in every]
    seed = next(
        seed
        for seed in range(10_000)
        if min(names, key=lambda name: uniform("verify", seed, name)) == own
    )
    with opened(bundle) as files:
        sample = Sample(1, seed, Place(sandbox="process"))
        found = level_4(lay_out(files, work), sample)
        return {check.check.split()[0]: (check.ok, check.detail) for check in found}


def a_success(bundle: Path) -> Path:
    for path in sorted(bundle.glob("trials/*/r1/*.jsonl")):
        if re.search(r'"goal_met":true,"accepted":true', path.read_text()):
            return path
    raise AssertionError("no trial succeeded")


def test_a_sample_is_run_again_and_goes_the_same_way(bundled, capsys):
    options = ["--level", "4", "--sample", "2", "--sample-seed", "7", "--sandbox", "process"]
    assert run(["verify", str(bundled), *options]) == 0
    said = capsys.readouterr().out
    assert "VERIFIED up to level 4 (re-execution)" in said
    assert re.search(r"trials run again go the same way +yes +2 of \d+ trials, seed 7", said)


def test_a_verdict_that_was_made_up_shows(bundled, tmp_path):
    def lie(events):
        outcome = events[-1]["body"]["result"]["outcome"]
        outcome["goal_met"], outcome["official"] = False, 0.0

    published = hashlib.sha256((bundled / "MANIFEST.sha256").read_bytes()).hexdigest()
    trial = a_success(bundled)
    rechain(trial, lie)
    forge(bundled)
    assert failed(bundled) == ([], "")
    assert failed(bundled, expect=published)[0] == [0]
    found = again(bundled, tmp_path / "work", trial)
    assert found["worlds"][0] is False
    assert "goal_met is False, graded again True" in found["worlds"][1]


@pytest.mark.slow
def test_a_step_that_was_made_up_shows(bundled, tmp_path):
    def lie(events):
        next(e for e in events if e["body"]["type"] == "attempt_ended")["body"]["status"] = 418

    trial = a_success(bundled)
    rechain(trial, lie)
    found = again(bundled, tmp_path / "work", trial)
    assert found["trials"][0] is False
    assert "attempt_ended: status is 418, run again 200" in found["trials"][1]
    assert found["worlds"][0] is True


def test_where_it_cannot_be_done_that_is_said(bundled, capsys):
    path = bundled / "prereg.lock.json"
    lock = json.loads(path.read_text())
    for source in lock["sources"]:
        source["version"] = "0.0"
    path.write_text(json.dumps(lock, separators=(",", ":")))
    assert run(["verify", str(bundled), "--level", "4", "--sandbox", "process"]) == 1
    said = capsys.readouterr().out
    assert re.search(r"worlds graded again get the same verdict +- +.*version", said)


def test_without_level_4_nothing_is_run(bundled, capsys):
    assert run(["verify", str(bundled)]) == 0
    assert "VERIFIED up to level 3" in capsys.readouterr().out
