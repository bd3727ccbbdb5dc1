"""`hfr-bench bundle` on a real finished experiment."""

import zipfile

import pytest

from hfr_bench.cli.main import run

pytestmark = pytest.mark.tau2


def test_a_finished_experiment_becomes_one_file(finished, tmp_path, capsys):
    out = tmp_path / "small.zip"
    assert run(["bundle", str(finished), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert "small (rehearsal), 12 of 12 trials and 4 of controls; 0 interrupted traces" in said
    assert f"next: hfr-bench verify {out}" in said
    with zipfile.ZipFile(out) as archive:
        names = archive.namelist()
        assert sum(name.startswith("trials/") for name in names) == 16
        assert "content/suites/tau2/tools.yaml" in names


def test_what_is_not_frozen_is_refused(folder, tmp_path, capsys):
    assert run(["bundle", str(folder), "-o", str(tmp_path / "b.zip")]) == 2
    assert "not frozen yet; run `hfr-bench freeze" in capsys.readouterr().err


@pytest.mark.slow
def test_what_is_incomplete_needs_a_word_more(copied, tmp_path, capsys):
    next((copied / "trials").glob("*/r1/hfr.jsonl")).unlink()
    out = str(tmp_path / "b")
    assert run(["bundle", str(copied), "-o", out]) == 1
    assert "--incomplete bundles it all the same" in capsys.readouterr().err
    assert run(["bundle", str(copied), "-o", out, "--incomplete"]) == 0
    assert "INCOMPLETE; the bundle says so" in capsys.readouterr().out
    assert run(["verify", out]) == 0
    assert "but the experiment is INCOMPLETE" in capsys.readouterr().out


def test_a_key_of_the_environment_in_the_experiment_stops_it(copied, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "hunter2hunter2")
    path = copied / "prereg.yaml"
    path.write_text(path.read_text() + "# hunter2hunter2\n")
    assert run(["bundle", str(copied), "-o", str(tmp_path / "b.zip")]) == 1
    said = capsys.readouterr().err
    assert "prereg.yaml:16: the value of $SOME_API_KEY" in said
    assert "hunter2" not in said
    assert not (tmp_path / "b.zip").exists()
