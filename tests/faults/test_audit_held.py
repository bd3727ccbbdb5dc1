"""Effects that need the real call: every way in which one can fail to be delivered is noticed."""

from typing import Any

import pytest

from hfr_bench.faults.audit import TrialAudit, audit
from hfr_bench.model.effects import Alter, Forget, Late, Stale
from hfr_bench.model.schedule import FaultEvent, KindSpec, Lasts, Wire
from hfr_bench.model.terms import Layer, SideEffect
from hfr_bench.model.trace import AttemptEnded, EffectExecuted
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import (
    At,
    answered,
    events,
    ran,
    refused,
    schedule,
    sent,
    started,
    timed_out,
)

TRIAL = planned().rows[0].trial
TOOL = "tool:book"
EFFECTS: dict[str, Wire] = {
    "alter": Alter(edit="number"),
    "stale": Stale(),
    "late": Late(),
    "late15": Late(after_s=15),
    "forget": Forget(),
    "forget20": Forget(ttl_s=20),
}
KINDS = {
    name: KindSpec(
        kind=name,
        layer=Layer.SEMANTIC if name == "alter" else Layer.TOOL,
        wire={"tool": effect},
        lands=0.5 if name == "stale" else None,
    )
    for name, effect in EFFECTS.items()
}


def went(attempt: int = 1, occurrence: int = 1, op: str = "", t_us: int | None = None) -> At:
    body = sent(TOOL, occurrence, operation_id=op or f"{occurrence}.{attempt}", target="book")
    write = {"stepless_key": "w", "level": SideEffect.QUERYABLE, "request_digest": "bare"}
    return At(body.model_copy(update=write), occurrence, attempt, t_us)


def did(op: str, body: str = "fine", args: str = "keyed", t_us: int | None = None) -> At:
    made: EffectExecuted = ran(op, body=body)
    return At(made.model_copy(update={"args_digest": args}), 1, 1, t_us)


def saw(body: str = "fine", attempt: int = 1, occurrence: int = 1, **fields: Any) -> At:
    return At(answered(body, **fields), occurrence, attempt)


def lost(attempt: int = 1, occurrence: int = 1, **fields: Any) -> At:
    return At(timed_out(**fields), occurrence, attempt)


def found(
    kind: str, *bodies: At, occurrence: int = 1, n: int = 1, tool_us: int | None = None, **of: Any
) -> TrialAudit:
    event = FaultEvent(
        injection_id="i", layer=KINDS[kind].layer, kind=kind, point=TOOL, occurrence=occurrence,
        lasts=Lasts(n=n), **of,
    )  # fmt: skip
    trace = events("t", [started(TRIAL), *bodies])
    return audit(trace, schedule(TRIAL, [event]), KINDS, tool_latency_us=tool_us)


def problem(kind: str, *bodies: At, **of: Any) -> str:
    (one,) = found(kind, *bodies, **of).deliveries
    return one.mismatch


def test_an_altered_answer_is_a_good_one_and_another_than_the_truth() -> None:
    assert problem("alter", went(), did("1.1"), saw("wrong")) == ""
    assert "another than the true" in problem("alter", went(), did("1.1"), saw("fine"))
    assert "did not run" in problem("alter", went(), saw("wrong"))
    assert "ran 2 times" in problem("alter", went(), did("1.1"), did("1.1"), saw("wrong"))
    assert "seen status 500" in problem("alter", went(), did("1.1"), At(refused()))
    assert "seen Timeout" in problem("alter", went(), did("1.1"), lost())
    slow = (went(), did("1.1"), saw("wrong", latency_us=5))
    assert problem("alter", *slow, tool_us=5) == ""
    assert "took 5 µs" in problem("alter", *slow, tool_us=4)


EARLIER = (went(), did("1.1", "old"), saw("old"))
NOW = (went(1, 2), did("2.1", "new"))


def test_a_stale_answer_is_one_that_the_world_gave_before() -> None:
    assert problem("stale", *EARLIER, *NOW, saw("old", 1, 2), occurrence=2) == ""
    fresh = problem("stale", *EARLIER, *NOW, saw("new", 1, 2), occurrence=2)
    assert "declared the earlier answer" in fresh
    made_up = problem("stale", *EARLIER, *NOW, saw("invented", 1, 2), occurrence=2)
    assert "declared the earlier answer" in made_up


@pytest.mark.parametrize(
    "before",
    [
        (),
        (went(), did("1.1", "new"), saw("new")),
        (went(), did("1.1", "old", "other arguments"), saw("old")),
    ],
)
def test_where_nothing_can_be_stale_the_event_is_not_met(before: tuple[At, ...]) -> None:
    true = found("stale", *before, *NOW, saw("new", 1, 2), occurrence=2)
    assert (true.deliveries, true.untrue, true.sums["tool", "stale"][:3]) == ((), (), (1, 0, 0))
    odd = found("stale", *before, *NOW, saw("old", 1, 2), occurrence=2)
    assert "the true answer is" in odd.untrue[0]


def test_a_stale_event_that_did_not_draw_its_chance_must_be_fresh() -> None:
    fresh = (*EARLIER, *NOW, saw("new", 1, 2))
    assert found("stale", *fresh, occurrence=2, effect_lands=False).deliveries == ()
    old = found("stale", *EARLIER, *NOW, saw("old", 1, 2), occurrence=2, effect_lands=False)
    assert "the true answer is" in old.untrue[0]


GONE = (went(), lost())
AGAIN = (went(2), did("1.2"), did("1.1"), saw(attempt=2))


def test_a_late_call_runs_once_behind_the_next_attempt_of_its_write() -> None:
    assert problem("late", *GONE, *AGAIN) == ""
    assert found("late", *GONE, *AGAIN).untrue == ()
    assert "ran 0 times" in problem("late", *GONE, went(2), did("1.2"), saw(attempt=2))
    twice = (*AGAIN[:3], did("1.1"), saw(attempt=2))
    assert "ran 2 times" in problem("late", *GONE, *twice)
    assert "the tool ran" in problem("late", went(), did("1.1"), lost())
    assert "seen status 200" in problem("late", went(), saw(), *AGAIN)
    after = (went(2), did("1.2"), saw(attempt=2), did("1.1"))
    assert "did after the trial" in problem("late", *GONE, *after)
    third = (went(2), did("1.2"), saw(attempt=2), went(3), did("1.3"), did("1.1"), saw(attempt=3))
    assert "did at tool:book #1 attempt 3" in problem("late", *GONE, *third)


def test_what_nobody_asked_for_again_lands_after_the_trial() -> None:
    ended = found("late", *GONE, did("1.1"))
    assert (ended.deliveries[0].mismatch, ended.untrue) == ("", ())
    stray = found("late", *GONE, did("1.1"), did("another"))
    assert "outside any attempt" in stray.untrue[0]


def test_a_late_call_has_its_time() -> None:
    sent_at, ends = went(t_us=0), lost()._replace(t_us=10_000_000)
    then = went(2, t_us=15_000_000)

    def landing(t_us: int) -> str:
        late = did("1.1", t_us=t_us)
        return problem("late15", sent_at, ends, then, late, did("1.2"), saw(attempt=2))

    assert landing(15_000_000) == ""
    assert "should land from 15000000 µs on" in landing(14_999_999)


def test_a_call_that_landed_late_is_not_the_attempts_in_whose_lines_it_stands() -> None:
    """The attempt that came after it is as true, and as single, as ever."""
    untrue = found("late", *GONE, went(2), did("1.2", "a"), did("1.1", "b"), saw("b", 2))
    assert "the true answer is" in untrue.untrue[0]


KEYLESS = (went(), did("1.1", args="bare"), lost())


def test_a_forgotten_key_is_missing_where_the_tool_ran() -> None:
    assert problem("forget", *KEYLESS) == ""
    assert "but had it" in problem("forget", went(), did("1.1"), lost())
    assert "ran 0" in problem("forget", went(), lost())
    assert "seen status 200" in problem("forget", went(), did("1.1", args="bare"), saw())
    again = (went(2), did("1.2", args="bare"), saw(attempt=2))
    assert problem("forget", *KEYLESS, *again, n=8) == ""
    keyed = (went(2), did("1.2"), saw(attempt=2))
    assert "attempt 2: should reach the tool without" in problem("forget", *KEYLESS, *keyed, n=8)
    untrue = (went(2), did("1.2", args="bare"), saw("odd", 2))
    assert "not the true answer" in problem("forget", *KEYLESS, *untrue, n=8)


def test_a_key_is_kept_until_its_time_is_up() -> None:
    first = (went(t_us=0), did("1.1"), lost())
    soon = (went(2, t_us=19_999_999), did("1.2"), saw(attempt=2))
    late = (went(3, t_us=20_000_000), did("1.3", args="bare"), saw(attempt=3))
    kept = (went(3, t_us=20_000_000), did("1.3"), saw(attempt=3))
    assert problem("forget20", *first, *soon, *late, n=8) == ""
    assert "attempt 3: should reach" in problem("forget20", *first, *soon, *kept, n=8)


def test_an_attempt_without_an_end_is_told() -> None:
    for kind in EFFECTS:
        if kind != "stale":
            assert "has no end" in problem(kind, went())


def test_silence_has_its_length_on_a_virtual_clock() -> None:
    short = AttemptEnded(answered=False, exception="Timeout", latency_us=1)
    assert "took 1 µs" in problem("late", went(), At(short), *AGAIN)
