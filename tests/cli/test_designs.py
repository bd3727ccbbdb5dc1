"""Bursts, outages and forks on the order desk: frozen, run, reported and shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.register import load

HEAD = """\
v: 1
name: designs
title: Designs
origin: rehearsal
suites: [{suite: shopdesk, pool: base, config: {tasks: 2}}]
sandbox: process
arms:
  - {name: hfr, strategy: hfr, equipment: {ledger: true, query: true, ladder: true, verifier: true}}
  - {name: blind, strategy: blind_resend}
limits: {max_steps: 20}
controls: {arm: hfr, a_a: false}
analysis: {baseline: blind, resamples: 200}
"""
FORK = "faults: {matrix: outage, design: fork, fork: {points: 1, continuations: 2, rate: 0.2}}\n"
BURST = """\
faults:
  matrix: outage
  rates: [0, 0.1]
  takes_backup: 1.0
  bursts: [{start: 0.5, end: 1, points: ["model:*"], kinds: {model_outage: 1}, rate: 0.9}]
"""


def made(folder: Path, faults: str) -> Path:
    folder.mkdir()
    (folder / "prereg.yaml").write_text(HEAD + faults)
    return folder


def frozen_and_run(folder: Path) -> Path:
    assert run(["freeze", str(folder)]) == 0
    assert run(["run", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return frozen_and_run(made(tmp_path_factory.mktemp("designs") / "fork", FORK))


@pytest.fixture(scope="module")
def stormy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return frozen_and_run(made(tmp_path_factory.mktemp("designs") / "burst", BURST))


def reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    assert run(["report", str(folder), "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def all_delivered(report: Any) -> int:
    reached = sum(row["reached"] for row in report["audit"])
    assert report["valid"]
    assert reached == sum(row["delivered"] for row in report["audit"])
    return int(reached)


def test_all_arms_come_to_a_fork_in_the_same_state(
    forked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = reported(forked, capsys)
    assert all_delivered(report)
    told = next(row for row in report["controls"] if "same state" in row["name"])
    assert (told["passed"], told["detail"]) == (True, "2 of 2 forks")
    rows = report["forks"]
    assert [(row["arm"], row["trials"], row["came"]) for row in rows] == [
        ("hfr", 2, 2),
        ("blind", 2, 2),
    ] * 2
    assert run(["report", str(forked), "--format", "md"]) == 0
    assert "## Forks, by first fault" in capsys.readouterr().out


def test_a_fork_is_bundled_and_drawn_again(
    forked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "fork.zip"
    assert run(["bundle", str(forked), "-o", str(out)]) == 0
    assert run(["verify", str(out), "--level", "2"]) == 0
    assert "VERIFIED" in capsys.readouterr().out


@pytest.mark.slow
def test_a_burst_of_outages_leaves_the_ladder_nowhere_to_go(
    stormy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = reported(stormy, capsys)
    assert all_delivered(report)
    out = next(row for row in report["audit"] if row["kind"] == "model_outage")
    assert out["reached"] > 0
    inside = [row for row in load(stormy).plan if row.trial.rate and "002" in row.trial.task_id]
    schedule = load(stormy).book.schedule(inside[0].trial.schedule_id)
    model = [event for event in schedule.events if event.point == "model:agent"]
    assert {event.kind for event in model} == {"model_outage"}
    assert {event.lasts.over for event in schedule.events} == {"all"}


def test_a_schedule_is_drawn_and_what_a_trial_met(
    forked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = next(row.trial for row in load(forked).plan if row.trial.rate)
    capsys.readouterr()
    assert run(["show", str(forked), trial.schedule_id]) == 0
    alone = capsys.readouterr().out
    assert "all others wait until" in alone
    assert "as declared" not in alone
    assert max(map(len, alone.splitlines())) <= 98
    assert run(["show", str(forked), trial.trial_id, "--schedule"]) == 0
    met = capsys.readouterr().out
    assert f"trial {trial.trial_id} met" in met
    assert "!" in met
    assert run(["show", str(forked), trial.trial_id, "--schedule", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schedule"]["schedule_id"] == trial.schedule_id
    assert data["reached"] == data["delivered"] != []
    assert run(["show", str(forked), "nobody", "--schedule"]) == 2
    assert "no trial is named 'nobody'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        (
            "faults: {bursts: [{start: 0.1, end: 0.2, points: ['*'], rate: 1}]}\n",
            "no task lies from 0.1 to 0.2 of 2",
        ),
        (
            "faults: {bursts: [{start: 0, end: 1, points: ['*'], kinds: {hail: 1}, rate: 1}]}\n",
            "names the kind 'hail', which is nowhere here",
        ),
        ("faults: {matrix: crash, design: fork, fork: {points: 0}}\n", "faults.fork.points"),
        ("faults: {fork: {points: 1}}\n", "belongs to `design: fork`"),
    ],
)
def test_what_cannot_be_planned_is_refused(
    tmp_path: Path, faults: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["freeze", str(made(tmp_path / "bad", faults))]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("suite", ["shopdesk", pytest.param("tau2", marks=pytest.mark.tau2)])
def test_a_new_registration_has_the_papers_stress_and_fits_the_suite(
    tmp_path: Path, suite: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new"
    assert run(["new", str(folder), "--suite", suite]) == 0
    path = folder / "prereg.yaml"
    # Few tasks and no containers, so that it is quick; nothing else is touched.
    text = path.read_text().replace("sandbox: docker ", "sandbox: process")
    few = {"shopdesk": "pool: base\n    config: {tasks: 2}", "tau2": 'tasks: ["airline/2"]'}
    path.write_text(text.replace("pool: base", few[suite]))
    assert run(["freeze", str(folder)]) == 0
    experiment = load(folder)
    assert experiment.prereg.faults.rates == (0.0, 0.05, 0.10, 0.20)
    assert experiment.prereg.faults.matrix == "stress"
    stressed = {row.trial.schedule_id for row in experiment.plan if row.trial.rate == 0.20}
    points = {e.point for name in stressed for e in experiment.book.schedule(name).events}
    roles = {point.partition(":")[0] for point in points}
    checks = {"verify"} if suite == "shopdesk" else set()
    assert roles == {"model", "tool", "prepare", "reconcile"} | checks
    hfr = next(arm for arm in experiment.prereg.arms if arm.name == "hfr")
    assert hfr.equipment.verifier is (suite == "shopdesk")
