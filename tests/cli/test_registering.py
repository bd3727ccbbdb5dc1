"""Registering as a user does it: sampled, tagged, timestamped, amended; what readers are told."""

import json
import shutil
import subprocess

import pytest

from hfr_bench.cli.main import run
from hfr_bench.testing.authority import authority

PREREG = """\
v: 1
name: drawn
title: A drawn sample
origin: rehearsal
suites:
  - {suite: shopdesk, pool: base, sample: {n: 2, seed: 5, strata: [level]}, success: official}
seeds: [1]
faults: {matrix: stress, rates: [0.2]}
arms:
  - {name: no_retry, strategy: no_retry}
  - {name: hfr, strategy: hfr, equipment: {ledger: true, query: true, ladder: true}}
controls: {arm: hfr, a_a: false}
hypotheses:
  - {id: H1, metric: dup_any, arm: hfr, against: no_retry, direction: less}
power: {variances: [{metric: dup_any, discordant: [0.1, 0.05], source: a guess}]}
method: {study: confirmatory, data_seen: none, sample_size: two, cost_basis: modelled}
analysis: {baseline: no_retry, resamples: 200}
"""


def git(folder, *arguments):
    done = subprocess.run(["git", "-C", str(folder), *arguments],
                          capture_output=True, text=True, check=True)  # fmt: skip
    return done.stdout.strip()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A repository with the experiment `e` in it, frozen, tagged, timestamped and run."""
    top = tmp_path_factory.mktemp("registering")
    (top / "e").mkdir()
    (top / "e" / "prereg.yaml").write_text(PREREG)
    git(top, "init", "-q")
    for name, value in (("user.name", "t"), ("user.email", "t@t"), ("tag.gpgSign", "false"),
                        ("commit.gpgSign", "false")):  # fmt: skip
        git(top, "config", name, value)
    git(top, "commit", "-q", "--allow-empty", "-m", "x")
    sandbox = ("--sandbox", "process")
    with authority(tmp_path_factory.mktemp("tsa")) as here:
        asked = ("--tag", "--timestamp-url", here.url)
        assert run(["freeze", str(top / "e"), *sandbox, *asked]) == 0
    shutil.copy(here.certificate, top / "tsa.pem")
    assert run(["run", str(top / "e"), *sandbox]) == 0
    return top


pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("git", "openssl"))), reason="needs git and openssl"
)


def test_a_frozen_lock_says_what_was_drawn_and_what_can_be_shown(place):
    lock = json.loads((place / "e" / "prereg.lock.json").read_text())
    assert len(lock["sources"][0]["tasks"]) == lock["samples"][0]["n"] == 2
    assert lock["claims"][0]["basis"] == "a guess"
    assert lock["git"].startswith(f"commit {git(place, 'rev-parse', 'HEAD')}, tag prereg/drawn-")
    assert git(place, "tag", "-l") in lock["git"]


def test_freezing_tells_it(place, tmp_path, capsys):
    shutil.copy(place / "e" / "prereg.yaml", tmp_path)
    assert run(["freeze", str(tmp_path), "--sandbox", "process"]) == 0
    said = capsys.readouterr().out
    assert "drawn: 2 of 24 tasks of shopdesk, seed 5" in said
    assert "H1 dup_any: detects 76.1 pp with power 80%" in said
    assert "below protocol: 2 tasks" in said
    assert run(["freeze", str(tmp_path), "--sandbox", "process", "--tag"]) == 2
    assert "in no git repository" in capsys.readouterr().err


@pytest.mark.slow
def test_a_bundle_is_verified_with_its_timestamp(place, tmp_path, capsys):
    out, trusted = str(tmp_path / "b.zip"), ("--timestamp-ca", str(place / "tsa.pem"))
    assert run(["bundle", str(place / "e"), "-o", out]) == 0
    capsys.readouterr()
    assert run(["verify", out, "--level", "1", *trusted, "--json"]) == 0
    checks = {one["check"]: one["ok"] for one in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["the samples are drawn again alike"] is True
    assert checks["detectable effects are worked out again"] is True
    assert checks["a timestamp is over this lock"] is True
    assert checks["a git tag holds its digest"] is None
    assert run(["verify", out, "--level", "1"]) == 0
    assert "a timestamp is over this lock: cannot be told" in capsys.readouterr().out


def test_what_was_run_is_amended_and_late_claims_are_not_tested(place, tmp_path, capsys):
    child = tmp_path / "child"
    assert run(["freeze", str(place / "e"), "--sandbox", "process"]) == 2
    assert f"`hfr-bench amend {place / 'e'}`" in capsys.readouterr().err
    assert run(["amend", str(place / "e"), "--reason", "a slip", "-o", str(child)]) == 0
    assert "4 finished trials had been seen" in capsys.readouterr().out
    path = child / "prereg.yaml"
    path.write_text(path.read_text().replace("metric: dup_any, arm", "metric: harm_1000, arm"))
    assert run(["freeze", str(child), "--sandbox", "process"]) == 0
    assert "exploratory, for changed after 4 trials were seen: H1" in capsys.readouterr().out
    assert json.loads((child / "prereg.lock.json").read_text())["after_data"] == ["H1"]
    run(["report", str(child), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["hypotheses"][0]["verdict"] == "cannot be told"
    assert report["deviations"][0]["what"] == "amended after trials were seen"


def test_a_rehearsal_stands_apart_in_table_17(place, capsys):
    capsys.readouterr()
    assert run(["table17", str(place / "e"), "--json"]) == 0
    rows = [one for one in json.loads(capsys.readouterr().out) if one["suite"] == "shopdesk"]
    planned = [one for one in rows if one["origin"] == "pending"]
    assert {one["sr"] for one in planned} == {"pending"}
    ours = {one["arm"]: one for one in rows if one["origin"] == "rehearsal"}
    assert ours["hfr"]["sr"] == ours["hfr"]["cps"] == "script"
    assert ours["hfr"]["dup_1000"].startswith("0/2")
    assert ours["hfr"]["tasks"] == "2*"
    assert run(["table17", str(place / "e")]) == 0
    assert "restates its script, and is no result" in capsys.readouterr().out


def test_a_row_of_table_17_is_copied_and_refused_until_it_is_complete(tmp_path, capsys):
    assert run(["new", str(tmp_path / "t"), "--table17", "--suite", "tau2"]) == 0
    assert run(["freeze", str(tmp_path / "t")]) == 2
    assert "still 'pending'; decide that before freezing" in capsys.readouterr().err
    assert run(["new", str(tmp_path / "u"), "--table17", "--suite", "none"]) == 2
    assert "table 17 has no row of suite 'none'; there are: swe_bench" in capsys.readouterr().err
    assert not (tmp_path / "u").exists()
