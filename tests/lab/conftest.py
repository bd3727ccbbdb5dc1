"""A small frozen experiment, run by a toy; its bundle, and copies of it to forge."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hfr_bench import plugins
from hfr_bench.cli.main import run
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.register import load_prereg
from hfr_bench.lab.rendering.sides import Sides, sides
from hfr_bench.lab.store import Store
from hfr_bench.lab.wire import Bench, Place
from hfr_bench.model.report import Report
from hfr_bench.testing.bundled import Ready, ready
from hfr_bench.testing.experiments import planned, some_faults, write_all
from hfr_bench.testing.results import KINDS as RESULT_KINDS

STRANGER = Path(__file__).parent / "stranger"


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A stand-in's model service, labelled live; its plugin is installed for as long.

    `paths`: what another process needs on its path to find that plugin.
    """
    site = tmp_path_factory.mktemp("site")
    info = site / "standin-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: standin\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(
        "[hfr_bench.llms]\nstandin = live_standin:StandIn\ntabled = live_standin:Tabled\n"
    )
    added = [str(site), str(STRANGER)]
    sys.path[:0] = added
    plugins.offered.cache_clear()
    import live_standin  # noqa: PLC0415 - on the path only now

    made = live_standin.Provider()
    made.paths = added
    yield made
    made.close()
    for one in added:
        sys.path.remove(one)
    sys.modules.pop("live_standin", None)
    plugins.offered.cache_clear()


@pytest.fixture(scope="module")
def freeze_live(provider: Any) -> Callable[[Path, str], Path]:
    """Freezes a registration (its `URL` is the provider's) in a folder; its tasks are learned."""

    def freeze(folder: Path, prereg: str) -> Path:
        folder.mkdir(exist_ok=True)
        (folder / "prereg.yaml").write_text(prereg.replace("URL", provider.url))
        assert run(["freeze", str(folder)]) == 0
        with Bench(load_prereg(folder), place=Place(folder)) as bench:
            provider.learn(bench)
        return folder

    return freeze


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    """The experiment; never changed by a test."""
    return ready(tmp_path_factory.mktemp("toy") / "e")


@pytest.fixture(scope="session")
def drawn_bundle(toy: Ready, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its bundle, a directory; never changed by a test."""
    return toy.bundle(tmp_path_factory.mktemp("toy_bundle") / "b")


@pytest.fixture(scope="session")
def toy_bundle(toy: Ready, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as it is made where no page can be drawn, which takes most of verifying's time."""
    return toy.bundle(tmp_path_factory.mktemp("plain_bundle") / "b", drawn=False)


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
