"""A live fork whose user is played by a model, too: the user's words are of the prefix."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.cli.main import run
from hfr_bench.suites.tau2.user_llm import PROMPT

pytestmark = [pytest.mark.tau2, pytest.mark.slow]

Freeze = Callable[[Path, str], Path]

PREREG = """\
v: 1
name: live-user
title: Labelled live, agent and user answered by a stand-in of the tests
origin: live
clock: wall
suites: [{suite: tau2, tasks: [airline/2], config: {user: llm, user_model: standin-1}}]
sandbox: process
model: {llm: standin, agent: standin-1, backup: null, config: {url: "URL"}}
seeds: [1]
faults: {matrix: stress, design: fork, fork: {points: 2, continuations: 1, rate: 0.1}}
arms:
  - {name: no_retry, strategy: no_retry}
  - {name: blind, strategy: blind_resend}
controls: {injector_removed: false, a_a: false}
limits: {model_timeout_s: 4, tool_timeout_s: 4, max_steps: 20}
human: {delay_s: 0}
analysis: {baseline: no_retry, resamples: 200}
"""


def test_the_users_words_are_played_as_well(
    tmp_path: Path, provider: Any, freeze_live: Freeze, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = freeze_live(tmp_path / "live", PREREG)
    provider.user = json.dumps(PROMPT)[1:40].encode()
    assert run(["run", str(folder)]) == 0
    capsys.readouterr()
    run(["report", str(folder), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["valid"]
    assert sum(row["trials"] for row in report["prefixes"]) == 5
    assert not any(row["parted"] for row in report["prefixes"])
    assert all(row["same_state"] for row in report["forks"])
    said = [
        json.loads(line)["prefix"]
        for path in folder.glob("cassettes/*/*/*.jsonl")
        for line in path.read_bytes().splitlines()
        if b'"model:user"' in line and b'"prefix"' in line
    ]
    assert said.count("played") >= 5
    assert run(["replay", str(folder), "-o", str(tmp_path / "out")]) == 0
