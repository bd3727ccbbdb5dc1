"""The index: never the truth. Every trap that a pile of JSONL sets for a database, one by one."""

import json
import os
import subprocess
import sys
import time

import duckdb
import pytest

from hfr_bench.lab import database, decode
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.database import COLUMNS, FILE, compact, connect
from hfr_bench.lab.index import gather
from hfr_bench.lab.ingest import Ingest
from hfr_bench.lab.store import Store
from hfr_bench.model.trial import TrialResult
from hfr_bench.testing.experiments import planned, some_faults, write_all
from hfr_bench.testing.results import KINDS

PLAN = planned(("no_retry", "blind_resend", "hfr"), tasks=8, rates=(0.0, 0.5), faults=some_faults)


@pytest.fixture
def folder(tmp_path):
    write_all(tmp_path, PLAN)
    return tmp_path


def report(folder, *, indexed=True, plan=PLAN):
    store = Store(folder, indexed=indexed)
    made = analyse(plan.prereg, plan.lock, plan.rows, store, plan.schedule, KINDS)
    return made, store.said


def facts(folder, store=None):
    store = store or Store(folder, indexed=True)
    found = gather(store, Ingest(PLAN.prereg, PLAN.rows, PLAN.schedule, KINDS))
    return [whole(one) for one in found]


def whole(one):
    """Facts with the record of which an index keeps the like."""
    result = one.checked.result
    result = None if result is None else decode.full(TrialResult, result)
    return one._replace(checked=one.checked._replace(result=result))


def ask(folder, sql):
    with connect(folder / FILE) as connection:
        return connection.execute(sql).fetchall()


def traces(folder):
    return sorted((folder / "trials").glob("*/r*/*.jsonl"))


class Counting(Store):
    """A store that remembers which files were read."""

    def __init__(self, folder):
        super().__init__(folder, indexed=True)
        self.read_files = []

    def read(self, file):
        self.read_files.append(file.name)
        return super().read(file)


def read_again(folder):
    store = Counting(folder)
    facts(folder, store)
    return store.read_files


def test_deleting_it_loses_nothing(folder):
    plain, _ = report(folder, indexed=False)
    assert plain.valid
    assert plain.complete
    for _ in range(2):
        assert report(folder) == (plain, [])
    (folder / FILE).unlink()
    assert report(folder) == (plain, [])
    assert facts(folder) == facts(folder, Store(folder))


def test_a_fresh_row_spares_the_file(folder):
    assert len(read_again(folder)) == len(PLAN.rows)
    assert read_again(folder) == []


def test_every_column_has_a_registered_type_and_sums_are_of_integers(folder):
    facts(folder)
    described = ask(folder, "DESCRIBE trial")
    assert {name: kind for name, kind, *_ in described} == COLUMNS
    assert [name for name, kind in COLUMNS.items() if kind == "DOUBLE"] == ["rate", "official"]
    results = [one.checked.result for one in facts(folder)]
    ((cost, time_us),) = ask(folder, "SELECT sum(cost_microusd), sum(latency_us) FROM trial")
    assert cost == sum(one.cost_microusd for one in results)
    assert time_us == sum(one.latency_us for one in results)
    ((harm, reached),) = ask(folder, "SELECT sum(harm), sum(faults_reached) FROM trial")
    assert harm == sum(one.outcome.harm for one in results) > 0
    assert reached == sum(s.reached for one in facts(folder) for s in one.audit.sums.values()) > 0


def glued(lines):
    return [*lines[:2], lines[2] + lines[3], *lines[4:]]


def line_3(change):
    return lambda lines: [*lines[:2], change(lines[2]), *lines[3:]]


DAMAGES = {
    "a garbage line": line_3(lambda line: b"garbage"),
    "a truncated line": line_3(lambda line: line[:30]),
    "NULs": line_3(lambda line: b"\x00" * 40),
    "an empty line": line_3(lambda line: b""),
    "glued records": glued,
    "type drift": line_3(lambda line: line.replace(b'"t_us":', b'"t_us":"1.5 USD","was":')),
    "an unknown key": line_3(lambda line: line.replace(b'"step":', b'"stranger":1,"step":')),
    "a number as text": line_3(lambda line: line.replace(b'"attempt":1', b'"attempt":"1"')),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_line_is_named_and_all_else_counts(folder, damage):
    before, _ = report(folder)
    path = traces(folder)[3]
    lines = path.read_bytes().splitlines()
    made = damage(lines)
    assert made != lines
    path.write_bytes(b"\n".join(made) + b"\n")
    (changed,) = read_again(folder)
    assert changed == path.relative_to(folder).as_posix()
    spoilt, said = report(folder)
    assert (spoilt, said) == (report(folder, indexed=False)[0], [])
    assert not (spoilt.complete and spoilt.valid)
    whole = "SELECT count(*) FROM trial WHERE whole AND bad_lines = 0 AND chain_breaks = 0"
    assert ask(folder, whole) == [(len(PLAN.rows) - 1,)]
    lost = before.trials_analysed - spoilt.trials_analysed
    assert lost <= len(PLAN.prereg.arms)
    ((bad, breaks),) = ask(
        folder, f"SELECT bad_lines, chain_breaks FROM trial WHERE path = '{changed}'"
    )
    assert bad + breaks >= 1
    told = [note for note in spoilt.notes if f"{changed}:3:" in note or f"{changed}:4:" in note]
    assert told


@pytest.mark.parametrize("tail", [b"", b"\x00" * 30, b'{"v":1,"trial_id":"x"'])
def test_a_tail_is_not_taken_for_an_end(folder, tail):
    path = traces(folder)[0]
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join(lines[:-1]) + b"\n" + tail)
    made, _ = report(folder)
    assert not made.complete
    assert ask(folder, "SELECT count(*) FROM trial WHERE NOT whole") == [(1,)]


def test_an_empty_file_and_a_vanished_group_are_missed_by_the_plan(folder):
    report(folder)
    empty, *_ = traces(folder)
    empty.write_bytes(b"")
    gone = next(p for p in traces(folder) if p.parents[1] != empty.parents[1]).parents[1]
    for path in sorted(gone.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    gone.rmdir()
    made, _ = report(folder)
    assert not made.complete
    assert any("in 2 pair groups that are not complete" in note for note in made.notes)
    assert ask(folder, "SELECT size, whole, bad_lines FROM trial WHERE size = 0") == [(0, False, 0)]
    assert ask(folder, f"SELECT count(*) FROM trial WHERE pair_group = '{gone.name}'") == [(0,)]
    events = f"SELECT count(*) FROM event WHERE path LIKE '%{gone.name}%'"
    assert ask(folder, events) == [(0,)]


def test_a_touched_file_is_hashed_and_a_changed_one_is_read_anew(folder):
    facts(folder)
    path = traces(folder)[0]
    os.utime(path, ns=(1, 1))
    assert len(read_again(folder)) == 1
    assert read_again(folder) == []
    text = path.read_bytes()
    path.write_bytes(text.replace(b'"steps":2', b'"steps":3'))
    made, _ = report(folder)
    assert not made.valid
    path.write_bytes(text)
    assert report(folder)[0].valid


def test_another_plan_or_another_kind_makes_it_anew(folder):
    facts(folder)
    other = KINDS | {"lost": KINDS["lost"].model_copy(update={"latency_ms": 5})}
    store = Counting(folder)
    gather(store, Ingest(PLAN.prereg, PLAN.rows, PLAN.schedule, other))
    assert len(store.read_files) == len(PLAN.rows)


HOLD = """
import sys, duckdb
held = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def test_a_held_database_changes_nothing_but_is_told(folder):
    plain, _ = report(folder)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder / FILE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout.readline() == b"held\n"
        made, (said,) = report(folder)
        assert made == plain
        assert "another process holds it" in said
        assert FILE in said
    finally:
        holder.communicate()
    assert report(folder) == (plain, [])


def test_a_damaged_database_changes_nothing_but_is_told(folder):
    plain, _ = report(folder)
    (folder / FILE).write_bytes(b"not a database" * 1000)
    made, (said,) = report(folder)
    assert made == plain
    assert "delete it" in said
    (folder / FILE).unlink()
    assert report(folder) == (plain, [])


def test_a_spoilt_row_is_made_anew(folder):
    plain, _ = report(folder)
    with connect(folder / FILE, write=True) as connection:
        connection.execute("UPDATE trial SET facts = '[1]' WHERE arm = 'hfr'")
    assert report(folder) == (plain, [])


def test_an_experiment_without_traces_has_an_empty_index(tmp_path):
    assert facts(tmp_path) == []
    assert ask(tmp_path, "SELECT count(*) FROM trial") == [(0,)]
    assert ask(tmp_path, "SELECT count(*) FROM event") == [(0,)]
    assert compact(tmp_path) == (0, 0, 0)


def lines_of(folder):
    return sum(len(path.read_bytes().splitlines()) for path in traces(folder))


def test_events_are_the_lines_of_the_traces(folder):
    facts(folder)
    written = [
        json.loads(line) for path in traces(folder) for line in path.read_bytes().splitlines()
    ]
    assert ask(folder, "SELECT count(*), count(seq), sum(t_us) FROM event") == [
        (len(written), len(written), sum(line["t_us"] for line in written))
    ]
    assert ask(folder, "SELECT DISTINCT type FROM event WHERE body->>'$.answered' = 'true'") == [
        ("attempt_ended",)
    ]
    path = traces(folder)[0]
    path.write_bytes(path.read_bytes() + b"garbage\n")
    facts(folder)
    ((lines, read),) = ask(folder, "SELECT count(*), count(seq) FROM event")
    assert (lines, read) == (lines_of(folder), lines_of(folder) - 1)


def test_parquet_is_a_copy_that_may_go(folder):
    plain, _ = report(folder)
    every = "SELECT * FROM event ORDER BY path, seq"
    before = ask(folder, every)
    assert compact(folder) == (1, len(PLAN.rows), 0)
    assert ask(folder, every) == before
    assert compact(folder) == (1, len(PLAN.rows), 0)
    (part,) = (folder / database.PARQUET).iterdir()
    part.unlink()
    time.sleep(0.01)
    traces(folder)[0].touch()
    assert report(folder) == (plain, [])
    assert ask(folder, every) == before


def test_a_changed_file_is_not_read_from_parquet(folder):
    facts(folder)
    compact(folder)
    path = traces(folder)[0]
    name = path.relative_to(folder).as_posix()
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    facts(folder)
    assert ask(folder, f"SELECT count(*) FROM event WHERE path = '{name}'") == [(2,)]
    assert ask(folder, "SELECT count(*) FROM event") == [(lines_of(folder),)]
    assert compact(folder) == (1, len(PLAN.rows) - 1, 1)
    assert len(list((folder / database.PARQUET).iterdir())) == 1
    assert ask(folder, "SELECT count(*) FROM event") == [(lines_of(folder),)]


def test_a_folder_may_be_named_as_it_likes_and_move(tmp_path):
    first = tmp_path / "it's [a] *folder"
    write_all(first, PLAN)
    facts(first)
    compact(first)
    assert ask(first, "SELECT count(DISTINCT path) FROM event") == [(len(PLAN.rows),)]
    first.rename(tmp_path / "moved")
    facts(tmp_path / "moved")
    assert ask(tmp_path / "moved", "SELECT count(DISTINCT path) FROM event") == [(len(PLAN.rows),)]


def test_several_may_read_at_once(folder):
    plain, _ = report(folder)
    with connect(folder / FILE):
        assert report(folder) == (plain, [])
    assert issubclass(duckdb.IOException, database.Unusable)
