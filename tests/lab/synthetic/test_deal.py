"""Chance in the model world: keyed, the same whoever asks, and of the shares that the YAML says."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.lab.synthetic.deal import BLOCK, deal, odds, uniforms
from hfr_bench.lab.synthetic.params import FAULTS, MODEL, world

ODDS = odds(world())


def test_blocks_are_keyed_by_seed_and_number():
    assert deal(ODDS, 1, 3) == deal(ODDS, 1, 3)
    assert deal(ODDS, 1, 3) != deal(ODDS, 1, 4)
    assert deal(ODDS, 1, 3) != deal(ODDS, 2, 3)


def test_another_fault_rate_leaves_the_tasks_as_they_are():
    """Only what the rate is about changes, and a fault of the lower rate stays one."""
    less, more = (deal(odds(world().changed(fault_rate=p)), 1, 0) for p in (0.05, 0.30))
    assert less.kinds == more.kinds
    assert less.outcomes == more.outcomes
    for few, many in zip(less.faults, more.faults, strict=True):
        assert all(m for f, m in zip(few, many, strict=True) if f)
    assert less.faults != more.faults


@given(st.integers(0, 2**40), st.integers(0, 2**40), st.integers(1, 8), st.integers(-9, 9))
def test_later_draws_are_keyed(seed, task, step, attempt):
    drawn = uniforms(seed, task, step, attempt)
    assert drawn == uniforms(seed, task, step, attempt)
    assert drawn != uniforms(seed, task, step, attempt + 1)
    assert drawn != uniforms(seed, task + 1, step, attempt)
    assert all(0 <= u < 1 for u in drawn)
    assert len(set(drawn)) == 5


def test_the_shares_are_those_of_the_world():
    blocks = [deal(ODDS, 5, number) for number in range(40)]
    n = BLOCK * len(blocks)
    lengths = Counter(len(kinds) for block in blocks for kinds in block.kinds)
    for steps, share in world().calibrated.steps.items():
        assert lengths[steps] / n == pytest.approx(share, abs=0.01)
    criticality = Counter(c for block in blocks for c in block.criticality)
    assert criticality[2] / n == pytest.approx(0.20, abs=0.01)
    kinds = Counter(kind for block in blocks for row in block.kinds for kind in row)
    assert kinds[MODEL] / kinds.total() == pytest.approx(0.35, abs=0.01)
    first = [(k, f) for b in blocks for ks, fs in zip(b.kinds, b.faults, strict=True)
             for k, f in zip(ks, fs, strict=False)]  # fmt: skip
    faulted = [FAULTS[f - 1] for k, f in first if f and k == MODEL]
    assert sum(bool(f) for _, f in first) / len(first) == pytest.approx(0.14, abs=0.01)
    for fault_class, share in world().calibrated.model_faults.items():
        assert faulted.count(fault_class) / len(faulted) == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("criticality", range(3))
@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("level", range(3))
def test_outcomes_have_the_shares_of_quality_and_verifier(criticality, kind, level):
    grid = [(i + 0.5) / 5000 for i in range(5000)]
    found = Counter(ODDS.outcome(criticality, kind, level, u) for u in grid)
    right = ODDS.right[criticality][kind][level]
    assert (found[0] + found[1]) / 5000 == pytest.approx(right, abs=1e-3)
    assert found[1] / 5000 == pytest.approx(right * 0.02, abs=1e-3)
    assert found[3] / 5000 == pytest.approx((1 - right) * (1 - ODDS.found[kind]), abs=1e-3)


def test_the_first_outcomes_follow_the_same_rule():
    blocks = [deal(ODDS, 6, number) for number in range(20)]
    found = Counter(
        o for b in blocks for ks, os_ in zip(b.kinds, b.outcomes, strict=True)
        for k, o in zip(ks, os_, strict=False) if k == MODEL
    )  # fmt: skip
    assert found[3] / found.total() == pytest.approx(0.06 * 0.10, abs=0.003)
    assert found[1] / found.total() == pytest.approx(0.94 * 0.02, abs=0.005)
