"""Where a call is, inferred: the same call after a failed one is its next attempt."""

from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.injectors._trail import Coordinate, Trails


def test_the_same_call_after_a_failed_one_is_its_next_attempt():
    trails = Trails()
    first = trails.next("tool:a", "x")
    assert first == Coordinate("tool:a", 1, 1, told=False)
    trails.settle(first, "x", failed=True)
    other = trails.next("tool:a", "y")  # another call in between
    assert other[1:3] == (2, 1)
    trails.settle(other, "y", failed=False)
    assert trails.next("tool:b", "x")[1:3] == (1, 1)
    again = trails.next("tool:a", "x")
    assert again[1:3] == (1, 2)
    trails.settle(again, "x", failed=False)
    assert trails.next("tool:a", "x")[1:3] == (3, 1)


def test_what_was_told_teaches_nothing():
    trails = Trails()
    trails.settle(Coordinate("tool:a", 5, 2, told=True), failed=True)
    assert trails.next("tool:a")[1:3] == (1, 1)


@given(st.lists(st.tuples(st.sampled_from("xy"), st.booleans()), max_size=30))
def test_occurrences_count_steps_and_attempts_count_failures(calls):
    trails, steps, failed = Trails(), 0, dict.fromkeys("xy", 0)
    for asked, fails in calls:
        at = trails.next("tool:a", asked)
        steps += not failed[asked]
        assert at.attempt == failed[asked] + 1
        assert at.occurrence <= steps
        failed[asked] = at.attempt if fails else 0
        trails.settle(at, asked, failed=fails)
