"""`hfr-bench learn` on a real experiment: chance inside the rules, a table, and the arm of it."""

import json
from pathlib import Path

import pytest
import yaml

from hfr_bench.cli.main import run
from hfr_bench.model.prereg import Arm

GEAR = "{ledger: true, query: true, ladder: true}"
PREREG = f"""\
v: 1
name: explored
title: Chance inside the rules
origin: rehearsal
suites:
  - {{suite: shopdesk, pool: demo}}
seeds: [1, 2]
faults: {{matrix: stress, rates: [0.2]}}
arms:
  - {{name: hfr, strategy: hfr, equipment: {GEAR}}}
  - name: explore
    strategy: hfr-learned
    config: {{learned: {{explore: 1}}}}
    equipment: {GEAR}
controls: {{injector_removed: false, a_a: false}}
analysis: {{baseline: hfr, resamples: 200}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("learn") / "explored"
    made.mkdir()
    (made / "prereg.yaml").write_text(PREREG)
    assert run(["freeze", str(made)]) == 0
    assert run(["run", str(made), "-n", "2"]) in (0, 1)
    return made


def test_an_arm_is_learned_and_can_be_registered(folder, tmp_path, capsys):
    out = tmp_path / "arm.yaml"
    assert run(["learn", str(folder), "--least", "2", "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("rehearsal: learned from ")
    assert "on held-out tasks" in said
    (entry,) = yaml.safe_load(out.read_text())
    arm = Arm.model_validate(entry)
    text = PREREG.replace("    config: {learned: {explore: 1}}\n", "    config: LEARNED\n")
    own = tmp_path / "again"
    own.mkdir()
    (own / "prereg.yaml").write_text(text.replace("LEARNED", json.dumps(arm.config)))
    assert run(["freeze", str(own)]) == 0


@pytest.mark.slow
def test_a_bundle_is_learned_from_like_its_experiment(folder, tmp_path, capsys):
    archive = tmp_path / "b.zip"
    assert run(["bundle", str(folder), "-o", str(archive), "--incomplete"]) == 0
    capsys.readouterr()
    told = []
    for source in (folder, archive):
        assert run(["learn", str(source), "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0] == told[1]
    assert told[0]["learned_from"]["choices"] > 0


def test_nothing_is_overwritten(folder, tmp_path, capsys):
    out = tmp_path / "arm.yaml"
    out.write_text("mine")
    assert run(["learn", str(folder), "-o", str(out)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert out.read_text() == "mine"
