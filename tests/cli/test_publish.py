"""`hfr-bench publish`, `bundle --redact`, `verify --raw` on real finished experiments."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab import canary
from hfr_bench.lab.register import load
from hfr_bench.lab.wire import Bench, Place
from hfr_bench.model.redaction import Redacted

EXPERIMENT = """\
v: 1
name: leaves
title: What leaves of an experiment
origin: rehearsal
suites: [{{suite: {suite}, tasks: [{task}]}}]
agent: {agent}
sandbox: process
seeds: [1]
faults: {{matrix: stress, rates: [0.2]}}
arms:
  - {{name: no_retry, strategy: no_retry}}
  - {{name: always_escalate, strategy: always_escalate}}
controls: {{arm: no_retry}}
analysis: {{baseline: no_retry, resamples: 200}}
"""
SUITES = {
    "shopdesk": ("shopdesk/6660d2-001-low-1", "tool_calling"),
    "swe_mini": ("hfr__plume-1", "bash"),
    "tau2": ("airline/14", "tool_calling"),
}
LONG = 24
"""Characters from which on a benchmark's own words are recognised."""


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Any:
    """Suite -> a tiny experiment on one of its tasks, run to its end."""
    made: dict[str, Path] = {}

    def of(suite: str) -> Path:
        if suite not in made:
            folder = tmp_path_factory.mktemp(suite) / "e"
            folder.mkdir()
            task, agent = SUITES[suite]
            text = EXPERIMENT.format(suite=suite, task=task, agent=agent)
            (folder / "prereg.yaml").write_text(text)
            assert run(["freeze", str(folder), "--sandbox", "process"]) == 0
            assert run(["run", str(folder), "--sandbox", "process"]) == 0
            made[suite] = folder
        return made[suite]

    return of


def words(value: Any) -> Iterator[str]:
    """All texts in a JSON value that are more than a name."""
    if isinstance(value, str):
        yield from (
            line for line in map(str.strip, value.split("\n")) if len(line) >= LONG and " " in line
        )
    elif isinstance(value, dict):
        for inner in value.values():
            yield from words(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from words(inner)


def benchmark_texts(folder: Path) -> set[str]:
    """What a task says, wants and is solved by: prompt, opening, oracle's arguments, answers."""
    experiment = load(folder)
    found: set[str] = set()
    place = Place(folder=folder, sandbox="process")
    with Bench(experiment.prereg, experiment.book, place) as bench:
        for (suite, task_id), task in bench.tasks.items():
            sealed = bench.sealed(suite, task_id).model_dump(mode="json")
            kept = ("opening", "oracle", "say", "grading")
            found |= set(words([task.prompt, *(sealed[name] for name in kept)]))
    return found


@pytest.mark.parametrize(
    "suite",
    [
        pytest.param(s, marks=[pytest.mark.tau2, pytest.mark.slow] if s == "tau2" else ())
        for s in SUITES
    ],
)
def test_no_text_of_a_benchmark_leaves(suite, done, tmp_path):
    folder = done(suite)
    texts = benchmark_texts(folder)
    assert texts
    assert run(["bundle", str(folder), "-o", str(tmp_path / "b"), "--incomplete"]) == 0
    assert run(["publish", str(folder), "-o", str(tmp_path / "p"), "--incomplete"]) == 0
    forms = {form.encode() for text in texts for form in (text, json.dumps(text)[1:-1])}
    for top in (tmp_path / "b", tmp_path / "p"):
        for path in top.rglob("*"):
            said = path.read_bytes() if path.is_file() and "schedules" not in path.parts else b""
            assert not [form for form in forms if form in said], path


def test_nothing_is_sent_unless_asked_for(done, tmp_path, capsys):
    out = tmp_path / "p"
    args = ["publish", str(done("shopdesk")), "-o", str(out), "--repo", "me/x", "--incomplete"]
    assert run(args) == 0
    said = capsys.readouterr().out
    assert "licence apache-2.0, origin rehearsal" in said
    assert "nothing was sent; --push sends it to me/x" in said
    assert (out / "README.md").is_file()
    assert run(["verify", str(out)]) == 0
    assert "what lies around follows from the bundle   yes" in capsys.readouterr().out
    says = Redacted.loads((out / "bundle" / "redaction.json").read_bytes())
    assert (says.texts, says.canary) == ({"shopdesk": "redacted"}, True)
    assert run(args) == 2
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [(["--push"], "--repo OWNER/NAME"), (["--repo", "me"], "say OWNER/NAME")],
)
def test_where_to_send_it_must_be_said(words, told, tmp_path, capsys):
    assert run(["publish", str(tmp_path), "-o", str(tmp_path / "p"), *words]) == 2
    assert told in capsys.readouterr().err


def test_an_experiment_that_is_not_frozen_is_called_that(tmp_path, capsys):
    assert run(["new", str(tmp_path), "--suite", "shopdesk"]) == 0
    assert run(["publish", str(tmp_path), "-o", str(tmp_path / "p")]) == 2
    assert "not frozen yet" in capsys.readouterr().err


def test_what_is_no_bundle_is_refused(tmp_path, capsys):
    assert run(["publish", str(tmp_path), "-o", str(tmp_path / "p")]) == 2
    assert "not a bundle" in capsys.readouterr().err


def test_a_real_run_has_the_canary_and_its_bundles_match(done, tmp_path, capsys):
    folder, raw, out = done("shopdesk"), tmp_path / "raw.zip", tmp_path / "out.zip"
    key = tmp_path / "key"
    assert canary.was_planted(folder)
    assert run(["bundle", str(folder), "-o", str(raw), "--incomplete"]) == 0
    redact = ["--redact", "--key", str(key), "--incomplete"]
    assert run(["bundle", str(folder), "-o", str(out), *redact]) == 0
    capsys.readouterr()
    assert run(["verify", str(out), "--raw", str(raw), "--raw-key", str(key), "--json"]) == 0
    checks = {c["check"]: c for c in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["line by line, nothing else was changed"]["ok"] is True
    planted = checks["the planted key is in no file"]
    assert planted == planted | {"ok": True, "detail": "it was in every run's environment"}
    assert run(["verify", str(raw), "--level", "0", "--raw", str(raw)]) == 1
