"""Level 0: whatever was changed, dropped or added after bundling is named."""

import shutil
import zipfile

import pytest

from hfr_bench.testing.bundled import failed, replace, reseal, trace


def test_a_flipped_byte(forged):
    path = trace(forged)
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    levels, said = failed(forged)
    assert levels[0] == 0
    assert f"{path.relative_to(forged)} changed" in said


def test_a_flipped_byte_in_a_zip(toy, tmp_path):
    path = toy.bundle(tmp_path / "b.zip")
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("plan.jsonl")
    data = bytearray(path.read_bytes())
    data[info.header_offset + 30 + len(info.filename) + info.compress_size // 2] ^= 1
    path.write_bytes(data)
    levels, said = failed(path, 0)
    assert levels == [0]
    assert "plan.jsonl changed" in said


def test_a_dropped_trial(forged):
    trace(forged).unlink()
    assert failed(forged, 0)[0] == [0]
    reseal(forged, chains=False)
    assert "sealed and not there" in failed(forged, 0)[1]
    reseal(forged)
    levels, said = failed(forged)
    assert levels == [2, 3]
    assert "lack trials, and the bundle says that none does" in said


@pytest.mark.parametrize("name", ["notes.txt", "trials/x/r1/hfr.db", "schedules/s.duckdb"])
def test_an_added_file(forged, name):
    path = forged / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    assert "is not listed" in failed(forged, 0)[1]
    reseal(forged)
    levels, said = failed(forged)
    assert levels == [0]
    assert f"{name} has no place in a bundle" in said


def test_an_added_trial(forged):
    first = trace(forged)
    shutil.copytree(first.parent, first.parents[2] / "0123456789abcdef" / "r1")
    assert "is not listed" in failed(forged, 0)[1]
    reseal(forged)
    levels, said = failed(forged)
    assert levels[0] == 2
    assert "nobody planned 0123456789abcdef/r1/" in said


def test_a_last_line_edited_by_itself(forged):
    """No later line holds its hash; bundle.json does."""
    path = trace(forged)
    replace(path, '"goal_met":true', '"goal_met":false')
    reseal(forged, chains=False)
    levels, said = failed(forged)
    assert levels == [0, 3]
    assert "ends otherwise" in said


def test_a_line_in_the_middle_edited_by_itself(forged):
    replace(trace(forged), '"cost_microusd":900', '"cost_microusd":800')
    reseal(forged)
    levels, said = failed(forged)
    assert levels[0] == 0
    assert "hash chain is broken" in said


def test_another_statement(forged):
    replace(forged / "statement.json", '"valid":true', '"valid":false')
    assert "the statement speaks of this manifest" in failed(forged, 0)[1]
    (forged / "statement.json").unlink()
    assert failed(forged, 0)[0] == [0]
