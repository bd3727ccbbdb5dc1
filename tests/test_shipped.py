"""The shipped experiment is frozen, and still what was frozen: `make freeze` after a change."""

from pathlib import Path

import pytest

from hfr_bench.lab import register
from hfr_bench.lab.wire import Bench, Place

SHIPPED = Path(__file__).parents[1] / "runs" / "first-light"


def test_plan_and_schedules_are_those_of_the_lock() -> None:
    experiment = register.load(SHIPPED)
    assert len(experiment.plan) == experiment.lock.trials
    assert len(experiment.book) == experiment.lock.schedules


@pytest.mark.tau2
def test_suite_kinds_and_prices_are_those_of_the_lock() -> None:
    experiment = register.load(SHIPPED)
    register.check_content(experiment)
    # What a suite is does not hang on where its tools run, and no engine may be here.
    with Bench(experiment.prereg, experiment.book, Place(sandbox="process")) as bench:
        register.check_sources(experiment, bench)
