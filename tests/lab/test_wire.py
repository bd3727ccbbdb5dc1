"""What a bench makes of a registration and a place, before anything is started."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.lab.wire import Bench, Place, configured, open_suite
from hfr_bench.model.prereg import Preregistration
from hfr_bench.recovery.deploy import Canary
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.shadow import Shadow
from hfr_bench.recovery.strategies import ExpRetry, NoRetry


def prereg(**fields: Any) -> Preregistration:
    plain = {
        "name": "x",
        "title": "x",
        "origin": "rehearsal",
        "suites": [{"suite": "tau2", "pool": "base"}],
        "arms": [{"name": "no_retry", "strategy": "no_retry"}],
        "analysis": {"baseline": "no_retry"},
    }
    return Preregistration.model_validate(plain | fields)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(prereg(), place=Place(tmp_path)) as made:
        yield made


def test_a_task_that_starts_from_another_state_is_told(bench: Bench) -> None:
    bench.check_steady("tau2", "airline/2", "a" * 64)
    bench.check_steady("tau2", "airline/3", "b" * 64)
    bench.check_steady("tau2", "airline/2", "a" * 64)
    with pytest.raises(InfrastructureError, match=r"airline/2 starts from state b+ here"):
        bench.check_steady("tau2", "airline/2", "b" * 64)


def test_the_sandbox_asked_for_takes_the_place_of_the_registered_one(tmp_path: Path) -> None:
    with Bench(prereg(sandbox="docker"), place=Place(tmp_path, sandbox="process")) as bench:
        assert bench.sandbox_name == "process"
        assert bench.sandbox_of("tau2").name == "process"


def test_settings_of_the_registered_sandbox_are_not_another_ones(tmp_path: Path) -> None:
    registered = prereg(sandbox="docker", sandbox_config={"pids": 64})
    with Bench(registered, place=Place(tmp_path, sandbox="process")):
        pass
    with pytest.raises(BadInputError, match=r"process.*pids"):
        Bench(prereg(sandbox_config={"pids": 64}))


def test_a_suite_is_told_what_it_does_not_know() -> None:
    with pytest.raises(BadInputError, match="suite tau2: no setting 'colour'"):
        Bench(prereg(suites=[{"suite": "tau2", "pool": "base", "config": {"colour": 1}}]))


def test_a_checkout_of_a_suite_that_is_not_registered_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no suite 'osworld' is registered"):
        Bench(prereg(), place=Place(tmp_path, data_dirs={"osworld": tmp_path}))


def test_an_abort_ends_all_hosts_from_another_thread(bench: Bench) -> None:
    aborting = threading.Thread(target=bench.abort)
    aborting.start()
    aborting.join(10)
    assert bench.interrupted.is_set()


def test_a_plug_that_takes_anything_is_given_anything() -> None:
    made = configured(lambda first, **rest: (first, rest), "plug", 1, colour=2)
    assert made == (1, {"colour": 2})


def test_a_suite_opens_outside_any_experiment(tmp_path: Path) -> None:
    with open_suite("tau2", Place(tmp_path)) as (suite, sandbox):
        assert (suite.name, sandbox.name) == ("tau2", "process")
    with pytest.raises(BadInputError, match="unknown suite"), open_suite("x", Place(tmp_path)):
        pass


@pytest.mark.parametrize(
    ("deployment", "kind"),
    [
        ({}, Hfr),
        ({"mode": "shadow"}, Shadow),
        ({"mode": "canary", "canary_percent": 50}, Canary),
        ({"mode": "off"}, ExpRetry),
        ({"kill_switch": True}, ExpRetry),
        ({"tenants": {"default": False}}, ExpRetry),
    ],
)
def test_hfr_is_let_loose_as_far_as_its_deployment_says(deployment: Any, kind: type) -> None:
    arms = [
        {"name": "no_retry", "strategy": "no_retry"},
        {"name": "hfr", "strategy": "hfr", "config": {"deployment": deployment}},
    ]
    with Bench(prereg(arms=arms)) as bench:
        assert type(bench.strategy(bench.arm("hfr"))) is kind
        assert type(bench.strategy(bench.arm("no_retry"))) is NoRetry
