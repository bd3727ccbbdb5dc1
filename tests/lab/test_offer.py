"""Fault kinds and matrices of plugins and of an experiment's own folder, beside ours."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hfr_bench import content, plugins
from hfr_bench.errors import BadInputError
from hfr_bench.lab.injecting import Nested, own_injectors
from hfr_bench.lab.offer import all_kinds, faults, own_files, shelves
from hfr_bench.model.prereg import FaultPlan
from hfr_bench.testing.fakes import FakeInjector

STRANGER = Path(__file__).parent / "stranger"
ENTRIES = """\
[hfr_bench.content]
acme = acme_faults:folder
[hfr_bench.injectors]
acme_quota = acme_faults:Acme
"""


def install(site: Path, entries: str, name: str = "acme-faults") -> None:
    info = site / f"{name.replace('-', '_')}-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(entries)
    plugins.offered.cache_clear()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    """A folder on the path in which distributions can be put; forgotten afterwards."""
    folder = tmp_path / "site"
    folder.mkdir()
    added = [str(folder), str(STRANGER)]
    sys.path[:0] = added
    yield folder
    for one in added:
        sys.path.remove(one)
    sys.modules.pop("acme_faults", None)
    plugins.offered.cache_clear()


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """An experiment's folder with a kind and a matrix of its own."""
    folder = tmp_path / "e"
    for name in ("kinds", "matrices"):
        (folder / name).mkdir(parents=True)
    (folder / "prereg.yaml").write_text("v: 1\n")
    kind = "kind: mine\nlayer: tool\npoints: ['tool:*']\nwire: {tool: {type: close}}\n"
    (folder / "kinds" / "mine.yaml").write_text(kind)
    mix = "name: my\nmixes: [{points: ['tool:*'], kinds: {mine: 1, tool_5xx: 1}}]\n"
    (folder / "matrices" / "my.yaml").write_text(mix)
    return folder


def test_without_others_it_is_ours_to_the_digest(tmp_path: Path) -> None:
    found = faults(FaultPlan(matrix="stress"), tmp_path)
    assert found.kinds == content.kinds()
    assert found.digest == content.kinds_digest()
    assert found.matrix == content.matrix("stress")
    assert found.whose == {}


def test_what_is_installed_but_not_named_changes_nothing(site: Path, experiment: Path) -> None:
    before = faults(FaultPlan(matrix="stress")).digest
    install(site, ENTRIES)
    assert {"acme_quota", "mine"} < set(all_kinds(experiment))
    assert faults(FaultPlan(matrix="stress"), experiment).digest == before


def test_what_the_matrix_names_belongs_to_the_experiment(site: Path, experiment: Path) -> None:
    install(site, ENTRIES)
    theirs = faults(FaultPlan(matrix="acme"), experiment)
    kinds = {"acme_quota", "acme_brownout", "acme_model_425"}
    assert set(theirs.foreign) == kinds
    assert set(theirs.whose.values()) == {"acme-faults 0.1"}
    assert theirs.digest != content.kinds_digest()
    own = faults(FaultPlan(matrix="my"), experiment)
    assert set(own.foreign) == {"mine"}
    assert own.named == {"mine", "tool_5xx"}
    assert [path.name for path in own_files(experiment)] == ["mine.yaml", "my.yaml"]


def test_a_folder_is_an_experiments_only_with_a_registration(experiment: Path) -> None:
    (experiment / "prereg.yaml").unlink()
    assert len(list(shelves(experiment))) == 1
    with pytest.raises(BadInputError, match=r"unknown fault matrix 'my'; there are: .*stress"):
        faults(FaultPlan(matrix="my"), experiment)


def test_names_are_given_once(experiment: Path) -> None:
    twin = experiment / "matrices" / "stress.yaml"
    twin.write_text((experiment / "matrices" / "my.yaml").read_text())
    with pytest.raises(BadInputError, match="'stress' is there already"):
        faults(FaultPlan(matrix="stress"), experiment)
    path = experiment / "kinds" / "mine.yaml"
    path.write_text(path.read_text().replace("kind: mine", "kind: tool_5xx"))
    with pytest.raises(BadInputError, match="'tool_5xx' is there already: hfr-bench"):
        faults(FaultPlan(matrix="my"), experiment)


def test_a_kind_that_is_nowhere_is_missed_by_name(experiment: Path) -> None:
    (experiment / "kinds" / "mine.yaml").unlink()
    with pytest.raises(BadInputError, match="'mine', which is nowhere here: install the plugin"):
        faults(FaultPlan(matrix="my"), experiment)


def test_a_plugin_that_names_no_folder_is_told(site: Path) -> None:
    install(site, "[hfr_bench.content]\nodd = collections:OrderedDict\n", "odd")
    with pytest.raises(BadInputError, match=r"odd 0\.1: content 'odd' names no folder"):
        list(shelves())


def test_injectors_are_made_where_a_kind_asks_for_them(site: Path, experiment: Path) -> None:
    install(site, ENTRIES)
    assert own_injectors(faults(FaultPlan(matrix="my"), experiment)) == {}
    assert list(own_injectors(faults(FaultPlan(matrix="acme"), experiment))) == ["acme_quota"]


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("nobody", "unknown injector 'nobody'"),
        ("model_gateway", "which is none of the tool boundary"),
        ("acme_quota", "does not answer for the fault kind 'mine'; it does for: acme_"),
    ],
)
def test_an_injector_that_cannot_play_its_kind_is_told(
    site: Path, experiment: Path, named: str, words: str
) -> None:
    install(site, ENTRIES)
    path = experiment / "kinds" / "mine.yaml"
    own = f"{{type: own, injector: {named}, looks: {{type: close}}}}"
    path.write_text(path.read_text().replace("{type: close}", own))
    with pytest.raises(BadInputError, match=words):
        own_injectors(faults(FaultPlan(matrix="my"), experiment))


def test_every_injector_of_a_chain_heals_whatever_the_others_raise() -> None:
    healed = []

    class Healing(FakeInjector):
        def heal(self) -> None:
            healed.append(self)
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        Nested((Healing({}, ()), Healing({}, ()))).heal()
    assert len(healed) == 2
