"""`hfr-bench gateway`: its options, what it prints, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from hfr_bench.cli.gateway import exit_code, told
from hfr_bench.cli.main import run
from hfr_bench.model.gateway import EventFate, GatewayLine, GatewaySummary
from hfr_bench.model.schedule import FaultSchedule

TASK = Path(__file__).parents[1] / "lab" / "blackbox" / "task.yaml"
SAYS = "import os, urllib.request as u; print(os.environ['OPENAI_BASE_URL'])"


@pytest.fixture
def log(tmp_path):
    return tmp_path / "out" / "log.jsonl"


def test_a_drawn_schedule_is_written_beside_the_log_and_can_be_given_back(log, capfd):
    asked = ["gateway", "--rehearse", str(TASK), "--rate", "0.5", "--seed", "7"]
    assert run([*asked, "--log", str(log), "--json", "--", sys.executable, "-c", SAYS]) == 0
    out, err = capfd.readouterr()
    url, summary = out.splitlines()
    assert url.startswith("http://127.0.0.1:")
    assert url.endswith("/t/agent/v1")
    assert f"OPENAI_BASE_URL={url}" in err
    assert f"ANTHROPIC_BASE_URL={url.removesuffix('/v1')}\n" in err
    found = GatewaySummary.loads(summary)
    beside = log.with_name("log.jsonl.schedule.jsonl")
    drawn = FaultSchedule.loads(beside.read_text())
    assert (drawn.suite, drawn.task_id, drawn.seed, drawn.rate) == ("shell", "fix-and-note", 7, 0.5)
    assert len(drawn.events) == len(found.fates) > 20
    again = log.with_name("again.jsonl")
    back = [*asked[:3], "--schedule", str(beside), "--log", str(again)]
    assert run([*back, "--", "true"]) == 0
    opened = [GatewayLine.loads(path.read_text().splitlines()[0]).body for path in (log, again)]
    assert opened[0].schedule_digest == opened[1].schedule_digest


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "one of --upstream URL and --rehearse FILE"),
        (["--upstream", "http://127.0.0.1:1/v1", "--rehearse", str(TASK)], "one of --upstream"),
        (["--rehearse", str(TASK), "--coordinates"], "--coordinates is for --upstream"),
        (["--rehearse", "nowhere.yaml"], "nowhere.yaml: no such file"),
        (["--rehearse", str(TASK), "--listen", "0.0.0.0:80"], "loopback only"),
        (["--rehearse", str(TASK), "--listen", "127.0.0.1:65536"], "loopback only"),
        (["--rehearse", str(TASK), "--timeout-s", "3"], "add `-- COMMAND"),
        (["--rehearse", str(TASK), "--matrix", "storm"], "unknown fault matrix 'storm'"),
        (["--rehearse", str(TASK), "--schedule", "nowhere.jsonl"], "nowhere.jsonl"),
        (["--upstream", "http://10.0.0.1/v1"], "not ours"),
    ],
)
def test_bad_input_is_told_and_starts_nothing(words, message, log, capsys):
    assert run(["gateway", "--log", str(log), *words]) == 2
    assert message in capsys.readouterr().err
    assert not log.exists()


def test_a_schedule_of_an_earlier_log_is_not_written_over(log, capsys):
    asked = ["gateway", "--rehearse", str(TASK), "--log", str(log), "--seed", "3"]
    beside = log.with_name("log.jsonl.schedule.jsonl")
    assert run([*asked, "--", "no-such-agent"]) == 2
    assert "no such command" in capsys.readouterr().err
    assert run([*asked, "--", "true"]) == 0
    before = beside.read_bytes()
    log.unlink()
    assert run([*asked, "--", "true"]) == 0, "the same words draw the same schedule"
    log.unlink()
    assert run([*asked[:-1], "4", "--", "true"]) == 2
    assert "holds another schedule" in capsys.readouterr().err
    assert beside.read_bytes() == before


@pytest.mark.parametrize(
    ("lines", "words", "message"),
    [
        (0, [], "holds 0 lines"),
        (2, [], "holds 2 lines"),
        (1, ["--seed", "9"], "its seed is 1, not 9"),
        (1, ["--task", "other"], "its task_id is 'fix-and-note', not 'other'"),
    ],
)
def test_a_schedule_is_one_line_and_for_this_task(lines, words, message, log, tmp_path, capsys):
    made = FaultSchedule(
        schedule_id="s", suite="shell", task_id="fix-and-note", seed=1, profile="p", rate=0,
        generator="g", horizon=1,
    )  # fmt: skip
    path = tmp_path / "s.jsonl"
    path.write_text("".join(f"{made.dumps()}\n" for _ in range(lines)))
    asked = ["gateway", "--rehearse", str(TASK), "--log", str(log), "--schedule", str(path)]
    assert run([*asked, *words]) == 2
    assert message in capsys.readouterr().err
    path.write_text("{}\n")
    assert run(asked) == 2
    assert "schedule_id: Field required" in capsys.readouterr().err


def test_told_to_end_it_ends_well_and_the_kill_switch_lets_requests_through(log):
    command = [sys.executable, "-m", "hfr_bench", "gateway", "--rehearse", str(TASK)]
    command += ["--rate", "1", "--matrix", "stress", "--log", str(log), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip().removeprefix("OPENAI_BASE_URL=")
        assert process.stdout.readline().startswith("ANTHROPIC_BASE_URL=")
        assert process.stdout.readline().startswith("GOOGLE_GEMINI_BASE_URL=")
        process.send_signal(signal.SIGUSR1)
        while "switched_off" not in log.read_text():
            assert process.poll() is None
        asked = {"model": "rehearsal-primary", "messages": [{"role": "user", "content": "go"}]}
        assert httpx.post(f"{url}/chat/completions", json=asked, timeout=30).status_code == 200
        process.send_signal(signal.SIGTERM)
        said = json.loads(process.stdout.read())
    assert process.returncode == 1, "some faults were left out"
    assert (said["ended"], said["switched_off"], said["attempts"]) == ("asked", True, 1)
    last = GatewayLine.loads(log.read_text().splitlines()[-1]).body
    assert last.summary == GatewaySummary.model_validate(said)


@pytest.mark.parametrize(
    ("fields", "command", "code"),
    [
        ({}, False, 0),
        ({"ended": "command", "exit_code": 0}, True, 0),
        ({"ended": "command", "exit_code": 3}, True, 1),
        ({"ended": "timeout"}, True, 1),
        ({"ended": "asked"}, True, 130),
        ({"organic": 1}, False, 1),
        ({"unplanned": 1}, False, 1),
        ({"switched_off": True}, False, 1),
    ],
)
def test_the_exit_code_says_how_it_ended(fields, command, code):
    assert exit_code(GatewaySummary(**fields), command=command) == code


def test_the_summary_names_what_was_masked():
    masked = EventFate(
        injection_id="e", kind="model_429", point="model:agent", occurrence=2, attempt=1,
        fate="masked", attempts=1, waited_us=1_500_000,
    )  # fmt: skip
    left = masked.model_copy(update={"fate": "not_reached"})
    text = told(GatewaySummary(fates=(masked, left), organic=2, exit_code=7, ended="command"))
    assert "2 scheduled, 1 reached: 1 masked by retries below the agent, 0 surfaced" in text
    assert "model_429 at model:agent #2: masked, 1 attempt(s), next one after 1.50 s" in text
    assert "NOT VALID: 2 request(s) failed at the model server" in text
    assert "exit code 7" in text
    assert os.linesep not in told(GatewaySummary()).splitlines()[0]
