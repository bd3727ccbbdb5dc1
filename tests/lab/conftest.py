"""A small frozen experiment, run by a toy; its bundle, and copies of it to forge."""

import shutil
from pathlib import Path

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.sides import Sides, sides
from hfr_bench.lab.store import Store
from hfr_bench.model.report import Report
from hfr_bench.testing.bundled import Ready, ready, reseal
from hfr_bench.testing.experiments import planned, some_faults, write_all
from hfr_bench.testing.results import KINDS as RESULT_KINDS


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    """The experiment; never changed by a test."""
    return ready(tmp_path_factory.mktemp("toy") / "e")


@pytest.fixture(scope="session")
def drawn_bundle(toy: Ready, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its bundle, a directory; never changed by a test."""
    return toy.bundle(tmp_path_factory.mktemp("toy_bundle") / "b")


@pytest.fixture(scope="session")
def toy_bundle(drawn_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as it is made where no page can be drawn."""
    made = Path(shutil.copytree(drawn_bundle, tmp_path_factory.mktemp("plain_bundle") / "b"))
    (made / "report.html").unlink()
    reseal(made)
    return made


@pytest.fixture
def forged(toy_bundle: Path, tmp_path: Path) -> Path:
    """A copy of the bundle, free to be forged."""
    return Path(shutil.copytree(toy_bundle, tmp_path / "b"))


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Sides]:
    """A report of four arms at two rates, and the disagreements that its page shows."""
    folder = tmp_path_factory.mktemp("reported")
    arms = ("no_retry", "always_escalate", "hfr", "blind_resend")
    plan = planned(arms, tasks=30, rates=(0.0, 0.2, 0.4), faults=some_faults)
    write_all(folder, plan)
    store = Store(folder)
    made = analyse(plan.prereg, plan.lock, plan.rows, store, plan.schedule, RESULT_KINDS)
    return made, sides(made, plan.rows, store, plan.schedule)


@pytest.fixture(scope="session")
def report(reported: tuple[Report, Sides]) -> Report:
    """The report alone; an own fixture of a test file goes before it."""
    return reported[0]
