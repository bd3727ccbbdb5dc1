"""Acceptance: the five rules, the levels, the evidence, and the paper's proposition 4."""

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.model.attempt import Fault, Verdict
from hfr_bench.model.terms import (
    Action,
    Channel,
    CheckLevel,
    Criticality,
    FaultClass,
    Rung,
    SideEffect,
)
from hfr_bench.recovery.acceptance import (
    Outcome,
    alpha,
    beta,
    counted,
    decide_after,
    is_new,
    level_for,
    reasons_digest,
    retry_prompt,
    spot_checked,
    strongest,
)
from hfr_bench.recovery.config import HfrConfig, compiled
from hfr_bench.recovery.ladder import Offer, choose

DEFAULT = compiled(HfrConfig())
V0, V1, V2, V3 = CheckLevel
LOW, MEDIUM, HIGH = Criticality
YES_NO = (False, True)


def verdict(passed: bool, quality: float = 1.0) -> Verdict:
    return Verdict(V1, passed, quality)


# -- the five rules ----------------------------------------------------------------------------


@pytest.mark.parametrize(("retry", "new", "degrade"), [*product(YES_NO, repeat=3)])
def test_the_five_rules(retry: bool, new: bool, degrade: bool) -> None:
    def after(v: Verdict) -> Outcome:
        return decide_after(v, 0.8, retry, new, degrade)

    assert after(verdict(True, 0.8)) is Outcome.ACCEPT
    assert after(verdict(True, 0.79)) is Outcome.DEGRADE_OR_ESCALATE
    assert after(verdict(True, float("nan"))) is Outcome.DEGRADE_OR_ESCALATE
    if retry and new:
        assert after(verdict(False)) is Outcome.RETRY
    elif degrade:
        assert after(verdict(False)) is Outcome.DEGRADE
    else:
        assert after(verdict(False)) is Outcome.ESCALATE


def test_what_is_left_open_is_settled_by_whether_a_rung_is_left() -> None:
    assert Outcome.DEGRADE_OR_ESCALATE.settled(True) is Outcome.DEGRADE
    assert Outcome.DEGRADE_OR_ESCALATE.settled(False) is Outcome.ESCALATE
    for outcome in set(Outcome) - {Outcome.DEGRADE_OR_ESCALATE}:
        assert outcome.settled(True) is outcome.settled(False) is outcome


def _walk(
    truths: list[float], lies: list[bool], qualities: list[float], q_min: float
) -> float | None:
    """A step that degrades until something is accepted: that output's true quality, or None."""
    offers = [Offer(Rung.SAME_TIER, "model", str(n), q) for n, q in enumerate(qualities)]
    used: list[str] = []
    for truth, lie in zip(truths, lies, strict=False):
        seen = Verdict(V2, lie or truth >= q_min, 1.0 if lie else truth)
        choice = choose(
            DEFAULT,
            Fault(FaultClass.SEMANTIC),
            channel=Channel.MODEL,
            level=SideEffect.READ,
            criticality=LOW,
            quality_floor=q_min,
            used=used,
            offers=offers,
        )
        down = choice.action is Action.DEGRADE_MODEL
        outcome = decide_after(seen, q_min, False, False, down).settled(down)
        if outcome is Outcome.ACCEPT:
            return truth
        if outcome is not Outcome.DEGRADE or choice.offer is None:
            return None
        used.append(choice.offer.target)
    return None


shares = st.lists(st.floats(0, 1), min_size=1, max_size=5)


@given(shares, shares, st.floats(0, 1))
def test_proposition_4_nothing_below_the_floor_is_accepted(
    truths: list[float], qualities: list[float], q_min: float
) -> None:
    """No false accepts: then every accepted output, degraded or not, is good enough."""
    accepted = _walk(truths, [False] * len(truths), qualities, q_min)
    assert accepted is None or accepted >= q_min


def test_proposition_4_rests_on_the_verifier() -> None:
    """The law can be broken: one false accept, and the output is below the floor."""
    assert _walk([0.1, 0.2], [False, True], [0.9, 0.9], 0.8) == 0.2


# -- evidence ----------------------------------------------------------------------------------


def test_evidence_is_new_once() -> None:
    first = ("test_checkout failed: wanted 200, got 500",)
    assert is_new(first, ())
    seen = [reasons_digest(first)]
    assert not is_new(first, seen)
    assert not is_new(("  TEST_checkout   failed: wanted 200, got 500 ",), seen)
    assert is_new(("test_checkout failed: wanted 200, got 404",), seen)
    assert not is_new((), ()), "a rejection without a reason is no evidence"
    assert not is_new(("  ",), ())


@given(st.lists(st.text(), max_size=5), st.randoms(use_true_random=False))
def test_order_and_repetition_are_no_news(reasons: list[str], chance: Any) -> None:
    shuffled = [*reasons, *reasons[:1]]
    chance.shuffle(shuffled)
    assert not is_new(shuffled, [reasons_digest(reasons)])
    assert len(reasons_digest(reasons)) == 16


def test_the_retry_says_what_was_found() -> None:
    assert retry_prompt(["total is 12,\n items  sum to 13", " "]) == (
        "The last answer was not accepted. What the checks found:\n"
        '- "total is 12, items sum to 13"\n'
        "Correct what was found; do not repeat the same answer."
    )
    schema = {"type": "object", "required": ["id"]}
    with_schema = retry_prompt(["no id"], schema)
    assert '{"required": ["id"], "type": "object"}' in with_schema
    assert "exactly this schema" in retry_prompt([], schema)
    assert retry_prompt([]) == ""


@given(st.lists(st.text(max_size=700), max_size=14))
def test_reasons_stay_data_and_the_prompt_stays_short(reasons: list[str]) -> None:
    """What a tool said cannot start a line of its own; every line is ours or a quoted reason."""
    prompt = retry_prompt(reasons)
    quoted = [line[2:] for line in prompt.split("\n") if line.startswith("- ")]
    told = [" ".join(reason.split())[:500] for reason in reasons if reason.strip()]
    assert [json.loads(text) for text in quoted] == told[:10]
    assert len(prompt.split("\n")) <= len(quoted) + 3


# -- levels ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("criticality", "levels"),
    [(LOW, (V1, V1, V1, V2, V2)), (MEDIUM, (V2, V2, V2, V2, V3)), (HIGH, (V2, V2, V2, V2, V3))],
)
def test_a_rung_is_checked_as_table_5_says_and_never_below_the_tasks_level(
    criticality: Criticality, levels: tuple[CheckLevel, ...]
) -> None:
    assert tuple(level_for(DEFAULT, criticality, rung) for rung in Rung) == levels
    free = compiled(HfrConfig.of({"verification": {"levels": dict.fromkeys(Criticality, "V0")}}))
    low = criticality is LOW
    table = (V0, V1, V1 if low else V2, V2, V2 if low else V3)
    assert tuple(level_for(free, criticality, rung) for rung in Rung) == table


def test_an_irreversible_step_waits_for_a_person_where_that_is_wanted() -> None:
    r3 = SideEffect.IRREVERSIBLE
    assert [level_for(DEFAULT, c, Rung.NORMAL, r3) for c in Criticality] == [V1, V2, V3]
    assert level_for(DEFAULT, HIGH, Rung.NORMAL, SideEffect.QUERYABLE) is V2


@pytest.mark.parametrize("rung", Rung)
def test_without_the_verifier_everything_is_v0(rung: Rung) -> None:
    off = compiled(HfrConfig.preset("hfr-verifier", {}))
    assert {level_for(off, c, rung, level) for c in Criticality for level in SideEffect} == {V0}


@given(st.sampled_from(CheckLevel), st.sets(st.sampled_from(CheckLevel)))
def test_the_strongest_check_to_be_had(wanted: CheckLevel, offered: set[CheckLevel]) -> None:
    found = strongest(wanted, offered)
    assert found <= wanted
    assert found in offered | {V0}
    assert not any(found < level <= wanted for level in offered)


def test_spot_checks_take_their_share() -> None:
    assert sum(spot_checked(DEFAULT, n / 1000) for n in range(1000)) == 50
    assert not spot_checked(compiled(HfrConfig.preset("hfr", {"verification": NO_SPOT})), 0.0)


NO_SPOT = {"human_spot_check_rate": 0.0}


# -- rates -------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from(CheckLevel), st.booleans(), st.booleans())))
def test_rates_are_the_plain_shares_by_level(
    history: list[tuple[CheckLevel, bool, bool]],
) -> None:
    rates: dict[str, list[int]] = {}
    for level, passed, good in history:
        before = json.dumps(rates)
        grown = counted(rates, level, passed, good)
        assert json.dumps(rates) == before, "the old value stays as it was"
        rates = json.loads(json.dumps(grown))
    for level in CheckLevel:
        bad = [passed for at, passed, good in history if at is level and not good]
        fine = [passed for at, passed, good in history if at is level and good]
        assert alpha(rates, level) == (sum(bad) / len(bad) if bad else None)
        assert beta(rates, level) == (fine.count(False) / len(fine) if fine else None)
