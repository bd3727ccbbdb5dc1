"""Retries and rungs under one manager (proposition 1), admission, shares, the deadline."""

import json
import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.recovery.budget import (
    UNBOUNDED,
    ZERO,
    Attempts,
    Vector,
    admit,
    bound,
    in_time,
    settle,
    shares,
)

QUICK = settings(deadline=None)
amounts = st.integers(0, 500)
limits = st.none() | amounts
needs = st.builds(Vector, st.integers(1, 4), amounts, amounts, amounts)
spendings = st.builds(Vector, amounts, amounts, amounts, limits)
reserves = st.builds(Vector, st.integers(0, 2), amounts, amounts, amounts)
budgets = st.builds(Vector, st.integers(0, 30), limits, limits, limits)
retries = st.integers(0, 5)

# One list a step: what the strategy would like to do again, in order.
wishes = st.lists(st.lists(st.sampled_from(["retry", "rung"]), max_size=8), min_size=1, max_size=7)


def played(
    asked: Sequence[Sequence[str]], attempts: Attempts, of_step: int
) -> tuple[int, Attempts]:
    """The attempts that a task makes whose every affordable wish is granted."""
    total = 0
    for wanted in asked:
        attempts = attempts.at_step(of_step)
        total += 1
        for wish in wanted:
            if wish == "retry" and attempts.affords():
                attempts, total = attempts.after_retry(), total + 1
            elif wish == "rung" and attempts.affords_rung():
                attempts, total = attempts.after_rung(), total + 1
    return total, attempts


@QUICK
@given(wishes, retries, st.none() | st.integers(0, 12), st.none() | st.integers(0, 12))
def test_proposition_1_is_strict_where_rungs_are_charged(
    asked: list[list[str]], of_step: int, of_task: int | None, of_tenant: int | None
) -> None:
    total, end = played(asked, Attempts(0, of_task, of_tenant), of_step)
    assert total <= bound(len(asked), of_step, of_task)
    assert end.rung_moves == 0
    if of_tenant is not None:
        assert total <= len(asked) + of_tenant


@QUICK
@given(wishes, retries, st.none() | st.integers(0, 12))
def test_proposition_1_grows_by_the_rungs_that_are_not_charged(
    asked: list[list[str]], of_step: int, of_task: int | None
) -> None:
    total, end = played(asked, Attempts(0, of_task, charge_rungs=False), of_step)
    assert total <= bound(len(asked), of_step, of_task, end.rung_moves)
    assert end.rung_moves == sum(wanted.count("rung") for wanted in asked)


def test_the_bound_is_reached() -> None:
    always = [["retry"] * 9] * 5
    assert played(always, Attempts(0, 100), 3)[0] == bound(5, 3, 100) == 20
    assert played(always, Attempts(0, 4), 3)[0] == bound(5, 3, 4) == 9
    assert played(always, Attempts(0, None), 3)[0] == bound(5, 3, None) == 20
    freely = Attempts(0, 4, charge_rungs=False)
    assert played([["retry", "rung"] * 4], freely, 3)[0] == bound(1, 3, 4, 4) == 8


def test_attempts_in_all_are_not_retries() -> None:
    """`max_attempts_per_step: 4` is one attempt and three retries (paper §5.2)."""
    assert played([["retry"] * 9], Attempts(0, 10), 4 - 1)[0] == 4


@pytest.mark.parametrize(
    "empty", [Attempts(0, 1), Attempts(1, 0), Attempts(1, 1, 0), Attempts(0, None)], ids=str
)
def test_whichever_budget_is_empty_nothing_is_overdrawn(empty: Attempts) -> None:
    assert not empty.affords()
    assert not empty.affords_rung()
    for again in (empty.after_retry, empty.after_rung):
        with pytest.raises(ValueError, match="no retry is left"):
            again()
    free = empty._replace(charge_rungs=False)
    assert free.affords_rung()
    assert free.after_rung() == free._replace(rung_moves=1)


def test_a_retry_takes_one_of_each_and_a_new_step_only_its_own() -> None:
    after = Attempts(3, 10, 600).after_retry()
    assert after == (2, 9, 599, 0, True)
    assert Attempts(3, 10, 600).after_rung() == after
    assert after.at_step(3) == (3, 9, 599, 0, True)
    assert Attempts(1, None, None).after_retry() == (0, None, None, 0, True)


def test_what_is_held_for_the_last_step_is_not_afforded_earlier() -> None:
    attempts = Attempts(3, 2)
    assert attempts.affords(1)
    assert not attempts.affords(2)
    assert not attempts.affords_rung(2)
    assert attempts._replace(task_left=None).affords(2)


@QUICK
@given(st.integers(0, 4), limits, limits, st.integers(0, 9), st.booleans())
def test_the_manager_survives_json(
    step: int, task: int | None, tenant: int | None, moves: int, charge: bool
) -> None:
    attempts = Attempts(step, task, tenant, moves, charge)
    assert Attempts(*json.loads(json.dumps(attempts))) == attempts


# -- admission (second seed, point two) -------------------------------------------------------


def fits(left: Vector, need: Vector, reserve: Vector) -> bool:
    """The law, written anew: element by element."""
    return all(
        left[i] is None or need[i] + reserve[i] <= left[i]  # type: ignore[operator]
        for i in range(4)
    )


@QUICK
@given(budgets, needs, reserves)
def test_admission_is_element_wise_and_a_refusal_spends_nothing(
    left: Vector, need: Vector, reserve: Vector
) -> None:
    before = tuple(left)
    rest = admit(left, need, reserve)
    assert tuple(left) == before
    assert (rest is not None) == fits(left, need, reserve)
    if rest is not None:
        for had, took, has in zip(left, need, rest, strict=True):
            assert has is None if had is None else has == had - (took or 0) >= 0


@QUICK
@given(budgets, st.lists(st.tuples(needs, reserves, spendings), max_size=60), st.booleans())
def test_so_many_steps_admit_so_many_actions(
    left: Vector, asked: list[tuple[Vector, Vector, Vector]], settles: bool
) -> None:
    admitted, start = 0, left
    for need, reserve, used in asked:
        rest = admit(left, need, reserve)
        if rest is not None:
            admitted += 1
            before, left = left, settle(rest, need, used) if settles else rest
            for had, has in zip(before, left, strict=True):
                assert has is None if had is None else 0 <= (has or 0) <= had
            assert (left.steps or 0) < (before.steps or 0)
    assert admitted <= (start.steps or 0)


def test_the_numbers_of_the_second_seed() -> None:
    left = admit(Vector(3, 100, 500), Vector(1, 40, 100))
    assert left == Vector(2, 60, 400)
    assert admit(left, Vector(1, 70, 1)) is None


def test_the_reserve_is_held_back_and_not_taken() -> None:
    left, need, ask_and_verify = Vector(2, 0, 1000), Vector(1, 0, 400), Vector(1, 0, 600)
    assert admit(left, need, ask_and_verify) == Vector(1, 0, 600)
    assert admit(left, need, ask_and_verify._replace(time_us=601)) is None
    assert admit(left._replace(steps=1), need, ask_and_verify) is None


def test_what_has_no_limit_admits_all() -> None:
    assert admit(UNBOUNDED, Vector(1, 10**12, 10**12, 10**12), Vector(9, 9, 9, 9)) == UNBOUNDED
    assert settle(UNBOUNDED, Vector(1, 5), Vector(1, 9)) == UNBOUNDED


@pytest.mark.parametrize("need", [ZERO, Vector(0, 5), Vector(0)], ids=str)
def test_an_action_takes_a_step(need: Vector) -> None:
    with pytest.raises(ValueError, match="at least one step"):
        admit(Vector(3, 9), need)


@pytest.mark.parametrize("broken", [-1, True, 1.0, None, "1"], ids=repr)
@pytest.mark.parametrize("place", range(4))
def test_broken_amounts_are_refused_even_where_they_would_fit(place: int, broken: object) -> None:
    good = Vector(2, 2, 2, 2)
    bad = Vector._make([*good[:place], broken, *good[place + 1 :]])
    roomy = Vector(9, 9, 9, 9)
    with pytest.raises(ValueError, match="whole numbers"):
        admit(roomy, bad)
    with pytest.raises(ValueError, match="whole numbers"):
        admit(roomy, good, bad)
    with pytest.raises(ValueError, match="whole numbers"):
        settle(roomy, bad, good)
    if broken is not None:
        with pytest.raises(ValueError, match="whole numbers"):
            admit(bad, good)
        with pytest.raises(ValueError, match="whole numbers"):
            settle(bad, good, good)
        with pytest.raises(ValueError, match="whole numbers"):
            settle(roomy, good, bad)


def test_settling_gives_back_charges_overruns_and_keeps_a_step() -> None:
    need = Vector(2, 40, 100, 10)
    left = Vector(1, 60, 400, 5)
    assert settle(left, need, Vector(1, 15, 130, 10)) == Vector(2, 85, 370, 5)
    assert settle(left, need, ZERO) == Vector(2, 100, 500, 15)  # not three steps
    assert settle(left, need, Vector(2, 999, 100, None)) == Vector(1, 0, 400, 5)


# -- shares and the deadline (paper §4.8) -----------------------------------------------------


@QUICK
@given(
    st.integers(0, 200),
    st.lists(st.integers(0, 50) | st.floats(0, 3), max_size=12),
    st.integers(0, 5),
)
def test_shares_never_exceed_the_total_and_the_last_step_has_its_reserve(
    total: int, weights: list[float], reserve: int
) -> None:
    given_out = shares(total, weights, reserve)
    assert len(given_out) == len(weights)
    assert all(share >= 0 for share in given_out)
    assert sum(given_out) <= total
    if weights:
        assert given_out[-1] >= min(reserve, total)


@QUICK
@given(st.integers(0, 200), st.lists(st.integers(0, 50), min_size=1, max_size=12))
def test_shares_are_the_papers_formula_with_nothing_reserved(
    total: int, weights: list[int]
) -> None:
    whole = sum(weights)
    expected = [total * w // whole if whole else 0 for w in weights]
    assert list(shares(total, weights, 0)) == expected


def test_decimal_weights_mean_what_they_say() -> None:
    assert shares(10, [0.1, 0.2, 0.7], 0) == (1, 2, 7)
    assert shares(11, [0.1, 0.2, 0.7]) == (1, 2, 8)
    assert shares(10, [1e300, 1e300], 0) == (5, 5)


def test_where_nothing_weighs_only_the_reserve_is_given_out() -> None:
    assert shares(10, [0, 0, 0], 2) == (0, 0, 2)
    assert shares(1, [0, 5], 3) == (0, 1)
    assert shares(10, []) == ()


@pytest.mark.parametrize("weight", [-1, -0.1, math.nan, math.inf])
def test_a_weight_is_finite_and_not_negative(weight: float) -> None:
    with pytest.raises(ValueError, match="weight"):
        shares(10, [1, weight])


@pytest.mark.parametrize(("total", "reserve"), [(-1, 1), (1, -1)])
def test_shares_of_nothing_negative(total: int, reserve: int) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        shares(total, [1], reserve)


def test_the_time_to_verify_is_part_of_what_must_fit() -> None:
    assert in_time(10, 20, 30, 65, verify_us=5)
    assert not in_time(10, 20, 30, 65, verify_us=6)
