"""Level 0: whatever was changed, dropped or added after bundling is named."""

import shutil
import zipfile

import pytest

from hfr_bench.testing.bundled import failed, ready, rechain, replace, reseal, trace


def test_a_flipped_byte(forged):
    path = trace(forged)
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    levels, said = failed(forged)
    assert levels[0] == 0
    assert f"{path.relative_to(forged)} changed" in said


def test_a_flipped_byte_in_a_zip(toy, tmp_path):
    path = toy.bundle(tmp_path / "b.zip", drawn=False)
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


def test_two_lines_of_a_trace_change_places(forged):
    path = trace(forged)
    lines = path.read_text().splitlines(keepends=True)
    lines[2], lines[3] = lines[3], lines[2]
    path.write_text("".join(lines))
    assert failed(forged, 0)[0] == [0]
    reseal(forged)
    levels, said = failed(forged)
    assert levels[0] == 0
    assert "hash chain is broken" in said


def test_two_lines_change_places_and_all_is_linked_anew(forged):
    """Chains and seals fit again; the order itself makes no sense, and the report would say so."""

    def swap(events):
        kinds = [event["body"]["type"] for event in events]
        nth = kinds.index("attempt_started")
        assert kinds[nth + 1 : nth + 3] != []
        end = kinds.index("attempt_ended", nth)
        events[nth], events[end] = events[end], events[nth]

    rechain(trace(forged, "blind_resend"), swap)
    reseal(forged)
    assert failed(forged)[0] == [0, 3]


def test_a_hidden_void(tmp_path):
    """A trial that measured nothing, passed off as a failure: its round would not have counted."""

    def void(events):
        result = events[-1]["body"]["result"]
        result |= {"outcome": None, "void": "sandbox", "void_reason": "gone"}

    toy = ready(tmp_path / "e", tasks=3)
    path = trace(toy.experiment.path)
    kept = path.read_bytes()
    rechain(path, void)
    bundle = toy.bundle(tmp_path / "b", incomplete=True, drawn=False)
    assert failed(bundle)[0] == []
    (bundle / path.relative_to(toy.experiment.path)).write_bytes(kept)
    assert failed(bundle, 0)[0] == [0]
    reseal(bundle)
    levels, said = failed(bundle)
    assert levels == [3]
    assert "report.json follows from the traces" in said
