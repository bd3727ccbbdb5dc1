"""A toy experiment that has been run, and one trial of it in which a fault was met."""

from pathlib import Path
from typing import Any

import pytest

from hfr_bench.lab.exports.outline import Outline, outline
from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.telemetry import chosen_arms, counted
from hfr_bench.testing.bundled import ready

END_NS = 1_800_000_000_000_000_000


@pytest.fixture(scope="session")
def experiment(tmp_path_factory) -> Experiment:
    return ready(tmp_path_factory.mktemp("toy") / "e").experiment


@pytest.fixture(scope="session")
def traces(experiment) -> dict[str, Any]:
    """Trace events by trial, in plan order."""
    return {
        one.row.trial.trial_id: one.reading.events
        for one in counted(experiment, chosen_arms(experiment, ()))
    }


@pytest.fixture(scope="session")
def outlines(traces) -> list[Outline]:
    return [outline(events, Redactor(), END_NS) for events in traces.values()]


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "out"
