"""What a rater sees is blind: the same deeds look the same, whatever a strategy wrote of them."""

import re

import pytest

from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.review.page import item_page
from hfr_bench.lab.review.view import Words, view
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.terms import (
    Action,
    Channel,
    CheckLevel,
    End,
    FaultClass,
    LedgerState,
    Rung,
    SideEffect,
)
from hfr_bench.model.trace import (
    AttemptEnded,
    Decided,
    Escalated,
    FaultInjected,
    LedgerMoved,
    Said,
    StepEnded,
    VerifyAnswered,
)
from hfr_bench.testing.bundled import ARMS
from hfr_bench.testing.experiments import BOOK, MODEL, planned
from hfr_bench.testing.results import (
    At,
    answered,
    ended,
    events,
    hit,
    outcome,
    ran,
    sent,
    started,
    timed_out,
)
from hfr_bench.testing.reviewing import session

TRIAL = planned().rows[0].trial
PLAIN, NO_WORDS = Redactor(), Words()
# What only a strategy, a schedule or a grader would say, as words: codes, and words in any case.
CODES = (*Action, *FaultClass, *LedgerState, *Rung)
WORDS = (
    *ARMS, "escalated", "retry", "ledger", "reconcile",
    "breaker", "budget", "verifier", "degraded", "injected", "duplicate", "unwanted", "expected",
    "goal_met=", "official", "succeeded", "backup", "strategy", "poison",
)  # fmt: skip


def telling(page):
    found = [w for w in CODES if re.search(rf"(?<!\w){w}(?!\w)", page)]
    found += [w for w in WORDS if re.search(rf"(?<!\w){re.escape(w)}(?!\w)", page.lower())]
    return [str(word) for word in found]


def shown(*bodies, end=End.ACCEPTED, words=NO_WORDS):
    of = outcome(success=end is End.ACCEPTED, end=end)
    made = [started(TRIAL), *bodies, ended(TRIAL, of=of)]
    return view(events(TRIAL.trial_id, made), ("s", "t1"), words, PLAIN)


def texts(view_):
    return [(line.who, line.text) for line in view_.lines]


def test_a_plain_trial():
    found = shown(
        At(Said(who="user", text_digest="abcdef0123", length=12), 0, 0),
        At(sent(MODEL)), At(hit()), At(answered()),
        At(sent(BOOK, level=SideEffect.QUERYABLE), 2), At(ran(), 2), At(answered("a"), 2),
        At(Said(who="agent", text_digest="0123456789", length=3), 0, 0),
    )  # fmt: skip
    assert texts(found) == [
        ("user", "says 12 characters to the agent, abcdef01"),
        ("agent", "thinks (a model call)"),
        ("agent", "calls book (writes), request r"),
        ("world", "book ran with arguments d and changed row"),
        ("answer", "an answer, ca978112"),
        ("agent", "says 3 characters to the user, 01234567"),
    ]
    assert [line.loud for line in found.lines].count(True) == 1
    assert found.end == "The agent finished and said that it was done."


def test_what_ran_twice_is_seen_twice_and_how_often_it_was_tried_is_not():
    twice = shown(
        At(sent(BOOK), 1, 1), At(ran(), 1, 1), At(timed_out(), 1, 1),
        At(sent(BOOK), 1, 2), At(ran(), 1, 2), At(answered("a"), 1, 2),
    )  # fmt: skip
    assert [who for who, _ in texts(twice)] == ["agent", "world", "world", "answer"]
    once = shown(At(sent(BOOK)), At(ran()), At(answered("a")))
    tried = shown(
        At(sent(BOOK), 1, 1), At(timed_out(), 1, 1), At(sent(BOOK), 1, 2), At(timed_out(), 1, 2),
        At(sent(BOOK), 1, 3), At(ran(), 1, 3), At(answered("a"), 1, 3),
    )  # fmt: skip
    assert tried == once


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"changed": ()}, "book ran with arguments d and changed nothing"),
        ({"actor": "user"}, "book ran for the user with arguments d and changed row"),
        (
            {"changed": (), "level": SideEffect.IRREVERSIBLE},
            "book ran with arguments d; nobody can look up what it did",
        ),
        (
            {"changed": tuple("abcdefghijklmn")},
            "book ran with arguments d and changed a, b, c, d, e, f, g, h, i, j, k, l and 2 more",
        ),
    ],
)
def test_what_the_world_did(change, text):
    assert ("world", text) in texts(shown(At(sent(BOOK)), At(ran().model_copy(update=change))))


def test_answers_that_are_none():
    assert ("answer", "no usable answer came back") in texts(
        shown(At(sent(MODEL)), At(timed_out()))
    )
    refusal = AttemptEnded(answered=True, domain_error=True, response_digest="x")
    assert ("answer", "the tool refused: its own error") in texts(
        shown(At(sent(BOOK)), At(refusal))
    )


@pytest.mark.parametrize("end", End)
def test_every_end_is_told_without_its_code(end):
    told = shown(end=end).end
    assert told.startswith(("The agent", "It "))
    assert not telling(told)
    # Whether a check stood in its way would tell that there was one.
    assert shown(end=End.FAILED).end == shown(end=End.UNACCEPTED).end


def test_texts_are_redacted():
    found = shown(words=Words("rules of a@b.org", "I am c@d.org"))
    assert found.words == ("rules of [e-mail]", "I am [e-mail]")


# -- blindness --------------------------------------------------------------------------------


def poisoned():
    """Everything that a strategy, an injector or a grader writes, between the deeds."""
    word = "poison"
    yield At(Decided(
        on=word, action=Action.RETRY, reason=word, fault_class=FaultClass.TIMEOUT, evidence=word,
        substitute=word, rung=Rung.LOWER_TIER, debit=1, step_left=3,
    ))  # fmt: skip
    yield At(LedgerMoved(
        key=word, stepless_key=word, tool=word, level=SideEffect.QUERYABLE,
        after=LedgerState.UNKNOWN, evidence=word,
    ))  # fmt: skip
    yield At(VerifyAnswered(level=CheckLevel.SEMANTIC, passed=True, reasons=(word,)))
    yield At(FaultInjected(injection_id=word, kind=word))
    yield At(Escalated(packet=EscalationPacket(
        trial_id=word, step=1, reason=word, status=word, evidence=word, suggestion=word
    )))  # fmt: skip
    yield At(StepEnded(
        channel=Channel.TOOL, point=word, occurrence=1, attempts=9, action=Action.REPLAN
    ))  # fmt: skip
    for purpose in ("prepare", "reconcile", "verify"):
        yield At(sent(f"{purpose}:{word}", purpose=purpose, target=word))
        yield At(ran().model_copy(update={"actor": "strategy", "tool": word}))
        yield At(AttemptEnded(answered=False, exception=word))


def test_two_trials_that_did_the_same_look_the_same():
    deeds = [At(sent(MODEL)), At(answered()), At(sent(BOOK), 2), At(ran(), 2), At(answered(), 2)]
    plain = shown(*deeds)
    for place in range(len(deeds) + 1):
        between = [At(a.body, deeds[place - 1].step) for a in poisoned()] if place else []
        if place in (1, 3, 4):  # an attempt is out: nobody makes another one meanwhile
            between = between[:6]
        assert shown(*deeds[:place], *between, *deeds[place:]) == plain
    substituted = [At(sent(MODEL, target="poison", key="k", told=False)), *deeds[1:]]
    assert shown(*substituted) == plain


def grades():
    yield outcome()
    yield outcome(goal_met=False, official=0.0)
    yield outcome(duplicates=3, unwanted=1, partial=2, degraded_steps=4, lost_effects=1)


def test_the_grade_is_not_shown():
    seen = {
        view(events("x", [started(TRIAL), ended(TRIAL, of=of, cost_microusd=7)]), ("s", "t"),
             Words(), PLAIN)
        for of in grades()
    }  # fmt: skip
    assert len(seen) == 1


def test_no_page_says_what_only_a_strategy_would(toy):
    at_work = session(toy.experiment)
    assert at_work.showings
    ids = {row.trial.trial_id for row in toy.experiment.plan}
    for one in at_work.showings:
        page = item_page(at_work, one.alias).partition("</style>")[2]
        assert not telling(page)
        assert not [name for name in ids if name in page]
        assert one.of.stratum not in page or one.of.stratum == "plain"


def test_the_words_are_looked_for_where_they_could_be():
    """The list above finds what it should in what the strategy wrote."""
    found = set(telling(" ".join(at.body.model_dump_json() for at in poisoned())))
    assert {"RETRY", "T3", "L3", "UNKNOWN", "REPLAN", "poison", "escalated", "strategy"} <= found
