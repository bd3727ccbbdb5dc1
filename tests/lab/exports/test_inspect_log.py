"""Inspect logs: the same bytes each time, every trial in them, and Inspect itself reads them."""

import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from hfr_bench.lab.exports.inspect_log import SCORES, write

# The environment that `make bench` measures beside; any with inspect-ai, pandas and pyarrow does.
INSPECT = Path(
    os.environ.get("HFR_BENCH_INSPECT_PYTHON")
    or Path(__file__).parents[3] / ".hosts" / "inspect" / "bin" / "python"
)


@pytest.fixture
def arm(outlines):
    return [one for one in outlines if one.started.arm == "blind_resend"]


@pytest.fixture
def log(arm, tmp_path):
    path = tmp_path / "2026-01-01T00-00-00_toy_1.eval"
    write(path, "toy", arm)
    return path


def test_a_sample_a_trial_with_all_that_was_seen(log, arm):
    with zipfile.ZipFile(log) as file:
        read = {name: json.loads(file.read(name)) for name in file.namelist()}
    samples = {name: one for name, one in read.items() if name.startswith("samples/")}
    by_trial = {one["uuid"]: one for one in samples.values()}
    assert by_trial.keys() == {one.trial_id for one in arm}
    for trial in arm:
        sample = by_trial[trial.trial_id]
        calls = [call for step in trial.steps for call in step.calls]
        assert sum(one["event"] in ("model", "tool") for one in sample["events"]) == len(calls)
        faults = [one["data"] for one in sample["events"] if "fault" in one.get("data", {})]
        assert len(faults) == sum(bool(call.fault) for call in calls)
        assert {k: one["value"] for k, one in sample["scores"].items()} == {
            name: float(trial.ending()[name]) for name in SCORES
        }
    head = read["header.json"]
    assert head["eval"]["model"].startswith("rehearsal/")  # a stand-in is not a model
    assert head["results"]["total_samples"] == len(arm) == len(read["summaries.json"])


def test_the_same_trials_give_the_same_bytes(log, arm, tmp_path):
    again = tmp_path / "again.eval"
    write(again, "toy", arm)
    assert again.read_bytes() == log.read_bytes()


@pytest.mark.skipif(
    not INSPECT.exists(),
    reason="no Inspect: HFR_BENCH_INSPECT_PYTHON names a Python with inspect-ai, pandas, pyarrow",
)
def test_inspect_reads_them(log, arm):
    program = (
        "import json, sys\n"
        "from inspect_ai.analysis import samples_df\n"
        "from inspect_ai.log import read_eval_log\n"
        "log = read_eval_log(sys.argv[1])\n"
        "table = samples_df(sys.argv[1], quiet=True)\n"
        "print(json.dumps([log.status, len(log.samples), len(table),\n"
        "    float(table['score_duplicates'].sum())]))\n"
    )
    done = subprocess.run(
        [INSPECT, "-c", program, log], text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    duplicates = sum(one.ending()["duplicates"] for one in arm)
    assert duplicates > 0
    assert json.loads(done.stdout.splitlines()[-1]) == ["success", len(arm), len(arm), duplicates]
