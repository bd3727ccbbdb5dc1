"""ATIF trajectories: valid by the format's rules and its own library; nothing of ours is lost."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest

from hfr_bench.lab.exports.atif import VERSION, trajectory

# A folder that holds Harbor's package, unpacked: `harbor` asks for a newer Python than ours, its
# trajectory models do not.
HARBOR = os.environ.get("HFR_BENCH_HARBOR", "")


def test_steps_and_calls_follow_the_rules_of_the_format(outlines):
    for trial in outlines:
        made = trajectory(trial)
        steps = made["steps"]
        assert made["schema_version"] == VERSION
        assert [step["step_id"] for step in steps] == list(range(1, len(steps) + 1))
        assert made["final_metrics"]["total_steps"] == len(steps)
        for step in steps:
            if step["source"] != "agent":
                assert not {"model_name", "tool_calls", "metrics"} & step.keys()
            if step.get("llm_call_count") == 0:
                assert "metrics" not in step
            called = [call["tool_call_id"] for call in step.get("tool_calls", ())]
            results = step.get("observation", {"results": ()})["results"]
            assert [one["source_call_id"] for one in results] == called
            assert len(set(called)) == len(called)


def test_attempts_tokens_and_faults_are_all_there(outlines):
    for trial in outlines:
        made = trajectory(trial)
        told = [step["extra"]["hfr"] for step in made["steps"] if "extra" in step]
        told += [
            call["extra"]["hfr"] for step in made["steps"] for call in step.get("tool_calls", ())
        ]
        attempts = [one for hfr in told for one in hfr["attempts"]]
        calls = [call for step in trial.steps for call in step.calls]
        assert len(attempts) == len(calls)
        assert sum("fault" in one for one in attempts) == sum(bool(call.fault) for call in calls)
        tokens = sum(step.get("metrics", {}).get("prompt_tokens", 0) for step in made["steps"])
        assert tokens == made["final_metrics"]["total_prompt_tokens"]
        assert made["extra"]["hfr"]["outcome"] == trial.ending()
        assert made["notes"].startswith("origin: rehearsal. ")


@pytest.mark.skipif(
    not (HARBOR or importlib.util.find_spec("harbor")),
    reason="no Harbor: HFR_BENCH_HARBOR names a folder with its package, unpacked",
)
def test_harbor_takes_them(outlines):
    program = (
        "import json, sys\n"
        "from harbor.models.trajectories.trajectory import Trajectory\n"
        "for line in sys.stdin: Trajectory.model_validate_json(line)\n"
    )
    lines = "\n".join(json.dumps(trajectory(trial)) for trial in outlines)
    env = {**os.environ, "PYTHONPATH": HARBOR}
    done = subprocess.run(
        [sys.executable, "-c", program], input=lines, env=env, text=True, capture_output=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
