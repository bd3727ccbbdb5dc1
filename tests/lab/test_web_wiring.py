"""Who plays the web's kinds in an experiment, and what of a world it gets at."""

from hfr_bench import content
from hfr_bench.lab.injecting import around, own_injectors, wanted
from hfr_bench.lab.offer import Faults
from hfr_bench.testing.shop import ShopSuite

KINDS = content.kinds()


def faults(matrix: str) -> Faults:
    return Faults(KINDS, content.matrix(matrix), {})


def test_the_web_proxy_is_there_where_a_matrix_names_its_kinds():
    (injector,) = own_injectors(faults("web")).values()
    assert injector.kinds() == {name for name, kind in KINDS.items() if "web" in kind.wire}
    assert injector.kinds() >= set(content.matrix("web").mixes[0].kinds)


def test_it_is_not_there_where_none_does():
    assert own_injectors(faults("stress")) == {}
    assert wanted(KINDS, faults("stress").named) == {}


def test_a_world_without_sites_has_none():
    world = ShopSuite().open()
    assert around(world) == {"exposed": None, "fronted": None}
