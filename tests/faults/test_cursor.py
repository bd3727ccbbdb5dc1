"""Which event is live where: durations, stickiness, and replay."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.faults.cursor import Cursor
from hfr_bench.model.schedule import FaultEvent, Lasts
from hfr_bench.model.terms import Layer


def event(
    name: str, occurrence: int = 1, attempt: int = 1, layer: Layer = Layer.TOOL, **lasts: object
) -> FaultEvent:
    return FaultEvent(
        injection_id=name,
        layer=layer,
        kind="k",
        point="p",
        occurrence=occurrence,
        attempt=attempt,
        lasts=Lasts.model_validate(lasts),
    )


def live(
    cursor: Cursor, occurrence: int, attempt: int, target: str = "a", now_s: float = 0
) -> str | None:
    found = cursor.at("p", occurrence, attempt, target=target, now_us=int(now_s * 1e6))
    return found.injection_id if found else None


def test_attempts_are_counted_from_the_onset() -> None:
    cursor = Cursor([event("e", attempt=2, n=2)])
    assert [live(cursor, 1, n) for n in range(1, 6)] == [None, "e", "e", None, None]
    assert live(cursor, 2, 2) is None
    assert cursor.at("q", 1, 2, target="a", now_us=0) is None


def test_attempts_do_not_remember_so_any_order_gives_the_same() -> None:
    cursor = Cursor([event("e", n=2)])
    assert [live(cursor, 1, n) for n in (3, 2, 1)] == [None, "e", "e"]


def test_a_sticky_event_ends_for_good_when_the_target_changes() -> None:
    cursor = Cursor([event("e", unit="target")])
    assert [live(cursor, 1, n) for n in (1, 2, 3)] == ["e", "e", "e"]
    assert live(cursor, 1, 4, target="b") is None
    assert live(cursor, 1, 5, target="a") is None


def test_a_sticky_event_stays_within_its_step() -> None:
    cursor = Cursor([event("e", unit="target")])
    assert live(cursor, 1, 1) == "e"
    assert live(cursor, 2, 1) is None


def test_an_event_of_the_trial_lasts_once_it_was_met() -> None:
    cursor = Cursor([event("e", occurrence=2, unit="trial")])
    assert live(cursor, 1, 1) is None
    assert live(cursor, 3, 1) is None  # its coordinate was never met
    assert live(cursor, 2, 1) == "e"
    assert live(cursor, 9, 4, target="b") == "e"


def test_seconds_count_from_the_first_delivery() -> None:
    cursor = Cursor([event("e", unit="seconds", n=10)])
    assert live(cursor, 1, 1, now_s=100) == "e"
    assert live(cursor, 7, 1, now_s=109.9) == "e"
    assert live(cursor, 8, 1, now_s=110) is None
    assert live(cursor, 1, 2, now_s=101) is None  # over is over


def test_the_earliest_onset_wins() -> None:
    cursor = Cursor([event("late", attempt=2, n=3), event("early", unit="target")])
    assert live(cursor, 1, 2) == "early"
    assert live(cursor, 1, 3, target="b") == "late"


def test_a_cursor_sees_only_its_layers() -> None:
    events = [event("m", layer=Layer.MODEL), event("t")]
    assert live(Cursor(events, (Layer.MODEL,)), 1, 1) == "m"
    assert live(Cursor(events, (Layer.TOOL,)), 1, 1) == "t"
    assert live(Cursor(iter(events), (Layer.ENVIRONMENT,)), 1, 1) is None


lasts = st.builds(
    Lasts,
    unit=st.sampled_from(["attempts", "target", "trial", "seconds"]),
    n=st.integers(1, 4),
)
visits = st.lists(
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.sampled_from("ab"), st.integers(0, 3)),
    max_size=25,
)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3), lasts), max_size=6), visits)
def test_replaying_the_same_attempts_gives_the_same_answers(
    drawn: list[tuple[int, int, Lasts]], path: list[tuple[int, int, str, int]]
) -> None:
    events = [
        event(str(n), occurrence, attempt).model_copy(update={"lasts": lasts})
        for n, (occurrence, attempt, lasts) in enumerate(drawn)
    ]

    def replay(planned: list[FaultEvent]) -> list[str | None]:
        cursor, now = Cursor(planned), 0
        answers = []
        for occurrence, attempt, target, passed in path:
            now += passed
            answers.append(live(cursor, occurrence, attempt, target, now))
        return answers

    assert replay(events) == replay(events)


def test_whoever_asks_again_about_an_attempt_is_told_the_same() -> None:
    """Injectors behind each other ask one cursor: a second one must not meet another event."""
    cursor = Cursor([event("first", unit="target"), event("second", unit="trial")])
    assert [live(cursor, 1, 1, now_s=s) for s in (0, 1)] == ["first", "first"]
    assert live(cursor, 1, 2, now_s=2) == "second"
