"""A small experiment in cohorts on the order desk, as a user runs it: whole, killed, tampered."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.register import load
from hfr_bench.lab.store import Store
from hfr_bench.testing.bundled import rechain
from hfr_bench.testing.runs import cli, kill_after, report

TIGHT = "{retry: {max_retries_per_tenant_per_min: 3}, circuit_breaker: {consecutive_failures: 3}}"
PREREG = f"""\
v: 1
name: in-cohorts
title: In cohorts
origin: rehearsal
suites:
  - {{suite: shopdesk, pool: base, config: {{tasks: 6}}}}
faults: {{matrix: stress, rates: [0, 0.5]}}
arms:
  - {{name: no_retry, strategy: no_retry}}
  - name: hfr
    strategy: hfr
    config: {TIGHT}
    equipment: {{ledger: true, query: true, ladder: true}}
cohorts: {{size: 4, tenants: [acme, zenith], every_s: 15}}
controls: {{arm: hfr}}
analysis: {{baseline: no_retry, resamples: 200}}
"""


def new(folder: Path, text: str = PREREG) -> Path:
    folder.mkdir()
    (folder / "prereg.yaml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The experiment, frozen and run to the end."""
    made = new(tmp_path_factory.mktemp("cohorts") / "whole")
    assert run(["freeze", str(made)]) == 0
    assert run(["run", str(made), "-n", "2"]) == 0
    return made


def reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    run(["report", str(folder), "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_it_is_valid_and_says_what_is_drawn_and_what_was_shared(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = reported(finished, capsys)
    assert found["valid"]
    assert found["complete"]
    assert (found["tasks"], found["units"]) == (6, 2)
    assert any("rest on 2 cohorts" in note for note in found["notes"])
    assert [(row["arm"], row["cohort"], row["trials"]) for row in found["cohorts"]][:2] == [
        ("no_retry", 1, 4),
        ("hfr", 1, 4),
    ]
    shared = [row for row in found["cohorts"] if (row["arm"], row["rate"]) == ("hfr", 0.5)]
    assert sum(row["openings"] for row in shared) > 0
    assert sum(row["kept_back"] for row in shared) > 0
    plain = [row for row in found["cohorts"] if row["arm"] == "no_retry"]
    assert not any(row["openings"] or row["refused"] for row in plain)


def test_the_pages_name_the_unit(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for format_ in ("text", "md", "csv"):
        capsys.readouterr()
        assert run(["report", str(finished), "--format", format_]) == 0
        said = capsys.readouterr().out
        assert "cohorts (n = 2)" in said
        assert ("What cohorts share did" in said) is (format_ != "csv")
        assert format_ != "csv" or "shopdesk cohort 2, seed 1" in said


@pytest.mark.slow
def test_a_bundle_of_it_verifies(finished: Path, tmp_path: Path) -> None:
    assert run(["bundle", str(finished), "-o", str(tmp_path / "b")]) == 0
    assert run(["verify", str(tmp_path / "b")]) == 0


@pytest.mark.slow
def test_it_is_redacted_with_every_number_as_it_was(finished: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(finished, tmp_path / "copied"))
    key = "sk-" + "proj-" + "a1B2" * 8  # put together here, so that nobody takes it for a real one

    def tell(events: list[dict[str, Any]]) -> None:
        told = [event["body"] for event in events if event["body"]["type"] == "decided"]
        told[-1]["reason"] = f"the tool said {key}"

    for path in copied.glob("trials/*/r1/hfr.jsonl"):
        rechain(path, tell)
    refused, made = tmp_path / "plain", tmp_path / "redacted"
    assert run(["bundle", str(copied), "-o", str(refused)]) == 1
    assert not refused.exists()
    assert run(["bundle", str(copied), "-o", str(made), "--redact"]) == 0
    assert not any(key.encode() in path.read_bytes() for path in made.rglob("*.*"))
    assert run(["verify", str(made)]) == 0
    assert json.loads((made / "report.json").read_bytes())["cohorts"]


def test_a_trial_that_claims_another_handover_makes_it_invalid(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied = Path(shutil.copytree(finished, tmp_path / "copied"))
    path = next(p for p in copied.glob("trials/*/r1/hfr.jsonl") if b'"shared":{"breaker"' in
                p.read_bytes().split(b"\n")[-3])  # fmt: skip
    lines = path.read_bytes().split(b"\n")
    event = json.loads(lines[-3])
    event["body"]["shared"] = {}
    lines[-3] = json.dumps(event, separators=(",", ":")).encode()
    path.write_bytes(b"\n".join(lines))
    found = reported(copied, capsys)
    assert not found["valid"]
    assert any("begins with another" in note for note in found["notes"])


def test_only_the_first_trial_of_a_cohort_can_be_shrunk(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = load(finished).plan
    row = next(r for r in plan if r.trial.position == 2 and r.trial.rate and not r.control)
    assert run(["shrink", str(finished), row.trial.trial_id]) == 2
    assert "number 2 of its cohort" in capsys.readouterr().err


def test_every_single_fault_does_not_go_in_cohorts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PREREG.replace("rates: [0, 0.5]", "design: exhaustive-1").replace(
        "title: In cohorts", "title: In cohorts\nagent: oracle"
    )
    assert run(["freeze", str(new(tmp_path / "x", text))]) == 2
    assert "leave cohorts out" in capsys.readouterr().err


@pytest.mark.slow
def test_killed_at_any_moment_it_finishes_as_if_nothing_had_been(
    finished: Path, tmp_path: Path
) -> None:
    expected = report(finished)
    frozen = Path(shutil.copytree(finished, tmp_path / "frozen"))
    shutil.rmtree(frozen / "trials")
    began = time.monotonic()
    assert cli("run", Path(shutil.copytree(frozen, tmp_path / "whole")), "-n", "2").returncode == 0
    lasts_s = time.monotonic() - began
    under_way = 0
    for moment in range(6):
        folder = Path(shutil.copytree(frozen, tmp_path / f"killed-{moment}"))
        under_way += kill_after(folder, lasts_s * (moment + 0.5) / 6, "-n", "2")
        whole = len(Store(folder).files())
        assert cli("run", folder, "-n", "2").returncode == 0
        assert report(folder) == expected, f"{whole} trials were whole when it was killed"
    assert under_way
