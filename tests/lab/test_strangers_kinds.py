"""A stranger's plugin, installed as pip does: kinds, matrix, and an injector with its own effects.

The core knows none of it: freeze, run, report, bundle; and verify where the plugin is not.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from hfr_bench.cli.main import run

STRANGER = Path(__file__).parent / "stranger"

PREREG = """\
v: 1
name: acme
title: The order desk under faults that nobody here has seen
origin: rehearsal
suites: [{suite: shopdesk, tasks: [shopdesk/6660d2-012-high-4]}]
seeds: [1]
faults: {matrix: lunch, rates: [0, 0.5]}
arms:
  - {name: no_retry, strategy: no_retry}
  - {name: blind_resend, strategy: blind_resend}
  - {name: hfr, strategy: hfr, equipment: {ledger: true, query: true}}
analysis: {baseline: no_retry, resamples: 200}
"""

# The experiment's own: effects that every installation has.
LUNCH = """\
kind: lunch_break
layer: tool
title: The desk closes while it works
points: ["tool:*"]
levels: [R1, R2]
wire: {tool: {type: stall, stall_s: 90}}
lands: 0.5
"""
MATRIX = """\
name: lunch
mixes:
  - points: ["model:*"]
    kinds: {acme_model_425: 1.0}
  - points: ["tool:*"]
    kinds: {acme_quota: 0.2, acme_brownout: 0.3, lunch_break: 0.5}
"""
THEIRS = {"acme_quota", "acme_brownout", "acme_model_425", "lunch_break"}

VERBS = """\
import json, sys
from hfr_bench.cli.main import run
for verb in json.loads(sys.argv[1]):
    code = run(verb)
    assert code == 0, (verb, code)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the plugin in it, and its entry points."""
    top = tmp_path_factory.mktemp("acme")
    source = shutil.copytree(STRANGER, top / "source")
    options = ("--no-deps", "--no-index", "--no-build-isolation", "--no-compile")
    pip = (sys.executable, "-m", "pip", "install", "-q", *options, "--target", str(top / "site"))
    subprocess.run([*pip, str(source)], check=True)
    return top / "site"


def there(site: Path, *verbs: list[str]) -> "subprocess.CompletedProcess[str]":
    """Verbs of the command line, one after the other, where the plugin is installed."""
    env = {**os.environ, "PYTHONPATH": str(site), "HFR_BENCH_SANDBOX": "process"}
    return subprocess.run(
        [sys.executable, "-c", VERBS, json.dumps(verbs)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def written(folder: Path) -> Path:
    """The experiment, not frozen."""
    for name, text in (
        ("prereg.yaml", PREREG),
        ("kinds/lunch_break.yaml", LUNCH),
        ("matrices/lunch.yaml", MATRIX),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture(scope="module")
def ran(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The experiment, run, reported and bundled; never changed by a test."""
    folder = written(tmp_path_factory.mktemp("acme") / "e")
    here = str(folder)
    done = there(
        site,
        ["freeze", here],
        ["run", here],
        ["report", here, "-o", str(folder.with_name("report.json"))],
        ["bundle", here, "-o", str(folder.with_name("bundle"))],
        ["list", "faults"],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "acme-faults 0.1" in done.stdout
    return folder


def test_what_is_reached_is_delivered_and_reported(ran: Path) -> None:
    report = json.loads(ran.with_name("report.json").read_text())
    assert report["valid"]
    assert report["complete"]
    rows = report["audit"]
    assert {row["kind"] for row in rows} == THEIRS
    assert all(row["delivered"] == row["reached"] for row in rows)
    reached = {row["kind"] for row in rows if row["reached"]}
    assert reached == THEIRS
    lock = json.loads((ran / "prereg.lock.json").read_text())
    assert "faults: acme_quota is of acme-faults 0.1" in lock["notes"]
    assert "faults: lunch_break is of the experiment's folder" in lock["notes"]


def test_hfr_copes(ran: Path) -> None:
    ends = []
    for path in ran.glob("trials/*/r1/hfr.jsonl"):
        result = json.loads(path.read_bytes().splitlines()[-1])["body"]["result"]
        outcome = result["outcome"]
        assert outcome["duplicates"] == outcome["unwanted"] == outcome["partial"] == 0
        ends.append(outcome["end"])
    assert ends
    assert set(ends) <= {"accepted", "escalated"}


def test_its_bundle_is_verified_where_the_plugin_is_not(ran: Path, tmp_path, capsys) -> None:
    bundle = ran.with_name("bundle")
    assert run(["verify", str(bundle)]) == 0
    assert "VERIFIED up to level 3" in capsys.readouterr().out
    assert (bundle / "kinds" / "lunch_break.yaml").is_file()


def test_without_the_plugin_its_kinds_are_missed_by_name(ran: Path, capsys) -> None:
    for verb in ("run", "report", "freeze"):
        capsys.readouterr()
        folder = ran if verb != "freeze" else written(ran.with_name(f"again-{verb}"))
        assert run([verb, str(folder)]) == 2
        said = capsys.readouterr().err
        assert "'acme_brownout'" in said
        assert "install the plugin" in said


def test_an_own_kind_that_changes_after_freezing_is_told(ran: Path, site, tmp_path) -> None:
    folder = Path(shutil.copytree(ran, tmp_path / "e"))
    path = folder / "kinds" / "lunch_break.yaml"
    path.write_text(path.read_text().replace("90", "80"))
    done = there(site, ["report", str(folder)])
    assert "the fault kinds changed after freezing" in done.stderr


def test_a_case_holds_the_kinds_that_it_needs(ran: Path, site, tmp_path) -> None:
    """Shrunk where the plugin is; what is left may need no plugin."""
    case = tmp_path / "case.yaml"
    for path in sorted(ran.glob("trials/*/r1/no_retry.jsonl")):
        result = json.loads(path.read_bytes().splitlines()[-1])["body"]["result"]
        if result["rate"] and result["outcome"]["end"] == "failed":
            break
    else:
        raise AssertionError("no_retry never failed")
    shrink = ["shrink", str(ran), str(path), "--most", "12", "-o", str(case)]
    done = there(site, shrink, ["shrink", "--replay", str(case)])
    assert done.returncode == 0, done.stdout + done.stderr
    data = yaml.safe_load(case.read_text())
    assert set(data["own_kinds"]) == THEIRS
    assert data["matrix"]["name"] == "lunch"
