"""Real instances, end to end in containers: controls, lost answers under all sorts of arms, traces.

Wants rows (HFR_BENCH_DATA_SWE_BENCH), git mirrors (HFR_BENCH_SWEBENCH_REPOS) and Pythons by version
(HFR_BENCH_SWEBENCH_PYTHONS) to make what images the engine lacks. Minutes, the first time many.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.register import load as load_experiment
from hfr_bench.lab.store import Store
from hfr_bench.owner import run_id

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(7200)]

TASKS = ("sympy__sympy-20590", "pytest-dev__pytest-7982")
ROWS = ("lite.jsonl", "verified_50.jsonl")
FOLDERS = ("HFR_BENCH_SWEBENCH_REPOS", "HFR_BENCH_SWEBENCH_PYTHONS")
MATRIX = """\
name: lost
title: Answers of commands lost, before they ran or after
mixes:
  - points: ["tool:bash"]
    kinds: {tool_outcome_unknown: 1.0}
"""
PREREG = f"""\
v: 1
name: real-lost
title: Lost answers on real instances
origin: rehearsal
agent: oracle
sandbox: docker
suites:
  - {{suite: swe_bench, tasks: [{", ".join(TASKS)}]}}
faults: {{matrix: lost, design: exhaustive-1}}
arms:
  - {{name: no_retry, strategy: no_retry}}
  - {{name: exp_retry, strategy: exp_retry}}
  - name: hfr
    strategy: hfr
    equipment: {{ledger: true, query: true, ladder: true, verifier: true}}
  - {{name: suite_default, strategy: suite_default, config: {{suite: swe_bench}}}}
  - {{name: blind_resend, strategy: blind_resend}}
  - {{name: oracle_recovery, strategy: oracle_recovery, equipment: {{query: true, truth: true}}}}
controls: {{arm: blind_resend}}
analysis: {{baseline: no_retry, resamples: 200}}
"""


@pytest.fixture(scope="module")
def rows(real_rows, tmp_path_factory):
    """A file with the rows of the two alone."""
    lines = [line for name in ROWS for line in (real_rows / name).read_text().split("\n") if line]
    found = {json.loads(line)["instance_id"]: line for line in lines}
    path = tmp_path_factory.mktemp("rows") / "two.jsonl"
    path.write_text("".join(f"{found[task]}\n" for task in TASKS))
    return path


@pytest.fixture(scope="module")
def images(rows):
    """The images are there, if they can be: found, or built."""
    named = {name: os.environ.get(name, "") for name in FOLDERS}
    if lacking := [name for name, path in named.items() if not Path(path or "/no").is_dir()]:
        pytest.skip(f"{', '.join(lacking)}: names no folder")
    wanted = [word for task in TASKS for word in ("--task", task)]
    sources = ("--repos", named[FOLDERS[0]], "--python", named[FOLDERS[1]])
    assert run(["images", "swe_bench", "--data-dir", str(rows), *wanted, *sources]) == 0


def test_the_controls_hold(images, rows, capsys):
    wanted = [word for task in TASKS for word in ("--task", task)]
    words = ["validate", "swe_bench", "--sandbox", "docker", "--data-dir", str(rows), *wanted]
    assert run(words) == 0
    assert "fit to be registered" in capsys.readouterr().out


@pytest.fixture(scope="module")
def lost(images, rows, tmp_path_factory):
    """The experiment, frozen and run to the end."""
    folder = tmp_path_factory.mktemp("real")
    (folder / "matrices").mkdir()
    (folder / "matrices" / "lost.yaml").write_text(MATRIX)
    (folder / "prereg.yaml").write_text(PREREG)
    assert run(["freeze", str(folder), "--data-dir", str(rows)]) == 0
    assert run(["run", str(folder), "-n", "2", "--data-dir", str(rows)]) == 0
    return folder


def test_known_bad_and_known_good_are_told_apart(lost):
    duplicates = Counter()
    for file in (store := Store(lost)).files():
        result = store.check(file).result
        assert result is not None
        assert result.void is None
        duplicates[result.arm] += result.outcome.duplicates
    assert duplicates["blind_resend"] > 0
    assert duplicates["oracle_recovery"] == duplicates["no_retry"] == 0


def test_every_trial_says_which_image_it_ran_in(lost):
    started = [
        json.loads(file.read_text().split("\n", 1)[0])["body"]
        for file in (lost / "trials").rglob("*.jsonl")
    ]
    images = {(row["task_id"], row["image_id"]) for row in started}
    assert sorted(task for task, _ in images) == sorted(TASKS)
    assert len({image for _, image in images}) == len(TASKS)
    assert load_experiment(lost).lock.sources[0].task_digests.keys() == set(TASKS)


def test_nothing_is_left_in_the_engine(lost, engine):
    ours = {"label": f"hfr.run={run_id(lost, load_experiment(lost).prereg.digest())}"}
    assert engine.containers(all=True, filters=ours) == []
    assert engine.networks(filters=ours) == []
