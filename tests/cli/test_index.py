"""`hfr-bench index`: a database for questions, made of the traces alone."""

import json
import shutil

import pytest

from hfr_bench.cli.main import run
from hfr_bench.lab.database import FILE

duckdb = pytest.importorskip("duckdb")
pytestmark = pytest.mark.tau2


def test_the_index_answers_questions_in_sql(copied, capsys):
    assert run(["index", str(copied), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["index"] == str(copied / FILE)
    assert told["trials"] == told["whole"] > 0
    assert told["bad_lines"] == []
    with duckdb.connect(str(copied / FILE), read_only=True) as open_:
        assert open_.execute("select count(*) from trial").fetchone() == (told["trials"],)
        assert open_.execute("select count(*) from event").fetchone()[0] > told["trials"]


def test_deleting_it_and_the_parquet_files_loses_nothing(copied, capsys):
    assert run(["report", str(copied), "--format", "json"]) == 0
    before = capsys.readouterr().out
    assert run(["index", str(copied), "--compact"]) == 0
    assert "Parquet files" in capsys.readouterr().out
    (copied / FILE).unlink()
    shutil.rmtree(copied / "parquet")
    assert run(["report", str(copied), "--format", "json"]) == 0
    assert capsys.readouterr().out == before


def test_a_corrupt_line_is_named_and_the_rest_counted(copied, capsys):
    traces = sorted((copied / "trials").rglob("*.jsonl"))
    lines = traces[0].read_text().splitlines(keepends=True)
    lines[2] = lines[2][:40] + "\n"
    traces[0].write_text("".join(lines))
    assert run(["index", str(copied)]) == 0
    shown = capsys.readouterr().out
    assert f"{len(traces)} trial files" in shown
    assert f"{traces[0]}:3" in shown or f"{traces[0].name}:3" in shown


def test_no_experiment_is_bad_input(tmp_path, capsys):
    assert run(["index", str(tmp_path)]) == 2
    assert "prereg.yaml" in capsys.readouterr().err
