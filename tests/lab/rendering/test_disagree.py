"""Where arms end differently: sorted once, counted in full, shown by a key."""

import pytest

from hfr_bench.lab.rendering.disagree import (
    SHOWN,
    SORTS,
    disagreements,
    ended,
    shown,
    sort_of,
    table,
)
from hfr_bench.model.terms import End
from hfr_bench.testing.results import outcome, result

GOOD, BAD = outcome(), outcome(success=False)
DUP = outcome(duplicates=1, ambiguous_writes=1)
CALLED = outcome(success=False, end=End.ESCALATED)


def pair(one, other, task="t1", rate=0.2):
    same = {"rate": rate, "pair_group": f"{task}-{rate}"}
    return [result("a", task, of=one, **same), result("b", task, of=other, **same)]


@pytest.mark.parametrize(
    ("one", "other", "sort"),
    [
        (GOOD, BAD, "won"),
        (BAD, DUP, "lost"),
        (DUP, GOOD, "harm"),
        (BAD, CALLED, "end"),
        (GOOD, GOOD, None),
    ],
)
def test_the_first_sort_that_fits(one, other, sort):
    assert sort_of(*pair(one, other)) == sort


def many(seed="seed", n=9):
    found = [r for i in range(n) for r in pair(GOOD, BAD, f"t{i}")] + pair(DUP, GOOD, "h")
    calm = pair(GOOD, BAD, "calm", rate=0.0)
    return disagreements([("a", "b"), ("b", "a")], found + calm, seed)


def test_all_are_counted_and_a_few_of_each_sort_shown():
    one, other = many()
    assert (one.pairs, one.won, one.lost, one.harm, one.end) == (10, 9, 0, 1, 0)
    assert (other.won, other.lost) == (0, 9)
    assert [d.sort for d in one.shown] == ["won"] * SHOWN + ["harm"]
    assert one.shown[-1].ours.duplicates == 1
    assert {d.rate for d in one.shown} == {0.2}


def test_who_is_shown_hangs_on_the_key_alone():
    def tasks(seed, n=9):
        return [d.task_id for d in many(seed, n)[0].shown]

    assert tasks("seed") == tasks("seed")
    assert len({tuple(tasks(f"s{n}")) for n in range(8)}) > 1


def test_every_contrast_comes_once_before_any_comes_twice():
    order = [(row.arm, one.sort) for row, one in shown(many())]
    assert order[:2] == [("a", "won"), ("b", "lost")]
    assert len(order) == 6


def test_without_contrasts_there_is_no_table(report):
    assert table(report.model_copy(update={"disagreements": ()})) is None
    made = table(report)
    counts = [[cell.main for cell in row] for row in made.rows]
    assert len(made.header) == len(SORTS) + 2
    assert "hfr - no_retry" in [row[0] for row in counts]


def test_an_end_in_words():
    (row, _) = many()
    assert ended(row.shown[-1].ours) == "accepted, succeeded, 1 duplicate"
