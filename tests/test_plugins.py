"""Names to plugs by entry points, ours and a stranger's."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from textwrap import dedent

import pytest

from hfr_bench import plugins
from hfr_bench.errors import BadInputError
from hfr_bench.recovery.hfr import Hfr


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Path]:
    """A folder on the path in which distributions can be put; forgotten afterwards."""
    sys.path.insert(0, str(tmp_path))
    plugins.offered.cache_clear()
    yield tmp_path
    sys.path.remove(str(tmp_path))
    plugins.offered.cache_clear()


def install(folder: Path, name: str, entry_points: str) -> None:
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(dedent(entry_points))


@pytest.mark.parametrize("group", plugins.GROUPS)
def test_every_plug_we_offer_can_be_loaded(group: str) -> None:
    assert plugins.offered(group)
    for name in plugins.offered(group):
        assert callable(plugins.find(group, name))


def test_ours_come_by_the_same_road_as_a_strangers() -> None:
    assert plugins.find("strategies", "hfr") is Hfr
    assert plugins.origin_of(plugins.offered("strategies")["hfr"]).startswith("hfr-bench ")


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(BadInputError, match=r"unknown strategy 'hrf'; there are: .*hfr, .*retry"):
        plugins.find("strategies", "hrf")
    with pytest.raises(BadInputError, match="unknown sandbox 'vm'"):
        plugins.find("sandboxes", "vm")
    with pytest.raises(BadInputError, match="there are: none"):
        plugins.find("nothing", "at all")


def test_a_strangers_plug_is_found_and_named(installed: Path) -> None:
    install(installed, "stranger", "[hfr_bench.strategies]\nmine = collections:OrderedDict\n")
    assert plugins.find("strategies", "mine")() == {}
    assert plugins.origin_of(plugins.offered("strategies")["mine"]) == "stranger 1.2"
    assert "hfr" in plugins.offered("strategies")


def test_one_name_offered_twice_is_refused_with_both(installed: Path) -> None:
    install(installed, "usurper", "[hfr_bench.strategies]\nhfr = collections:OrderedDict\n")
    with pytest.raises(BadInputError, match=r"two plugins offer strategies 'hfr': .*uninstall"):
        plugins.offered("strategies")


def test_a_plug_that_cannot_be_imported_fails_with_its_own_error(installed: Path) -> None:
    install(installed, "broken", "[hfr_bench.agents]\nmine = no_such_module:Agent\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        plugins.find("agents", "mine")


def test_an_entry_point_of_nowhere_is_unknown() -> None:
    assert plugins.origin_of(EntryPoint("x", "y:z", "g")) == "unknown"
