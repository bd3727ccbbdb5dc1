"""One task in the model world: what is charged, what lands, and who hears what."""

from typing import NamedTuple

import pytest

from hfr_bench.lab.synthetic.crew import Crew
from hfr_bench.lab.synthetic.deal import BLOCK, Deal, deal, odds
from hfr_bench.lab.synthetic.params import FAULTS, MODEL, READ, WRITE, arms, world
from hfr_bench.lab.synthetic.play import Play
from hfr_bench.lab.synthetic.stage import Stage, TimedStage
from hfr_bench.lab.synthetic.tally import Tally
from hfr_bench.model.terms import FaultClass

CALM = world().changed(fault_rate=0.0, incident={"model": 0.0, "tool": 0.0})
OK, REJECTED, FOUND, MISSED = range(4)


class Step(NamedTuple):
    """A step of a made-up task: its kind, and how its first attempt goes."""

    kind: int
    fault: FaultClass | None = None
    outcome: int = OK


def drawn(fault):
    return 0 if fault is None else FAULTS.index(fault) + 1


def play(arm, *steps, rules="literal", here=CALM, criticality=1, stage=None, people=False):
    """Play one task; nothing but the first attempts of its steps goes wrong."""
    made = Deal(
        0, [criticality], [[s.kind for s in steps]], [(False, False, False)], [people], [people],
        [[drawn(s.fault) for s in steps]], [[s.outcome for s in steps]],
    )  # fmt: skip
    crew = Crew(arm, arms()[arm], here, here.rules[rules])
    one = Play(crew, odds(here), 1, stage or Stage())
    one.trace = []
    one.run(one.begin(made, 0))
    return one


def actions(one):
    return [line[5] for line in one.trace]


def good_world():
    """Every answer is right, so that only what the test asks for goes wrong."""
    told = world().model_dump(mode="json")
    for level in (*told["paper"]["model"], *told["paper"]["tool"]):
        level["quality"] = 1.0
    told["paper"]["verifier"]["false_reject"] = 0.0
    told["paper"]["fault_rate"] = 0.0
    return type(world()).model_validate(told)


GOOD = good_world()
F = FaultClass


@pytest.mark.parametrize("arm", [*arms()])
def test_without_faults_every_arm_succeeds_at_the_price_of_its_steps(arm):
    one = play(arm, Step(MODEL), Step(READ), Step(WRITE), here=GOOD)
    assert one.finished
    assert not any((one.bad, one.escalated, one.degraded, one.duplicates))
    assert (one.cost, one.us, one.attempts) == (1_200_000, 2_000_000, 3000)


def test_a_retried_attempt_is_charged_by_the_literal_rules_and_given_back_by_the_papers():
    literal, paper = (
        play("FixedRetry3", Step(MODEL, F.TRANSIENT), here=GOOD, rules=rules)
        for rules in ("literal", "paper")
    )
    assert (literal.cost, literal.attempts) == (2_000_000, 2000)
    assert (paper.cost, paper.attempts) == (1_000_000, 1000)
    # The wait is kept in either case.
    assert literal.us - 1_200_000 == paper.us == 1_200_000 + 350_000


@pytest.mark.parametrize("fault", [F.OVERLOAD, F.PERMANENT, F.CONTEXT_OVERFLOW])
def test_only_what_passes_by_itself_is_given_back(fault):
    one = play("FixedRetry3", Step(MODEL, fault), here=GOOD, rules="paper")
    assert one.attempts == one.cost // 1000
    assert one.attempts >= 2000


def test_a_rejected_answer_that_is_retried_is_partly_charged():
    one = play("HFR", Step(MODEL, outcome=FOUND), here=GOOD, rules="paper")
    assert actions(one) == ["DISPATCH", "VERIFY", "RETRY", "DISPATCH", "VERIFY", "ACCEPT", "ACCEPT"]
    assert (one.cost, one.attempts) == (1_550_000, 1550)


def lost_write(arm, lands, here=GOOD):
    told = here.changed(lands=lands)
    return play(arm, Step(WRITE, F.TIMEOUT), here=told)


def test_a_lost_write_is_looked_for_and_not_sent_again():
    one = lost_write("HFR", 1.0)
    assert actions(one) == ["DISPATCH", "RECONCILE", "ACCEPT", "ACCEPT"]
    assert (one.attempts, one.duplicates) == (1000, 0)
    one = lost_write("HFR", 0.0)
    assert actions(one)[:3] == ["DISPATCH", "RECONCILE", "RETRY"]
    assert (one.attempts, one.duplicates) == (2000, 0)


@pytest.mark.parametrize(
    ("arm", "duplicates"),
    [("FixedRetry3", 1), ("HFR-idempotency", 1), ("RetryOnly", 0), ("DegradeOnly", 0), ("HFR", 0)],
)
def test_who_duplicates_a_write_that_landed(arm, duplicates):
    assert lost_write(arm, 1.0).duplicates == duplicates
    assert lost_write(arm, 0.0).duplicates == 0


def test_tools_that_know_no_keys_duplicate_and_a_world_that_lies_fools_the_query():
    assert lost_write("RetryOnly", 1.0, GOOD.changed(keys=False)).duplicates == 1
    lying = GOOD.changed(keys=False, false_absent=1.0)
    assert lost_write("HFR", 1.0, lying).duplicates == 1


def test_silent_failures_are_what_no_check_found():
    assert play("HFR", Step(READ, outcome=MISSED), here=GOOD).bad
    assert not play("HFR", Step(READ, outcome=FOUND), here=GOOD).bad
    assert play("HFR-verifier", Step(READ, outcome=FOUND), here=GOOD).bad
    assert not play("HFR-verifier", Step(READ, outcome=REJECTED), here=GOOD).bad


@pytest.mark.parametrize("kind", [MODEL, READ, WRITE])
def test_the_ladder_goes_down_one_level_at_a_time(kind):
    fault = F.OVERLOAD if kind == MODEL else F.TOOL_UNAVAILABLE
    one = play("HFR", Step(kind, fault), here=GOOD)
    assert one.degraded
    assert one.finished
    assert one.trace[-2][2] == 1  # level of the last attempt


def test_a_person_is_there_for_a_permanent_fault_or_not():
    alone, helped = (
        play("HFR", Step(READ, F.PERMANENT), here=GOOD, people=people) for people in (False, True)
    )
    assert (actions(alone)[-1], alone.escalated) == ("FAIL", False)
    assert (actions(helped)[-1], helped.escalated) == ("ESCALATE", True)
    assert helped.cost - alone.cost == 2_000_000
    assert helped.us - alone.us == 10_000_000


def test_a_refusal_always_has_a_person():
    assert play("HFR", Step(MODEL, F.REFUSAL), here=GOOD).escalated


@pytest.mark.parametrize("arm", ["HFR", "HFR-verifier", "HFR-idempotency", "RetryOnly"])
def test_constant_events_lead_to_the_same_as_events_with_the_time(arm):
    """That is why they may be constants, where neither breakers nor deadlines are at work."""
    found = []
    for stage in (Stage(), TimedStage()):
        crew = Crew(arm, arms()[arm], world(), world().rules["paper"])
        one, tally = Play(crew, odds(world()), 3, stage), Tally()
        tasks = deal(odds(world()), 3, 0)
        for number in range(BLOCK):
            one.run(one.begin(tasks, number))
            tally.add(one)
        found.append(tally)
    assert found[0] == found[1]


def test_turn_by_turn_is_the_same_as_all_at_once():
    crew = Crew("HFR", arms()["HFR"], world(), world().rules["literal"])
    tasks = deal(odds(world()), 4, 0)
    once, turns = (Play(crew, odds(world()), 4, Stage()) for _ in range(2))
    for number in range(100):
        once.run(once.begin(tasks, number))
        event = turns.begin(tasks, number)
        while event is not None:
            event = turns.turn(event)
        assert (once.cost, once.us, once.state) == (turns.cost, turns.us, turns.state)
