"""`hfr-bench shrink` on real trials of the order desk."""

import json
from pathlib import Path

import pytest
import yaml

from hfr_bench.cli.main import run

PREREG = """\
v: 1
name: breaking
title: Trials that break
origin: rehearsal
suites: [{suite: shopdesk, pool: demo}]
agent: oracle
seeds: [1]
faults: {matrix: stress, rates: [0, 0.5]}
arms:
  - {name: blind_resend, strategy: blind_resend}
  - {name: always_escalate, strategy: always_escalate}
  - {name: no_retry, strategy: no_retry}
analysis: {baseline: no_retry, resamples: 200}
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment under many faults, run to the end."""
    folder = tmp_path_factory.mktemp("broken") / "e"
    folder.mkdir()
    (folder / "prereg.yaml").write_text(PREREG)
    assert run(["freeze", str(folder)]) == 0
    assert run(["run", str(folder)]) == 0
    return folder


def trials(folder: Path, arm: str) -> dict[str, dict]:
    """Path and result of each trial of an arm; those without injectors are left out."""
    found = {}
    for path in sorted(folder.glob(f"trials/*/r1/{arm}.jsonl")):
        first, *_, last = map(json.loads, path.read_bytes().splitlines())
        if first["body"]["injected"]:
            found[str(path)] = last["body"]["result"]
    return found


def trial(folder: Path, arm: str, *, rate: float = 0.5, **outcome) -> str:
    """The first trial of an arm with that outcome."""
    for path, result in trials(folder, arm).items():
        got = result["outcome"]
        if result["rate"] == rate and all(got[name] == value for name, value in outcome.items()):
            return path
    raise AssertionError(f"no trial of {arm} with {outcome}")


def test_a_duplicate_comes_down_to_its_one_lost_answer(broken, tmp_path, capsys):
    before = {path: path.read_bytes() for path in broken.rglob("*") if path.is_file()}
    named, case = trial(broken, "blind_resend", duplicates=1), tmp_path / "case.yaml"
    capsys.readouterr()
    assert run(["shrink", str(broken), named, "-o", str(case)]) == 0
    said = capsys.readouterr()
    assert "breaks: harm (duplicates)" in said.out
    assert "still harm under" in said.err
    data = yaml.safe_load(case.read_text())
    (event,) = data["schedule"]["events"]
    assert (event["kind"], event["effect_lands"]) == ("tool_outcome_unknown", True)
    assert event["lasts"] == {"v": 1, "unit": "attempts", "n": 1}
    assert data["faults"] > 20
    assert data["minimal"]
    assert {p: p.read_bytes() for p in broken.rglob("*") if p.is_file()} == before

    assert run(["shrink", "--replay", str(case), "--show"]) == 0
    drawn = capsys.readouterr().out
    assert "[DUPLICATE]" in drawn
    assert "faults  1 scheduled" in drawn

    event["effect_lands"] = False  # another schedule than the one that was found
    case.write_text(yaml.safe_dump(data))
    assert run(["shrink", "--replay", str(case)]) == 2


@pytest.mark.parametrize(
    ("arm", "still", "outcome"),
    [
        ("always_escalate", "escalation", {"end": "escalated"}),
        ("no_retry", "failure", {"end": "failed"}),
    ],
)
def test_other_ends_come_down_to_one_fault_too(broken, tmp_path, capsys, arm, still, outcome):
    case = tmp_path / "case.yaml"
    named = trial(broken, arm, **outcome)
    assert run(["shrink", str(broken), named, "--still", still, "-o", str(case)]) == 0
    data = yaml.safe_load(case.read_text())
    assert (data["expected"]["still"], len(data["schedule"]["events"])) == (still, 1)


def test_trials_may_be_used_up(broken, tmp_path, capsys):
    named = trial(broken, "blind_resend", duplicates=1)
    assert run(["shrink", str(broken), named, "--most", "2"]) == 0
    assert "it may go on (--most)" in capsys.readouterr().out


def refused(capsys, *arguments: str) -> str:
    capsys.readouterr()
    assert run(["shrink", *arguments]) == 2
    return capsys.readouterr().err


def test_what_cannot_be_shrunk_is_refused(broken, tmp_path, capsys):
    fine = trial(broken, "no_retry", rate=0.0)
    assert "nothing to shrink" in refused(capsys, str(broken), fine)
    bad = trial(broken, "no_retry", end="failed")
    assert "shows no harm" in refused(capsys, str(broken), bad, "--still", "harm")
    assert "no trial is named" in refused(capsys, str(broken), "x")
    assert "say which" in refused(capsys, str(broken))
    assert "say which" in refused(capsys)
    case = str(tmp_path / "case.yaml")
    assert "no such file" in refused(capsys, "--replay", case)
    assert "takes a case alone" in refused(capsys, str(broken), bad, "--replay", case)
    (tmp_path / "case.yaml").write_text("colour: red\n")
    assert "colour: unknown key" in refused(capsys, "--replay", case)
