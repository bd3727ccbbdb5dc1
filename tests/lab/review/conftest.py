"""A toy experiment that may be rated, and one that was."""

import shutil
from pathlib import Path

import pytest

from hfr_bench.lab.register import Experiment, load
from hfr_bench.testing.bundled import Ready
from hfr_bench.testing.reviewing import rate_all


@pytest.fixture
def experiment(toy: Ready, tmp_path: Path) -> Experiment:
    """A copy of the toy, free to be rated."""
    return load(Path(shutil.copytree(toy.experiment.path, tmp_path / "e")))


@pytest.fixture(scope="session")
def rated(toy: Ready, tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """Rated by two: ann says what the checker says, bob finds fault with every third trial."""
    folder = tmp_path_factory.mktemp("rated") / "e"
    made = load(Path(shutil.copytree(toy.experiment.path, folder)))
    rate_all(made, "ann")
    rate_all(made, "bob", lambda one: ("no" if int(one.alias, 16) % 3 == 0 else "yes", "no"))
    return made
