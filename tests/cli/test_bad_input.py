"""Bad input: what, where, what to do; exit code 2; nothing lost; no traceback."""

import json
from pathlib import Path

import pytest

from hfr_bench.cli.main import run

pytestmark = pytest.mark.tau2


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """Run a command that must be refused; returns what it said."""
    capsys.readouterr()
    assert run(args) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("seeds: [1]", "seedz: [1]", ("seedz", "unknown key", "prereg.yaml")),
        ("seeds: [1]", "seeds: []", ("seeds", "at least 1")),
        ("strategy: hfr,", "strategy: hrf,", ("unknown strategy 'hrf'", "hfr", "no_retry")),
        ('"airline/14"', '"airline/999"', ("airline/999", "list tasks")),
        ("matrix: stress", "matrix: mild", ("unknown fault matrix 'mild'", "stress")),
        ("suite: tau2", "suite: tau9", ("unknown suite 'tau9'", "tau2")),
        ("baseline: no_retry", "baseline: nobody", ("analysis.baseline", "'nobody'", "hfr")),
        ("arm: hfr", "arm: nobody", ("controls.arm", "'nobody'")),
        ("name: blind_resend,", "name: hfr,", ("'hfr'", "twice")),
        (
            "strategy: blind_resend",
            "strategy: hfr, config: {tries: 3}",
            ("tries", "known: version, retry"),
        ),
        ("origin: rehearsal", "origin: live", ("origin", "never mixed")),
        ("v: 1", "limits: {tool_timeout_s: 0.3}", ("tool_price.latency_s", "below")),
        ("v: 1", "v: [", ("prereg.yaml", "YAML")),
        ("seeds: [1]", "seeds: [1, 1]", ("seeds", "listed twice")),
        ("rates: [0, 0.2]", "rates: [0, 1.2]", ("faults.rates", "less than or equal to 1")),
        ("name: hfr,", "name: a/b,", ("arms.1.name",)),
        (
            "v: 1",
            "hypotheses: [{id: H1, metric: SR, arm: hfr, against: no_retry, direction: less}]",
            ("hypotheses.H1", "restates"),
        ),
        (
            "controls:",
            "limits: {model_timeout_s: 0.05}\ncontrols:",
            ("limits", "past the shortest timeout"),
        ),
    ],
)
def test_a_wrong_registration_is_refused_with_its_place(edit, folder, capsys, old, new, words):
    edit(old, new)
    said = refused(capsys, "freeze", str(folder))
    for word in words:
        assert word in said
    assert not (folder / "prereg.lock.json").exists()


def test_directories_that_are_not_experiments(folder, tmp_path, capsys):
    assert "no such directory" in refused(capsys, "freeze", str(tmp_path / "nowhere"))
    (tmp_path / "empty").mkdir()
    assert "no prereg.yaml" in refused(capsys, "run", str(tmp_path / "empty"))
    assert "hfr-bench freeze" in refused(capsys, "run", str(folder))
    assert "hfr-bench freeze" in refused(capsys, "report", str(folder))


def test_new_never_overwrites(folder, capsys):
    before = (folder / "prereg.yaml").read_bytes()
    assert "is there already" in refused(capsys, "new", str(folder))
    assert (folder / "prereg.yaml").read_bytes() == before


def test_what_was_run_is_never_registered_again(copied, capsys):
    assert "holds trials" in refused(capsys, "freeze", str(copied))


@pytest.mark.parametrize("verb", ["run", "status", "report"])
def test_a_registration_that_changed_after_freezing(copied, capsys, verb):
    path = copied / "prereg.yaml"
    path.write_text(path.read_text().replace("resamples: 200", "resamples: 201"))
    assert "changed after freezing" in refused(capsys, verb, str(copied))


def test_a_plan_or_schedules_that_changed_after_freezing(copied, capsys):
    schedule = next((copied / "schedules").glob("*0.2.jsonl"))
    kept = schedule.read_text()
    schedule.write_text(kept.replace('"occurrence":1', '"occurrence":2', 1))
    assert "not the schedules" in refused(capsys, "run", str(copied))
    schedule.write_text(kept)
    plan = copied / "plan.jsonl"
    plan.write_text("".join(plan.read_text().splitlines(keepends=True)[:-1]))
    assert "not the plan" in refused(capsys, "run", str(copied))


def test_a_suite_that_changed_after_freezing(folder, capsys):
    assert run(["freeze", str(folder)]) == 0
    path = folder / "prereg.lock.json"
    lock = json.loads(path.read_text())
    lock["sources"][0]["task_digests"]["airline/2"] = "0" * 64
    path.write_text(json.dumps(lock))
    said = refused(capsys, "run", str(folder))
    assert "suite 'tau2' changed after freezing" in said
    assert "airline/2" in said
    assert not (folder / "trials").exists()


def test_traces_of_another_registration(copied, folder, capsys):
    assert run(["freeze", str(folder)]) == 0
    (folder / "trials").mkdir()
    stranger = next((copied / "trials").iterdir())
    stranger.rename(folder / "trials" / "0123456789abcdef")
    for verb in ("run", "report"):
        assert "another registration" in refused(capsys, verb, str(folder))
    assert (folder / "trials" / "0123456789abcdef").is_dir()


def test_a_missing_tool_host_says_how_to_get_it(folder, capsys, monkeypatch):
    monkeypatch.setenv("HFR_BENCH_TAU2_PYTHON", "/nonexistent/python")
    assert "HFR_BENCH_TAU2_PYTHON" in refused(capsys, "freeze", str(folder))


def test_usage_errors_exit_with_2(capsys):
    assert run(["frobnicate"]) == 2
    assert run(["run"]) == 2
    assert run(["list", "nothing"]) == 2
    assert run(["run", "x", "-n", "0"]) == 2


def damage(path: Path, how: str) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    if how == "truncated":
        lines[-1] = lines[-1][: len(lines[-1]) // 2]
    else:
        lines[3] = b"{ this is not json }\n"
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize("how", ["truncated", "garbled"])
def test_a_damaged_trace_is_named_and_nothing_else_is_lost(copied, capsys, how):
    victim = sorted((copied / "trials").glob("*/r1/blind_resend.jsonl"))[0]
    damage(victim, how)
    capsys.readouterr()
    run(["report", str(copied), "--json"])
    report = json.loads(capsys.readouterr().out)
    line = "4" if how == "garbled" else str(len(victim.read_bytes().splitlines()))
    assert any(f"blind_resend.jsonl:{line}:" in note for note in report["notes"])
    assert not report["complete"]
    assert report["trials_analysed"] == report["trials_planned"] - 3  # its whole pair group


def test_run_replaces_a_truncated_trace_and_keeps_the_remains(copied, capsys):
    victim = sorted((copied / "trials").glob("*/r1/blind_resend.jsonl"))[0]
    whole = victim.read_bytes()
    damage(victim, "truncated")
    assert run(["run", str(copied)]) == 0
    assert "ran 1 trials" in capsys.readouterr().out
    assert (victim.parent / "blind_resend.jsonl.damaged-1").exists()
    assert len(victim.read_bytes().splitlines()) == len(whole.splitlines())
