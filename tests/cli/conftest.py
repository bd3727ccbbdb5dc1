"""A small real experiment on real tau2 tasks, run once, and copies of it to spoil."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hfr_bench.cli.main import run
from hfr_bench.suites.tau2.adapter import host_python
from hfr_bench.testing.runs import SMALL, lose_groups, unrun


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with the small preregistration, not frozen."""
    made = tmp_path / "small"
    made.mkdir()
    (made / "prereg.yaml").write_text(SMALL)
    return made


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small experiment, frozen and run to the end; never changed by a test."""
    made = tmp_path_factory.mktemp("finished") / "small"
    made.mkdir()
    (made / "prereg.yaml").write_text(SMALL)
    assert run(["freeze", str(made)]) == 0
    assert run(["run", str(made), "-n", "2"]) == 0
    return made


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished experiment, free to be spoiled."""
    return Path(shutil.copytree(finished, tmp_path / "copied"))


@pytest.fixture
def frozen(finished: Path, tmp_path: Path) -> Path:
    """The small experiment as it was before its first trial."""
    return unrun(Path(shutil.copytree(finished, tmp_path / "frozen")))


@pytest.fixture
def lacking(copied: Path) -> Path:
    """A copy that lacks two pair groups of three arms, under faults: six trials of 16."""
    assert len(lose_groups(copied)) == 2
    return copied


# Stands between harness and real host, and takes its time.
SLOW = """\
#!{python}
import subprocess, sys, time
host = subprocess.Popen([{real!r}, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for line in sys.stdin.buffer:
    time.sleep(0.03)
    host.stdin.write(line)
    host.stdin.flush()
    sys.stdout.buffer.write(host.stdout.readline())
    sys.stdout.buffer.flush()
"""


@pytest.fixture
def slowly(tmp_path: Path) -> dict[str, str]:
    """The environment of a run that is not over before somebody who has seen it begin can act."""
    script = tmp_path / "slow-host"
    script.write_text(SLOW.format(python=sys.executable, real=str(host_python())))
    script.chmod(0o755)
    return {**os.environ, "HFR_BENCH_TAU2_PYTHON": str(script)}


Edit = Callable[[str, str], None]


@pytest.fixture
def edit(folder: Path) -> Edit:
    """Replace text in the unfrozen preregistration."""

    def replace(old: str, new: str) -> None:
        path = folder / "prereg.yaml"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return replace
