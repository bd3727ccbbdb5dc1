"""The specification of what must be live, and the law that ties the injectors' cursor to it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.expect import Place, expected
from hfr_bench.model.schedule import FaultEvent, Lasts
from hfr_bench.model.terms import Layer


def event(
    name: str, occurrence: int = 1, attempt: int = 1, point: str = "p", **lasts: object
) -> FaultEvent:
    return FaultEvent(
        injection_id=name,
        layer=Layer.TOOL,
        kind="k",
        point=point,
        occurrence=occurrence,
        attempt=attempt,
        lasts=Lasts.model_validate(lasts),
    )


def names(
    events: list[FaultEvent], *places: tuple[int, int] | tuple[int, int, str, float]
) -> list[str | None]:
    walk = []
    for occurrence, number, *rest in places:
        target, now_s = rest or ("a", 0.0)
        walk.append(Place("p", occurrence, number, str(target), int(float(now_s) * 1e6)))
    return [found.injection_id if found else None for found in expected(events, walk)]


def test_attempts_are_counted_from_the_onset() -> None:
    steps = [(1, n) for n in range(1, 6)]
    assert names([event("e", attempt=2, n=2)], *steps) == [None, "e", "e", None, None]
    assert names([event("e", point="q")], (1, 1)) == [None]


def test_a_sticky_event_ends_for_good_when_the_target_changes() -> None:
    places = [(1, 1, "a", 0.0), (1, 2, "a", 0.0), (1, 3, "b", 0.0), (1, 4, "a", 0.0)]
    assert names([event("e", unit="target")], *places) == ["e", "e", None, None]
    assert names([event("e", unit="target")], (1, 1), (2, 1)) == ["e", None]


def test_what_spreads_must_have_begun() -> None:
    trial = event("e", occurrence=2, unit="trial")
    assert names([trial], (1, 1), (3, 1), (2, 1), (9, 4)) == [None, None, "e", "e"]
    brief = event("e", unit="seconds", n=10)
    walk = [(1, 1, "a", 100.0), (7, 1, "b", 109.9), (8, 1, "a", 110.0), (1, 2, "a", 111.0)]
    assert names([brief], *walk) == ["e", "e", None, None]


def test_the_earliest_onset_wins() -> None:
    events = [event("late", attempt=2, n=3), event("early", unit="target")]
    assert names(events, (1, 1), (1, 2), (1, 3, "b", 0.0)) == ["early", "early", "late"]


lasts = st.builds(
    Lasts,
    unit=st.sampled_from(["attempts", "target", "trial", "seconds"]),
    n=st.integers(1, 4),
)
drawn = st.lists(
    st.tuples(st.sampled_from("pq"), st.integers(1, 3), st.integers(1, 3), lasts), max_size=7
)
walks = st.lists(
    st.tuples(
        st.sampled_from("pq"),
        st.integers(1, 3),
        st.integers(1, 4),
        st.sampled_from("ab"),
        st.integers(0, 3),
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=500)
@given(drawn, walks)
def test_the_cursor_keeps_to_the_specification(
    schedule: list[tuple[str, int, int, Lasts]], walk: list[tuple[str, int, int, str, int]]
) -> None:
    events = [
        event(str(n), occurrence, attempt, point).model_copy(update={"lasts": drawn_lasts})
        for n, (point, occurrence, attempt, drawn_lasts) in enumerate(schedule)
    ]
    cursor, now_us, places, walked = Cursor(events), 0, [], []
    for point, occurrence, number, target, passed_s in walk:
        now_us += passed_s * 1_000_000
        places.append(Place(point, occurrence, number, target, now_us))
        walked.append(cursor.at(point, occurrence, number, target=target, now_us=now_us))
    assert expected(events, places) == walked
