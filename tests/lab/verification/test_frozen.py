"""Levels 1 and 2: another registration, another plan, other faults than were drawn from it."""

import pytest

from hfr_bench.testing.bundled import failed, rechain, replace, reseal, trace

# -- level 1 ----------------------------------------------------------------------------------


def test_two_arms_swapped(forged):
    one, other = trace(forged), trace(forged, "blind_resend")
    assert one.parent == other.parent
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(kept)
    assert failed(forged, 0)[0] == [0]
    reseal(forged)
    levels, said = failed(forged)
    assert levels[0] == 1
    assert "starts with another arm" in said


def test_another_registration(forged):
    replace(forged / "prereg.yaml", "resamples: 200", "resamples: 201")
    reseal(forged)
    levels, said = failed(forged)
    assert levels[0] == 1
    assert "prereg.yaml has" in said


def test_frozen_after_the_run(forged):
    replace(forged / "prereg.lock.json", "2026-01-01T00:00:00", "2026-01-01T00:00:06")
    reseal(forged)
    levels, said = failed(forged)
    assert levels == [1]
    assert "frozen before the first run" in said


def test_another_list_of_tasks(forged):
    replace(forged / "prereg.lock.json", '"tasks":["t1",', '"tasks":["t9",')
    reseal(forged)
    levels, said = failed(forged)
    assert levels[0] == 1
    assert "the registered tasks, and no others" in said


@pytest.mark.parametrize("name", ["prereg.yaml", "prereg.lock.json", "plan.jsonl", "content.json"])
def test_a_frozen_file_that_is_gone_or_unreadable(forged, name):
    (forged / name).write_text("{")
    reseal(forged)
    assert failed(forged)[0] == [1]
    (forged / name).unlink()
    reseal(forged)
    levels, said = failed(forged)
    assert levels == [1]
    assert name in said


# -- level 2 ----------------------------------------------------------------------------------


def faulty(forged):
    return forged / "schedules" / "s-stress-0.4.jsonl"


def test_a_shifted_fault(forged):
    replace(faulty(forged), '"occurrence":1,', '"occurrence":7,')
    assert failed(forged, 0)[0] == [0]
    reseal(forged)
    levels, said = failed(forged)
    assert levels[0] == 2
    assert "1 of 16 are not what is drawn again" in said


def test_other_fault_points(forged):
    replace(forged / "content.json", '"tool:book"', '"tool:cook"')
    reseal(forged)
    levels, said = failed(forged)
    assert levels[0] == 2
    assert "are not what is drawn again" in said


def test_another_fault_kind(forged):
    replace(forged / "content.json", '"status": 500', '"status": 503')
    reseal(forged)
    levels, said = failed(forged)
    assert levels[0] == 2
    assert "the fault kinds are not the frozen ones" in said


def test_another_plan(forged):
    lines = (forged / "plan.jsonl").read_text().splitlines(keepends=True)
    (forged / "plan.jsonl").write_text("".join(lines[:-1]))
    reseal(forged)
    levels, said = failed(forged)
    assert levels[0] == 2
    assert "it is not what the registration gives again" in said


def test_a_fault_that_nobody_scheduled(forged):
    def other(events):
        hits = [e["body"] for e in events if e["body"].get("injection_id")]
        assert hits
        hits[0]["injection_id"] += "0"

    path = next(
        p for p in forged.glob("trials/*/r1/hfr.jsonl") if "/model:agent/1" in p.read_text()
    )
    rechain(path, other)
    reseal(forged)
    levels, said = failed(forged)
    assert levels[0] == 2
    assert "is not in its schedule" in said


def test_a_truncated_trace(forged):
    path = trace(forged)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert failed(forged, 0)[0] == [0]
    reseal(forged)
    levels, said = failed(forged)
    assert levels == [2, 3]
    assert "lack trials" in said
