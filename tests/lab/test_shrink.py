"""What breaks a trial, and cases: what they hold, and when they are refused."""

from collections.abc import Iterator

import pytest

from hfr_bench import __version__, content
from hfr_bench.errors import BadInputError
from hfr_bench.lab.plan import cells, plan_rows
from hfr_bench.lab.shrink import Break, Case, how_it_broke, read_case, reduced, replay
from hfr_bench.lab.wire import Bench, Place
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import FaultEvent, FaultSchedule
from hfr_bench.model.terms import End, Layer, Origin
from hfr_bench.testing.results import outcome

LOST = "tool_outcome_unknown"


def prereg(**fields) -> Preregistration:
    return Preregistration.model_validate(
        {
            "name": "x",
            "title": "x",
            "origin": "rehearsal",
            "suites": [{"suite": "shopdesk", "pool": "demo"}],
            "agent": "oracle",
            "arms": [
                {"name": "blind", "strategy": "blind_resend"},
                {"name": "no_retry", "strategy": "no_retry"},
            ],
            "analysis": {"baseline": "blind"},
        }
        | fields
    )


def case_of(registered: Preregistration, arm: str, expected: Break, *, lands: bool = True) -> Case:
    """The first mail of the pool's tasks: its answer is lost."""
    with Bench(registered) as bench:
        key, task = next(
            ((suite, name), task)
            for (suite, name), task in bench.tasks.items()
            if any(step.tool == "send_email" for step in bench.sealed(suite, name).oracle)
        )
        matrix = content.matrix("stress")
        (cell, *_) = cells(registered, [task], matrix, bench.kinds)
        row = next(
            row
            for row in plan_rows(registered, registered.digest(), [cell])
            if row.trial.arm == arm
        )
        event = FaultEvent(
            injection_id="e1", layer=Layer.TOOL, kind=LOST, point="tool:send_email", occurrence=1,
            effect_lands=lands,
        )  # fmt: skip
        schedule = reduced(cell.schedule, (event,))
        update = {
            "schedule_id": schedule.schedule_id, "schedule_digest": text_digest(schedule.dumps())
        }  # fmt: skip
        assert key
        return Case(
            trial=row.trial.model_copy(update=update), expected=expected, schedule=schedule,
            faults=1, tried=1, minimal=True, harness_version=__version__, prereg=registered,
            kinds={LOST: bench.kinds[LOST].digest()},
        )  # fmt: skip


HARM = Break(still="harm", harms=("duplicates",), end=End.ACCEPTED, goal_met=False)
FAILURE = Break(still="failure", end=End.FAILED, goal_met=False)


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    return case_of(prereg(), "blind", HARM)


# -- how it broke ---------------------------------------------------------------------------------


def test_the_worst_that_a_trial_shows_counts_unless_another_is_asked_for():
    bad = outcome(success=False, duplicates=1, partial=2, end=End.ESCALATED)
    found = how_it_broke(bad)
    assert (found.still, found.harms) == ("harm", ("duplicates", "partial"))
    assert how_it_broke(bad, "failure").still == "failure"
    assert how_it_broke(bad, "escalation").still == "escalation"
    assert how_it_broke(outcome(success=False, end=End.ESCALATED)).still == "escalation"
    assert how_it_broke(outcome(success=False)).still == "failure"


def test_what_it_does_not_show_cannot_be_asked_for():
    with pytest.raises(BadInputError, match="nothing to shrink"):
        how_it_broke(outcome())
    with pytest.raises(BadInputError, match="shows no harm, it shows: failure"):
        how_it_broke(outcome(success=False), "harm")


def test_the_same_way_is_the_same_sort_of_harm_or_the_same_end():
    assert HARM.again(outcome(duplicates=3, unwanted=1))
    assert not HARM.again(outcome(success=False, unwanted=1))
    assert FAILURE.again(outcome(success=False))
    assert not FAILURE.again(outcome(success=False, end=End.LIMIT))
    assert not FAILURE.again(outcome(success=False, goal_met=True))
    late = Break(still="failure", end=End.ACCEPTED, goal_met=True)
    assert late.again(outcome(in_time=False))
    assert not late.again(outcome())
    called = Break(still="escalation", end=End.ESCALATED, goal_met=False)
    assert called.again(outcome(success=False, end=End.ESCALATED))
    assert not called.again(outcome(success=False))


def test_a_reduced_schedule_has_a_name_of_its_own():
    one = FaultEvent(injection_id="a", layer=Layer.TOOL, kind="k", point="p", occurrence=1)
    two = one.model_copy(update={"injection_id": "b"})
    whole = FaultSchedule(
        schedule_id="s", suite="s", task_id="t", seed=1, profile="p", rate=0.1, generator="g",
        horizon=1, events=(one, two),
    )  # fmt: skip
    names = {reduced(whole, events).schedule_id for events in ((), (one,), (two,), (one, two))}
    assert len(names) == 4
    assert reduced(whole, (one, two)) is whole


# -- cases ----------------------------------------------------------------------------------------


def test_a_case_reads_as_it_was_written_and_breaks_again(case, tmp_path):
    path = tmp_path / "case.yaml"
    path.write_text(case.text())
    again = read_case(path)
    assert again == case
    assert again.prereg.digest() == case.trial.prereg_digest
    played = replay(again, Place(tmp_path))
    assert played.broke
    assert played.notes == ()
    assert played.result.outcome is not None
    assert played.result.outcome.duplicates == 1


def test_a_case_that_no_longer_breaks_says_so(tmp_path):
    """Lost before it landed, the mail is sent once."""
    played = replay(case_of(prereg(), "blind", HARM, lands=False), Place(tmp_path))
    assert not played.broke
    assert played.result.outcome is not None
    assert played.result.outcome.succeeded


def test_other_ends_can_be_a_case_too(tmp_path):
    gave_up = Break(still="failure", end=End.FAILED, goal_met=False)
    assert replay(case_of(prereg(), "no_retry", gave_up, lands=False), Place(tmp_path)).broke


def test_other_kinds_and_versions_are_told(case, tmp_path):
    other = case.model_copy(update={"kinds": {LOST: "0" * 64}, "harness_version": "0.0.1"})
    kind, version = replay(other, Place(tmp_path)).notes
    assert LOST in kind
    assert "0.0.1" in version


def _edited(case: Case, **trial) -> Case:
    return case.model_copy(update={"trial": case.trial.model_copy(update=trial)})


def test_a_case_that_was_changed_is_refused(case):
    with pytest.raises(BadInputError, match="registration"):
        replay(_edited(case, prereg_digest="0" * 64))
    milder = case.schedule.model_copy(update={"events": ()})
    with pytest.raises(BadInputError, match="schedule is not the one"):
        replay(case.model_copy(update={"schedule": milder}))
    with pytest.raises(BadInputError, match="no task 'x'"):
        replay(_edited(case, task_id="x"))
    with pytest.raises(BadInputError, match="no arm 'x'"):
        replay(_edited(case, arm="x"))
    with pytest.raises(BadInputError, match="no fault kind 'gone'"):
        replay(case.model_copy(update={"kinds": {"gone": ""}}))


def test_live_trials_are_refused(case):
    """Before anything is opened: no key is looked for."""
    registered = case.prereg.model_copy(update={"origin": Origin.LIVE})
    live = _edited(case, prereg_digest=registered.digest())
    with pytest.raises(BadInputError, match="a live trial cannot be shrunk"):
        replay(live.model_copy(update={"prereg": registered}))
