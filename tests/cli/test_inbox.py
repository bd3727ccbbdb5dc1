"""`hfr-bench inbox`: what waits is listed blinded, and answered beside the trials."""

import json
from pathlib import Path

import pytest

from hfr_bench.cli.inbox import WIDTH
from hfr_bench.cli.main import run
from hfr_bench.lab.inbox import INBOX
from hfr_bench.testing.bundled import ready


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A toy experiment that has been run."""
    return ready(tmp_path / "e").experiment.path


@pytest.fixture
def said(folder, capsys):
    """What the verb prints, and its exit code."""

    def call(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        assert run(["inbox", str(folder), *arguments]) == code
        done = capsys.readouterr()
        return done.out if code == 0 else done.err

    return call


def test_the_queue_is_plain_text_and_blinded(said):
    text = said()
    first = text.splitlines()[0]
    waiting = int(first.split(": ")[1].split()[0])
    assert waiting > 1
    assert first.endswith(f"(rehearsal): {waiting} escalations waiting, 0 answered")
    assert text.count("  reason   ") == waiting
    assert "always_escalate" not in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "arm always_escalate" in said("--unblind")


def test_json_is_one_record(said):
    found = json.loads(said("--json"))
    assert found["origin"] == "rehearsal"
    assert {one["arm"] for one in found["waiting"]} == {""}
    assert {one["suggestion"] for one in found["waiting"]}


def test_an_answer_takes_it_off_the_list(said, folder):
    waiting = json.loads(said("--json"))["waiting"]
    trial = waiting[0]["trial_id"]
    told = said("--answer", trial, "settle", "--note", "looked it up", "--by", "ann")
    assert told == f"{trial}: settle by ann\n"
    assert f"{len(waiting) - 1} escalation" in said()
    assert trial not in said()
    assert "settle by ann, " in said("--all")
    line = json.loads((folder / INBOX).read_text())
    assert (line["trial_id"], line["note"], line["who"]) == (trial, "looked it up", "ann")
    again = said("--answer", trial, "approve", "--by", "bob", "--json")
    assert json.loads(again)["answer"] == "approve"
    assert len((folder / INBOX).read_text().splitlines()) == 2


def test_whoever_is_logged_in_answers(said, monkeypatch):
    monkeypatch.setenv("LOGNAME", "carol")
    trial = json.loads(said("--json"))["waiting"][0]["trial_id"]
    assert said("--answer", trial, "approve").endswith("approve by carol\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--answer", "zzz", "approve"), "no escalation is named 'zzz'. There are:"),
        (("--answer", "zzz", "perhaps"), "'perhaps' is not one of 'approve', 'reject', 'settle'"),
        (("--note", "x"), "--note and --by belong to --answer TRIAL WORD"),
    ],
)
def test_a_wrong_answer_is_refused_in_words(said, folder, arguments, message):
    assert message in said(*arguments, code=2)
    assert not (folder / INBOX).exists()


def test_a_directory_that_is_no_experiment(tmp_path, capsys):
    assert run(["inbox", str(tmp_path)]) == 2
    assert "no prereg.yaml in it" in capsys.readouterr().err
