"""`hfr-bench verify` on the bundle of a real finished experiment: what it prints, how it ends."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hfr_bench.cli.main import run
from hfr_bench.testing.bundled import rechain, reseal

pytestmark = pytest.mark.tau2


@pytest.fixture(scope="module")
def bundled(finished, tmp_path_factory):
    out = tmp_path_factory.mktemp("bundled") / "b"
    assert run(["bundle", str(finished), "-o", str(out)]) == 0
    return out


@pytest.fixture
def forged(bundled, tmp_path):
    """A copy to forge."""
    return Path(shutil.copytree(bundled, tmp_path / "b"))


def test_a_true_bundle(bundled, capsys):
    assert run(["verify", str(bundled)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["level", "check", "ok", "detail"]
    assert lines[-1].startswith("VERIFIED up to level 3 (re-derivation): small (rehearsal)")


def test_for_programs(bundled, capsys):
    assert run(["verify", str(bundled), "--level", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["verified"], found["level"], found["name"]) == (True, 1, "small")
    assert {check["level"] for check in found["checks"]} == {0, 1}


def test_an_edited_outcome(forged, capsys):
    def cheat(events):
        events[-1]["body"]["result"]["outcome"]["goal_met"] ^= True

    rechain(next(forged.glob("trials/*/r1/hfr.jsonl")), cheat)
    reseal(forged)
    assert run(["verify", str(forged)]) == 1
    assert "NOT VERIFIED, level 3: report.json follows from" in capsys.readouterr().out
    assert run(["verify", str(forged), "--level", "2"]) == 0


def test_a_shifted_fault(forged, capsys):
    path = forged / "schedules" / "tau2-stress-0.2.jsonl"
    path.write_text(path.read_text().replace('"occurrence":1,', '"occurrence":2,', 1))
    reseal(forged)
    assert run(["verify", str(forged)]) == 1
    assert "NOT VERIFIED, level 2: the schedules are drawn" in capsys.readouterr().out


def test_what_is_no_bundle(finished, tmp_path, capsys):
    assert run(["verify", str(finished)]) == 2
    assert "not a bundle: no MANIFEST.sha256" in capsys.readouterr().err
    assert run(["verify", str(tmp_path / "nothing")]) == 2


def test_it_needs_neither_checkout_nor_tool_host_nor_engine(bundled, tmp_path):
    """Fault kinds, matrix and suites are the bundle's own."""
    nowhere = {"HFR_BENCH_CONTENT": str(tmp_path), "HFR_BENCH_TAU2_PYTHON": "/nowhere/python",
               "DOCKER_HOST": "unix:///nowhere/docker.sock"}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "hfr_bench", "verify", str(bundled)],
        env=os.environ | nowhere,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
