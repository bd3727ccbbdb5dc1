"""A small real experiment on real tau2 tasks, run once, and copies of it to spoil."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hfr_bench.cli.main import run
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
