"""The road new -> freeze -> run -> status -> report, on real tasks, faults and servers."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.store import Store
from hfr_bench.testing.runs import at_work, traces

pytestmark = pytest.mark.tau2


def report_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert run(["report", str(folder), "--json"]) == 0
    return capsys.readouterr().out


def test_new_writes_what_freeze_takes(tmp_path, capsys):
    folder = tmp_path / "My study"
    assert run(["new", str(folder)]) == 0
    path = folder / "prereg.yaml"
    path.write_text(path.read_text().replace("pool: base", 'tasks: ["telecom/' + "x" + '"]'))
    assert run(["freeze", str(folder)]) == 2
    assert "telecom/x" in capsys.readouterr().err
    path.write_text(path.read_text().replace("telecom/x", "retail/0"))
    assert run(["freeze", str(folder)]) == 0


def test_every_trial_is_graded_and_every_control_holds(finished, capsys):
    report = json.loads(report_of(finished, capsys))
    assert report["origin"] == "rehearsal"
    assert report["valid"]
    assert report["complete"]
    assert report["trials_analysed"] == 2 * 2 * 3
    by_name = {row["name"]: row["passed"] for row in report["controls"]}
    assert by_name["rate 0 equals no injector at all"]
    assert by_name["the same arm twice gives the same trials (A/A)"]
    assert all(row["delivered"] == row["reached"] for row in report["audit"])
    assert sum(row["reached"] for row in report["audit"]) > 0


def test_status_is_blinded_and_counts(finished, capsys):
    capsys.readouterr()
    assert run(["status", str(finished), "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["graded"] == status["planned"]
    assert status["lacking"] == 0
    assert run(["status", str(finished)]) == 0
    text = capsys.readouterr().out
    for arm in ("no_retry", "hfr", "blind_resend"):
        assert arm not in text


@pytest.mark.parametrize("form", ["text", "md", "csv"])
def test_every_format_carries_the_origin(finished, capsys, form):
    capsys.readouterr()
    assert run(["report", str(finished), "--format", form]) == 0
    assert "rehearsal" in capsys.readouterr().out


def test_running_again_does_nothing(finished, capsys):
    before = {p: p.stat().st_mtime_ns for p in finished.rglob("*.jsonl")}
    assert run(["run", str(finished)]) == 0
    assert "complete" in capsys.readouterr().out
    assert {p: p.stat().st_mtime_ns for p in finished.rglob("*.jsonl")} == before


@pytest.mark.slow
def test_workers_and_hash_seed_change_nothing(finished, folder, capsys):
    env = {**os.environ, "PYTHONHASHSEED": "1"}
    for args in (["freeze", str(folder)], ["run", str(folder), "-n", "4"]):
        subprocess.run(
            [sys.executable, "-m", "hfr_bench", *args], env=env, check=True, capture_output=True
        )
    for name in ("plan.jsonl", *(f"schedules/{p.name}" for p in finished.glob("schedules/*"))):
        assert (folder / name).read_bytes() == (finished / name).read_bytes()
    first = {
        f.path.relative_to(finished): Store(finished).check(f).digest
        for f in Store(finished).files()
    }
    other = {
        f.path.relative_to(folder): Store(folder).check(f).digest for f in Store(folder).files()
    }
    assert first == other
    assert report_of(finished, capsys) == report_of(folder, capsys)


def test_kill_9_loses_at_most_the_running_trials(finished, lacking, slowly, capsys):
    folder, before = lacking, traces(lacking)
    child = subprocess.Popen(
        [sys.executable, "-m", "hfr_bench", "run", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=slowly,
    )
    try:
        at_work(child, folder, before)
        os.kill(child.pid, signal.SIGKILL)
    finally:
        child.wait()
    done = len(traces(folder))
    assert run(["run", str(folder)]) == 0
    said = capsys.readouterr().out
    assert f"({done} of" in said
    assert report_of(folder, capsys) == report_of(finished, capsys)


@pytest.mark.slow
def test_on_the_wall_clock_waits_are_real(folder, edit, capsys):
    edit(
        "v: 1",
        "v: 1\nclock: wall\nlimits: {tool_timeout_s: 0.4, model_timeout_s: 2}\n"
        "tool_price: {latency_s: 0}",
    )
    edit("rates: [0, 0.2]", "rates: [0.2]")
    edit('["airline/2", "airline/14"]', '["airline/2"]')
    edit("controls: {arm: hfr}", "controls: {a_a: false, injector_removed: false}")
    edit(
        "  - {name: hfr, strategy: hfr, equipment: {ledger: true, query: true, ladder: true}}\n", ""
    )
    assert run(["freeze", str(folder)]) == 0
    assert run(["run", str(folder), "-n", "2"]) == 0
    report = json.loads(report_of(folder, capsys))
    assert all(row["delivered"] == row["reached"] for row in report["audit"])


def test_validate_says_fit_and_names_every_tool(capsys):
    assert run(["validate", "tau2", "--pool", "airline", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all(row["oracle"] == 1.0 for row in found["tasks"])
    assert all(row["nop"] == 0.0 for row in found["tasks"] if row["changes"])
    verdicts = {row["tool"]: row["verdict"] for row in found["tools"]}
    declared = {tool for tool, verdict in verdicts.items() if verdict == "declared"}
    assert declared == {"transfer_to_human_agents"}


def test_list_tells_what_there_is(capsys):
    plugs = ("suites", "strategies", "agents", "sandboxes", "llms", "executors", "stores")
    for what in (*plugs, "faults"):
        assert run(["list", what, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)
    assert run(["list", "tasks", "tau2"]) == 0
    assert "airline/2" in capsys.readouterr().out
