"""Whole runs as a user starts them, killed or not, and what they leave in a container engine."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from hfr_bench.lab.register import load
from hfr_bench.lab.store import Store
from hfr_bench.model.trial import TrialResult
from hfr_bench.owner import run_id

SMALL = """\
v: 1
name: small
title: A small real experiment
origin: rehearsal
suites:
  - suite: tau2
    tasks: ["airline/2", "airline/14"]
seeds: [1]
faults: {matrix: stress, rates: [0, 0.2]}
arms:
  - {name: no_retry, strategy: no_retry}
  - {name: hfr, strategy: hfr, equipment: {ledger: true, query: true, ladder: true}}
  - {name: blind_resend, strategy: blind_resend}
controls: {arm: hfr}
analysis: {baseline: no_retry, resamples: 200}
"""
"""A small experiment on real tau2 tasks: 16 trials."""

CONTAINED = SMALL.replace("seeds:", "sandbox: docker\nseeds:").replace(', "airline/14"', "")
"""The first of its tasks, with its tools in containers: 8 trials."""


def new(folder: Path, text: str = CONTAINED) -> Path:
    """A frozen experiment in that folder."""
    folder.mkdir(parents=True)
    (folder / "prereg.yaml").write_text(text)
    assert cli("freeze", folder).returncode == 0
    return folder


def written(folder: Path, text: str, matrix: str) -> Path:
    """An experiment's folder with its preregistration and the matrix of its own that it names."""
    (folder / "matrices").mkdir(parents=True)
    (folder / "prereg.yaml").write_text(text)
    (folder / "matrices" / f"{yaml.safe_load(matrix)['name']}.yaml").write_text(matrix)
    return folder


def results(folder: Path, arm: str) -> list[TrialResult]:
    """How the trials of an arm ended, its controls left out."""
    planned = {row.trial.trial_id for row in load(folder).plan if row.control is None}
    store = Store(folder)
    found = [store.check(file).result for file in store.files()]
    return [r for r in found if r is not None and r.arm == arm and r.trial_id in planned]


def unrun(folder: Path) -> Path:
    """A frozen experiment's folder as it was before its first run."""
    shutil.rmtree(folder / "trials")
    (folder / "run.jsonl").unlink()
    return folder


def traces(folder: Path) -> set[Path]:
    """The traces of first rounds that are whole."""
    return set(folder.glob("trials/*/r1/*.jsonl"))


def lose_groups(folder: Path, rate: str = "0.2") -> list[Path]:
    """Take a run experiment's pair groups of three arms at a rate away; returns their folders."""
    lost = []
    for group in sorted((folder / "trials").iterdir()):
        arms = list(group.glob("r1/*.jsonl"))
        if len(arms) == 3 and f'"rate":{rate},'.encode() in arms[0].read_bytes():
            shutil.rmtree(group)
            lost.append(group)
    return lost


def at_work(child: "subprocess.Popen[Any]", folder: Path, before: set[Path]) -> None:
    """Wait until a run has written another trace than those of before."""
    deadline = time.monotonic() + 150
    while not traces(folder) - before:
        assert time.monotonic() < deadline, "the run never got anywhere"
        assert child.poll() is None, "the run ended before it could be told to"
        time.sleep(0.002)


def cli(verb: str, folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """Run a verb as a user would, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "hfr_bench", verb, str(folder), *options],
        capture_output=True,
        text=True,
        check=False,
    )


def begin(folder: Path, *options: str) -> "subprocess.Popen[bytes]":
    """Begin to run an experiment."""
    return subprocess.Popen(
        [sys.executable, "-m", "hfr_bench", "run", str(folder), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def kill_after(folder: Path, seconds: float, *options: str) -> bool:
    """Begin a run, and SIGKILL it after so long; whether it was still running."""
    child = begin(folder, *options)
    time.sleep(seconds)
    alive = child.poll() is None
    child.kill()
    child.wait()
    return alive


def report(folder: Path) -> dict[str, Any]:
    """The report as data."""
    found: dict[str, Any] = json.loads(cli("report", folder, "--json").stdout)
    return found


def left(engine: Any, folder: Path) -> list[str]:
    """Every container, network and volume of the experiment's run that there is."""
    run = run_id(folder, load(folder).lock.prereg_digest)
    mine = {"label": f"hfr.run={run}"}
    return [
        *(box["Id"] for box in engine.containers(all=True, filters=mine)),
        *(net["Id"] for net in engine.networks(filters=mine)),
        *(volume["Name"] for volume in engine.volumes(filters=mine)["Volumes"] or ()),
    ]
