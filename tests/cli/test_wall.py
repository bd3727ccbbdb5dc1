"""A rehearsal on the wall's clock, from freezing to `verify --level 4`: only times differ."""

import json

from hfr_bench.cli.main import run

WALL = """\
v: 1
name: wall
title: A rehearsal on the wall's clock
origin: rehearsal
clock: wall
sandbox: process
suites: [{suite: shopdesk, pool: base, sample: {n: 2, seed: 1}}]
seeds: [1]
faults: {matrix: stress, rates: [0]}
arms:
  - {name: no_retry, strategy: no_retry}
  - {name: blind_resend, strategy: blind_resend}
analysis: {baseline: no_retry, resamples: 200}
"""


def test_a_wall_clock_rehearsal_is_valid_and_can_be_run_again(tmp_path, capsys):
    folder, out = tmp_path / "wall", tmp_path / "bundle"
    folder.mkdir()
    (folder / "prereg.yaml").write_text(WALL)
    assert run(["freeze", str(folder)]) == 0
    assert run(["run", str(folder), "-n", "2"]) == 0
    capsys.readouterr()
    assert run(["report", str(folder), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["valid"]
    twins = [row["detail"] for row in report["controls"] if row["detail"].startswith("wall clock")]
    assert len(twins) == 2
    assert run(["bundle", str(folder), "-o", str(out), "--with-places"]) == 0
    assert run(["verify", str(out), "--level", "4", "--sample", "3", "--sandbox", "process"]) == 0
    assert "VERIFIED up to level 4" in capsys.readouterr().out
