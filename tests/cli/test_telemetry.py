"""`hfr-bench telemetry`: metrics, alerts, decision events and spans on the command line."""

import json
import sys
from pathlib import Path

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.telemetry import METRICS
from hfr_bench.testing.bundled import ARMS, ready


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A toy experiment that has been run; never changed by a test."""
    return ready(tmp_path_factory.mktemp("toy") / "e").experiment.path


@pytest.fixture
def said(folder, capsys):
    """What the verb prints to standard output, and its exit code."""

    def call(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        assert run(["telemetry", str(folder), *arguments]) == code
        done = capsys.readouterr()
        return done.out if code == 0 else done.err

    return call


def test_metrics_in_prometheus_text(said):
    text = said()
    for name in METRICS:
        assert f"# TYPE {name} " in text
    for arm in ARMS:
        assert f'harness_retry_amplification{{arm="{arm}",origin="rehearsal"}} ' in text
    only = said("--arm", "hfr")
    assert 'arm="hfr"' in only
    assert 'arm="no_retry"' not in only


def test_the_same_as_json(said):
    found = json.loads(said("--json"))
    assert (found["origin"], found["graded"]) == ("rehearsal", found["planned"])
    names = {one["name"] for one in found["samples"]}
    assert "harness_duplicate_side_effects_total" in names
    assert {one["labels"]["arm"] for one in found["samples"]} == set(ARMS)


def test_alerts_of_the_arm_that_duplicates(said):
    assert "  blind_resend: duplicate_side_effects (window 1): " in said("--alerts")
    found = json.loads(said("--alerts", "--json", "--window", "4"))
    assert {one["arm"] for one in found["alerts"] if one["rule"] == "duplicate_side_effects"} == {
        "blind_resend"
    }
    assert "0 alerts" in said("--alerts", "--arm", "no_retry")


def test_decision_events_are_json_lines(said):
    told = [
        json.loads(line) for line in said("--decisions", "--arm", "always_escalate").splitlines()
    ]
    assert {one["arm"] for one in told} == {"always_escalate"}
    assert any(one["escalated"] for one in told)
    assert {"task_id", "step_id", "fault_class", "confidence", "action", "rung"} <= told[0].keys()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--arm", "hrf"), "no arm 'hrf'; registered are: "),
        (("--alerts", "--decisions"), "are one at a time"),
        (("--window", "0"), "0 is not in the range"),
    ],
)
def test_wrong_use_is_refused_in_words(said, arguments, message):
    assert message in said(*arguments, code=2)


@pytest.mark.parametrize("option", ["--otlp", "--console"])
def test_spans_without_the_extra(said, monkeypatch, option):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    for name in [name for name in sys.modules if name.startswith("opentelemetry.")]:
        monkeypatch.delitem(sys.modules, name)
    assert "pip install 'hfr-bench[otel]'" in said(option, code=2)


def test_spans_with_the_extra(said):
    pytest.importorskip("opentelemetry.sdk.trace", reason="pip install 'hfr-bench[otel]'")
    assert '"name": "execute_tool' in said("--console", "--arm", "hfr")
