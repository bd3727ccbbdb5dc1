"""`hfr-bench export` on the command line."""

import json

import pytest

from hfr_bench.cli.main import run
from hfr_bench.testing.bundled import ready


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return ready(tmp_path_factory.mktemp("toy") / "e").experiment.path


def test_spans_for_a_collector(folder, tmp_path, capsys):
    to = tmp_path / "spans"
    assert run(["export", str(folder), "--as", "otel", "-o", str(to), "--arm", "hfr"]) == 0
    lines = (to / "traces.jsonl").read_text().splitlines()
    assert f"{len(lines)} trials in 1 file: {to}" in capsys.readouterr().out
    assert all("resourceSpans" in json.loads(line) for line in lines)


def test_a_form_that_is_not_offered(folder, tmp_path, capsys):
    assert run(["export", str(folder), "--as", "csv", "-o", str(tmp_path / "x")]) == 2
    assert "atif" in capsys.readouterr().err


def test_a_folder_in_use(folder, capsys):
    assert run(["export", str(folder), "--as", "atif", "-o", str(folder)]) == 2
    assert "is in use: name a new folder" in capsys.readouterr().err
