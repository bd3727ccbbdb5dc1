"""`report --mix` on a real experiment: one task of the order desk under every single fault."""

import csv
import io
import json
from pathlib import Path

import pytest

from hfr_bench.cli.main import run

PREREG = """\
v: 1
name: every-fault
title: One fault a trial
origin: rehearsal
agent: oracle
suites:
  - {suite: shopdesk, tasks: [shopdesk/6660d2-008-medium-3]}
faults: {matrix: stress, design: exhaustive-1}
arms:
  - {name: no_retry, strategy: no_retry}
  - {name: blind_resend, strategy: blind_resend}
controls: {arm: blind_resend, a_a: false}
analysis: {baseline: no_retry, resamples: 200}
"""
MIX = """\
name: mine
faults:
  - what: lost answers
    of: tool_calls
    per_1000: 4
    kinds: [tool_outcome_unknown]
  - what: rate limits
    of: model_calls
    per_1000: 12
    kinds: [model_429]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The experiment, frozen and run to the end."""
    made = tmp_path_factory.mktemp("mix") / "every"
    made.mkdir()
    (made / "prereg.yaml").write_text(PREREG)
    (made / "my.yaml").write_text(MIX)
    assert run(["freeze", str(made)]) == 0
    assert run(["run", str(made), "-n", "2"]) == 0
    return made


@pytest.fixture
def shown(folder, capsys):
    def call(verb, *options):
        capsys.readouterr()
        assert run([verb, str(folder), *options]) == 0
        return capsys.readouterr().out

    return call


def test_the_effects_of_single_faults_are_published(shown):
    report = json.loads(shown("report", "--json"))
    rows = {
        (row["kind"], row["lands"], row["arm"], row["metric"]): row for row in report["effects"]
    }
    (planned,) = {
        row["scheduled"]
        for row in report["audit"]
        if (row["kind"], row["arm"]) == ("tool_5xx", "no_retry")
    }
    row = rows["tool_5xx", None, "no_retry", "sr"]
    assert (row["difference"], row["faults"], row["tasks"]) == (-1.0, planned, 1)
    assert rows["tool_5xx", None, "blind_resend", "sr"]["difference"] == 0.0
    assert rows["tool_outcome_unknown", True, "blind_resend", "harm_1000"]["difference"] > 0
    assert rows["tool_outcome_unknown", False, "blind_resend", "harm_1000"]["difference"] == 0
    lines = list(csv.DictReader(io.StringIO(shown("report", "--format", "csv"))))
    assert sum(line["row"] == "effect" for line in lines) == len(report["effects"])


def test_a_mix_gives_ranges_and_names_what_is_not_measured(shown, folder):
    mix = str(folder / "my.yaml")
    report = json.loads(shown("report", "--json", "--mix", mix, "--mix", "burstgpt_requests"))
    mine, shipped = report["mixes"]
    assert (mine["origin"], mine["unit"]) == ("rehearsal", "trial")
    assert [left["kind"] for left in mine["left_out"]] == ["model_429"]
    assert shipped["source"]["id"].startswith("arXiv:2401.17644")
    (row,) = (
        r for r in mine["rows"]
        if (r["arm"], r["metric"], r["against"]) == ("blind_resend", "harm_1000", "")
    )  # fmt: skip
    assert row["least"] == 0.0 < row["most"]
    text = shown("report", "--mix", mix)
    assert "Expected under mix mine | rehearsal" in text
    assert "Not measured, of mix mine | rehearsal" in text


def test_status_tells_delivery_by_arm_on_demand(shown):
    assert "all kinds" in shown("status")
    whole = shown("status", "--arms")
    assert "      blind_resend" in whole
    assert json.loads(shown("status", "--json"))["by_arm"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (MIX.replace("model_429", "model_492"), "rate limits: unknown fault kind 'model_492'"),
        (MIX.replace("model_calls", "tool_calls"), "model_429 is a fault of model_calls"),
        (MIX.replace("per_1000: 12", "per_1000: unknown"), "give bounds [low, high]"),
        ("name: [", "not readable as YAML"),
    ],
)
def test_a_wrong_mix_is_told_before_anything_is_read(folder, tmp_path, capsys, text, words):
    (tmp_path / "my.yaml").write_text(text)
    assert run(["report", str(folder), "--mix", str(tmp_path / "my.yaml")]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "my.yaml" in said


def test_mixes_are_listed(capsys):
    assert run(["list", "mixes"]) == 0
    assert "llm_api_outages" in capsys.readouterr().out
