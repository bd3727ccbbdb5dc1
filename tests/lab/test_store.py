"""Reading traces: bad lines are named, chains verified, the last complete round chosen."""

import json

import pytest

from hfr_bench.lab.store import Store, choose, stripped, traces_digest, trial_digest
from hfr_bench.model.terms import VoidCause
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import (
    At,
    answered,
    ended,
    sent,
    started,
    write_trial,
)

PLAN = planned(("a", "b"), tasks=1, rates=(0.0,), controls=False)
TRIAL = PLAN.rows[0].trial


def write(folder, trial=TRIAL, round_=1, wall_us=7, **fields):
    bodies = [started(trial, round_), At(sent()), At(answered()), ended(trial, **fields)]
    return write_trial(folder, trial, bodies, round_, wall_us)


def checks(folder):
    store = Store(folder)
    return [store.check(file) for file in store.files()]


def chosen(folder):
    return choose(PLAN.rows, checks(folder), void_rounds=1)


def test_a_whole_trace(tmp_path):
    path = write(tmp_path)
    (checked,) = checks(tmp_path)
    assert checked.result is not None
    assert checked.result.trial_id == TRIAL.trial_id
    assert (checked.bad, checked.breaks) == ((), ())
    (trace,) = Store(tmp_path).traces()
    assert [e.seq for e in trace.events] == [1, 2, 3, 4]
    assert trace.path == path
    some = Store(tmp_path).trace(checked.file, {"attempt_ended"})
    assert [e.body.type for e in some.events] == ["attempt_ended"]


def test_only_finished_files_are_read(tmp_path):
    path = write(tmp_path)
    path.with_name("a.jsonl.part").write_text("{")
    path.with_name("a.jsonl.interrupted-1").write_text("{")
    assert [file.arm for file in Store(tmp_path).files()] == ["a"]
    assert Store(tmp_path / "nothing").files() == ()


@pytest.mark.parametrize(
    ("number", "damage"),
    [
        (1, lambda line: line[:40]),
        (2, lambda line: line[: len(line) // 2]),
        (3, lambda line: line.replace(b'"answered":true', b'"answered":')),
        (3, lambda line: b"\x00" * 30),
        (3, lambda line: b""),
        (3, lambda line: b"[]"),
        (4, lambda line: line[:-9]),
        (4, lambda line: line.replace(b'"steps":2', b'"steps":"two"')),
    ],
)
def test_a_damaged_line_is_named_and_nothing_else_is_lost(tmp_path, number, damage):
    path = write(tmp_path)
    write(tmp_path, PLAN.rows[1].trial)
    lines = path.read_bytes().splitlines()
    lines[number - 1] = damage(lines[number - 1])
    path.write_bytes(b"\n".join(lines) + b"\n")
    damaged, other = checks(tmp_path)
    assert damaged.result is None
    assert [(bad.path, bad.line) for bad in damaged.bad] == [
        (path.relative_to(tmp_path).as_posix(), number)
    ]
    assert damaged.breaks == ()
    assert other.result is not None
    trace = Store(tmp_path).trace(damaged.file)
    assert [bad.line for bad in trace.bad] == [number]
    assert len(trace.events) == 3


def test_a_truncated_tail_is_only_incomplete(tmp_path):
    path = write(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(b"\n".join(whole.splitlines()[:3]) + b"\n")
    (checked,) = checks(tmp_path)
    assert (checked.result, checked.bad) == (None, ())
    path.write_bytes(b"")
    (checked,) = checks(tmp_path)
    assert (checked.result, checked.bad) == (None, ())


@pytest.mark.parametrize("tamper", ["edit", "drop", "swap"])
def test_tampering_breaks_the_chain(tmp_path, tamper):
    path = write(tmp_path)
    lines = path.read_bytes().splitlines()
    if tamper == "edit":
        lines[1] = lines[1].replace(b'"t_us":2000', b'"t_us":2001')
    elif tamper == "drop":
        del lines[2]
    else:
        lines[1], lines[2] = lines[2], lines[1]
    path.write_bytes(b"\n".join(lines) + b"\n")
    (checked,) = checks(tmp_path)
    assert checked.bad == ()
    assert "hash chain" in checked.breaks[0].reason
    assert f":{checked.breaks[0].line}: " in str(checked.breaks[0])


def test_digest_leaves_measured_time_out(tmp_path):
    first, later, other = (
        write(tmp_path / name, wall_us=wall, **fields)
        for name, wall, fields in (("x", 7, {}), ("y", 9, {}), ("z", 7, {"steps": 3}))
    )
    digests = [trial_digest(p.read_bytes().splitlines()) for p in (first, later, other)]
    assert digests[0] == digests[1] != digests[2]
    assert first.read_bytes() != later.read_bytes()


def test_any_layout_of_a_line_is_stripped_alike(tmp_path):
    line = write(tmp_path).read_bytes().splitlines()[2]
    spaced = json.dumps(json.loads(line)).encode()
    assert stripped(spaced) == stripped(line)
    assert b"wall_us" not in stripped(line)
    assert b'"prev"' not in stripped(line)
    for odd in (b"", b"{", b"[1]", b"null"):
        assert stripped(odd) == odd


def test_the_last_complete_round_counts(tmp_path):
    a, b = (row.trial for row in PLAN.rows)
    write(tmp_path, a)
    assert chosen(tmp_path).lacking == (a.pair_group,)
    write(tmp_path, b, void=VoidCause.SANDBOX)
    assert chosen(tmp_path).lacking == (a.pair_group,)
    write(tmp_path, a, 2, steps=9)
    assert chosen(tmp_path).trials == {}
    write(tmp_path, b, 2)
    found = chosen(tmp_path)
    assert (found.lacking, found.dropped, found.unplanned) == ((), (), ())
    assert {key: c.file.round for key, c in found.trials.items()} == {
        a.trial_id: 2,
        b.trial_id: 2,
    }
    assert found.trials[a.trial_id].result.steps == 9
    assert traces_digest(found.trials) == traces_digest(dict(reversed(found.trials.items())))


def test_a_void_in_the_last_allowed_round_drops_the_group(tmp_path):
    a, b = (row.trial for row in PLAN.rows)
    for round_ in (1, 2):
        write(tmp_path, a, round_)
        write(tmp_path, b, round_, void=VoidCause.CHECKER)
    assert chosen(tmp_path).dropped == (a.pair_group,)


def test_files_outside_the_plan_are_told(tmp_path):
    write(tmp_path, TRIAL.model_copy(update={"arm": "stranger"}))
    assert chosen(tmp_path).unplanned == (f"{TRIAL.pair_group}/r1/stranger",)


def test_a_trace_in_the_wrong_place_is_not_taken(tmp_path):
    a, b = (row.trial for row in PLAN.rows)
    write(tmp_path, b)
    write(tmp_path, a).write_bytes(write(tmp_path / "x", b).read_bytes())
    assert chosen(tmp_path).trials == {}
