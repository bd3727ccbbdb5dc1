"""`hfr-bench classify`: a line out for every line in, errors apart, exit codes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hfr_bench import content
from hfr_bench.cli.main import run

RESPONSES = Path(__file__).parents[1] / "recovery" / "test_classify_responses.jsonl"
LIMITED = {
    "id": "a",
    "provider": "openai",
    "status": 429,
    "headers": {"Retry-After": "1.5"},
    "body": '{"error": {"message": "Slow down.", "code": "slow_down"}}',
    "hfr_class": "T2",
}
FINE = {
    "id": "fine",
    "status": 200,
    "headers": {},
    "body": '{"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}',
}


def rows(tmp_path: Path, *given: Any) -> Path:
    path = tmp_path / "rows.jsonl"
    lines = [one if isinstance(one, str) else json.dumps(one) for one in given]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def told(capsys: pytest.CaptureFixture[str]) -> tuple[list[dict[str, Any]], str]:
    said = capsys.readouterr()
    return [json.loads(line) for line in said.out.splitlines()], said.err


def test_a_line_out_for_every_line_in(tmp_path, capsys):
    assert run(["classify", str(rows(tmp_path, LIMITED, "", FINE))]) == 0
    out, err = told(capsys)
    assert out == [
        {
            "id": "a",
            "fault_class": "T2",
            "secondary": None,
            "confidence": 1.0,
            "evidence": "openai: slowdown",
            "action": "RETRY",
            "wait_ms": 1500,
        },
        {
            "id": "fine",
            "fault_class": None,
            "secondary": None,
            "confidence": 1.0,
            "evidence": "",
            "action": "ACCEPT",
            "wait_ms": None,
        },
    ]
    assert not err


def test_standard_input():
    command = [sys.executable, "-m", "hfr_bench", "classify", "-"]
    done = subprocess.run(
        command, input=json.dumps(LIMITED) + "\n{", capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout)["fault_class"] == "T2"
    assert done.stderr.startswith("error: standard input:2: not JSON")
    assert done.returncode == 2


def test_the_whole_table_agrees(capsys):
    assert run(["classify", "--check", str(RESPONSES)]) == 0
    out, err = told(capsys)
    assert len(out) == len(RESPONSES.read_text(encoding="utf-8").splitlines())
    assert not err


def test_disagreement_is_an_error_only_if_asked_for(tmp_path, capsys):
    path = rows(tmp_path, LIMITED, LIMITED | {"id": "b", "hfr_class": "T4"}, FINE)
    assert run(["classify", str(path)]) == 0
    assert not told(capsys)[1]
    assert run(["classify", "--check", str(path)]) == 1
    out, err = told(capsys)
    assert len(out) == 3
    assert err == f"{path}:2: b: hfr_class T4, found T2 (openai: slowdown)\n"
    assert run(["classify", "--check", str(rows(tmp_path, FINE | {"hfr_class": None}))]) == 0
    assert run(["classify", "--check", str(rows(tmp_path, FINE | {"hfr_class": "V1"}))]) == 1


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("{", "not JSON"),
        ("[1]", "a row is an object, not list"),
        ("[" * 100_000, "nested too deeply"),
        ({"status": "429"}, "status must be a whole number or null, got '429'"),
        ({"status": True}, "status must be a whole number"),
        ({"headers": []}, "headers must be an object"),
        ({"exception": 5}, "exception must be text"),
        ({"channel": "fax"}, "channel must be model or tool, got 'fax'"),
    ],
    ids=lambda v: str(v)[:20],
)
def test_a_bad_line_is_named_and_the_others_are_answered(tmp_path, capsys, bad, words):
    path = rows(tmp_path, LIMITED, bad, FINE)
    assert run(["classify", "--check", str(path)]) == 2
    out, err = told(capsys)
    assert [row["id"] for row in out] == ["a", "fine"]
    assert err.startswith(f"error: {path}:2: ")
    assert words in err


def test_bytes_that_are_no_text(tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"id": "\xff"}\n' + json.dumps(LIMITED).encode())
    assert run(["classify", str(path)]) == 2
    assert len(told(capsys)[0]) == 1


def test_no_such_file(tmp_path, capsys):
    assert run(["classify", str(tmp_path / "nowhere.jsonl")]) == 2
    assert told(capsys)[1].startswith("error: ")


@pytest.mark.parametrize(
    ("row", "fault_class", "action"),
    [
        ({"status": 500}, "T1", "RETRY"),
        ({"status": 408}, "T3", "RETRY"),
        ({"exception": "ReadTimeout", "channel": "tool"}, "T3", "RECONCILE"),
        ({"exception": "ReadTimeout", "channel": "tool", "level": "R0"}, "T3", "RETRY"),
        ({"exception": "ReadTimeout", "channel": "tool", "level": "R2"}, "T3", "RECONCILE"),
        ({"status": 529}, "T4", "DEGRADE_MODEL"),
        ({"status": 503, "channel": "tool"}, "T5", "DEGRADE_TOOL"),
        ({"body": '{"jsonrpc": "2.0", "error": {"code": -32601}}'}, "T5", "DEGRADE_TOOL"),
        ({"status": 413}, "T6", "COMPRESS"),
        ({"status": 401}, "T7", "FAIL"),
        ({"status": 400}, "T7", "REPLAN"),
        ({"status": 451}, "T8", "ESCALATE"),
        ({"exit_code": 1}, "V1", "RETRY"),
        ({"exit_code": 0}, None, "ACCEPT"),
        ({"status": 200, "body": FINE["body"].replace("hi", "")}, "V1", "RETRY"),
        ({"status": 200, "body": json.loads(str(FINE["body"]))}, None, "ACCEPT"),
    ],
    ids=str,
)
def test_the_papers_default_action(tmp_path, capsys, row, fault_class, action):
    assert run(["classify", str(rows(tmp_path, row))]) == 0
    [out] = told(capsys)[0]
    assert (out["fault_class"], out["action"]) == (fault_class, action)


def test_a_mix_is_made_of_a_log_and_can_be_read_again(tmp_path, capsys):
    log, out = (
        rows(tmp_path, LIMITED, FINE, FINE, {"status": 404, "body": "{}"}),
        tmp_path / "m.yaml",
    )
    assert run(["classify", str(log), "--mix", "-o", str(out)]) == 0
    said = capsys.readouterr()
    mix = content.mix(str(out))
    assert [one.per_1000 for one in mix.faults] == [(250.0, 250.0), (250.0, 250.0)]
    assert "NOTHING OF OURS IS LIKE IT" in said.err
    assert "no log tells: of writes without an answer" in said.err
    assert f"report DIR --mix {out}" in said.out
    assert run(["classify", str(log), "--mix", "-o", str(out), "--model-calls", "1000"]) == 0
    assert content.mix(str(out)).faults[0].per_1000 == (1.0, 1.0)


def test_without_successes_the_mix_holds_shares(tmp_path, capsys):
    log, out = rows(tmp_path, LIMITED, LIMITED), tmp_path / "m.yaml"
    assert run(["classify", str(log), "--mix", "-o", str(out)]) == 0
    assert content.mix(str(out)).faults[0].share == (1.0, 1.0)
    assert "this log does not tell: how many calls succeeded" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ((LIMITED,), ("--mix",), "--mix needs -o"),
        ((LIMITED,), ("-o", "x.yaml"), "go with --mix"),
        ((LIMITED, "{"), ("--mix", "-o", "x.yaml"), "1 rows cannot be read"),
        ((FINE,), ("--mix", "-o", "x.yaml"), "no failure among 1 responses"),
        ((LIMITED, LIMITED), ("--mix", "-o", "x.yaml", "--model-calls", "1"), "fewer than the 2"),
        ((LIMITED | {"level": "R9"},), ("--mix", "-o", "x.yaml"), "rows.jsonl:1: 'R9'"),
    ],
)
def test_what_no_mix_can_be_made_of_is_told(tmp_path, capsys, monkeypatch, given, options, words):
    monkeypatch.chdir(tmp_path)
    assert run(["classify", str(rows(tmp_path, *given)), *options]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "x.yaml").exists()
