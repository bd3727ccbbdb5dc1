"""When our own side breaks: voids, a new round for the whole pair group, the same results."""

import json
import stat
import sys
from pathlib import Path

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.store import Store
from hfr_bench.suites.tau2.adapter import host_python
from hfr_bench.testing.runs import SMALL

pytestmark = pytest.mark.tau2

# Stands between harness and real host. Each host process dies at its `limit`-th request, as long
# as the `deaths` file still has lives to take.
MORTAL = """\
#!{python}
import os, pathlib, subprocess, sys
host = subprocess.Popen([{real!r}, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
deaths = pathlib.Path({deaths!r})
for n, line in enumerate(sys.stdin.buffer, 1):
    left = int(deaths.read_text())
    if left and n >= {limit}:
        deaths.write_text(str(left - 1))
        host.kill()
        sys.exit(1)
    host.stdin.write(line)
    host.stdin.flush()
    sys.stdout.buffer.write(host.stdout.readline())
    sys.stdout.buffer.flush()
"""


@pytest.fixture
def mortal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Make the tau2 host die `deaths` times, each time at its 12th request."""
    real = host_python()

    def arrange(deaths: int) -> None:
        lives = tmp_path / "deaths"
        lives.write_text(str(deaths))
        script = tmp_path / "mortal"
        script.write_text(
            MORTAL.format(python=sys.executable, real=str(real), deaths=str(lives), limit=12)
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("HFR_BENCH_TAU2_PYTHON", str(script))

    return arrange


def report_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    capsys.readouterr()
    run(["report", str(folder), "--json"])
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_a_dead_host_voids_its_trial_and_the_group_runs_again(finished, lacking, mortal, capsys):
    folder = lacking
    mortal(deaths=1)
    assert run(["run", str(folder)]) == 0
    assert "1 void" in capsys.readouterr().out
    rounds = {path.name for path in folder.glob("trials/*/r2")}
    assert rounds == {"r2"}
    void, whole = report_of(folder, capsys), report_of(finished, capsys)
    assert void["estimates"] == whole["estimates"]
    assert sum(row["voids"] for row in void["voids"]) == 1
    assert sum(row["voids"] for row in whole["voids"]) == 0


SMALLER = (
    SMALL.replace(', "airline/14"', "")
    .replace("[0, 0.2]", "[0.2]")
    .replace("{arm: hfr}", "{injector_removed: false, a_a: false}\nvoid_rounds: 1")
)
"""Each of its voids costs a host: three trials, twice."""


def test_a_host_that_always_dies_is_reported_not_scored(folder, mortal, capsys):
    (folder / "prereg.yaml").write_text(SMALLER)
    mortal(deaths=10_000)
    assert run(["freeze", str(folder)]) == 0
    assert run(["run", str(folder)]) == 1
    assert "dropped" in capsys.readouterr().out
    report = report_of(folder, capsys)
    assert report["groups_dropped"] > 0
    assert report["trials_analysed"] == 0
    causes = {cause for row in report["voids"] for cause in row["causes"]}
    assert causes == {"sandbox"}
    assert not [p for p in Store(folder).files() if p.path.stat().st_size == 0]
