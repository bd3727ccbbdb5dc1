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


def test_an_outage_of_one_model_waits_for_whoever_comes_back() -> None:
    walk = [
        (1, 1, "a", 0.0),
        (1, 2, "b", 1.0),
        (1, 3, "a", 2.0),
        (2, 1, "b", 3.0),
        (3, 1, "a", 9.0),
    ]
    one, every = (event("e", unit="seconds", n=9, over=over) for over in ("one", "all"))
    assert names([one], *walk) == ["e", None, "e", None, None]
    assert names([every], *walk) == ["e", "e", "e", "e", None]


def test_an_outage_runs_from_its_coordinate_whoever_is_met_there() -> None:
    events = [event("short", n=2), event("out", attempt=2, unit="seconds", n=5)]
    walk = [(1, 1, "a", 0.0), (1, 2, "a", 1.0), (2, 1, "a", 5.9), (3, 1, "a", 6.0)]
    assert names(events, *walk) == ["short", "short", "out", None]


def test_too_long_a_request_fails_until_it_is_shorter_wherever_it_goes() -> None:
    sizes = [
        (1, "a", 100),
        (2, "a", 100),
        (3, "b", 100),
        (4, "b", 120),
        (5, "b", 99),
        (6, "b", 100),
    ]
    walk = [Place("p", 1, number, target, 0, size) for number, target, size in sizes]
    live = expected([event("e", unit="request")], walk)
    assert [one is not None for one in live] == [True, True, True, True, False, False]
    assert expected([event("e", unit="request")], [Place("p", 2, 1, "a", 0, 9)]) == [None]


def test_what_waits_for_another_event_is_not_there_before() -> None:
    first, then = (
        event("first", occurrence=2),
        event("then", n=9).model_copy(update={"after": "first"}),
    )
    places = [Place("p", step, number, "a", 0) for step, number in ((1, 1), (2, 1), (1, 2))]
    assert expected([first, then], places) == [None, first, then]
    assert expected([then], places, {"first": 1}) == [None, None, then]


lasts = st.builds(
    Lasts,
    unit=st.sampled_from(["attempts", "target", "request", "trial", "seconds"]),
    n=st.integers(1, 4),
    over=st.sampled_from(["all", "one"]),
)
drawn = st.lists(
    st.tuples(
        st.sampled_from("pq"),
        st.integers(1, 3),
        st.integers(1, 3),
        lasts,
        st.sampled_from(["", "", "", "0", "1"]),
    ),
    max_size=7,
)
walks = st.lists(
    st.tuples(
        st.sampled_from("pq"),
        st.integers(1, 3),
        st.integers(1, 4),
        st.sampled_from("ab"),
        st.integers(0, 3),
        st.integers(7, 9),
    ),
    max_size=25,
    unique_by=lambda place: place[:3],  # an attempt is made once
)


@settings(deadline=None, max_examples=500)
@given(drawn, walks)
def test_the_cursor_keeps_to_the_specification(
    schedule: list[tuple[str, int, int, Lasts, str]],
    walk: list[tuple[str, int, int, str, int, int]],
) -> None:
    events = [
        event(str(n), occurrence, attempt, point).model_copy(update={"lasts": own, "after": after})
        for n, (point, occurrence, attempt, own, after) in enumerate(schedule)
    ]
    cursor, now_us, places, walked = Cursor(events), 0, [], []
    for point, occurrence, number, target, passed_s, size in walk:
        now_us += passed_s * 1_000_000
        places.append(Place(point, occurrence, number, target, now_us, size))
        here = {"target": target, "now_us": now_us, "size": size}
        walked.append(cursor.at(point, occurrence, number, **here))
    assert expected(events, places) == walked


@settings(deadline=None, max_examples=200)
@given(drawn, walks)
def test_events_of_two_layers_wait_for_each_other_alike(
    schedule: list[tuple[str, int, int, Lasts, str]],
    walk: list[tuple[str, int, int, str, int, int]],
) -> None:
    """Layer by layer, as injectors and audit go: what opens the gate is told, not seen."""
    planned = [
        event(str(n), occurrence, attempt, point).model_copy(
            update={"lasts": own, "after": "" if n == 0 else "0"}
        )
        for n, (point, occurrence, attempt, own, _) in enumerate(schedule)
    ]
    met: set[str] = set()
    cursors = {p: Cursor([e for e in planned if e.point == p], met=met) for p in "pq"}
    now_us, walked = 0, []
    for point, occurrence, number, target, passed_s, size in walk:
        now_us += passed_s * 1_000_000
        place = Place(point, occurrence, number, target, now_us, size)
        here = {"target": target, "now_us": now_us, "size": size}
        walked.append((place, cursors[point].at(point, occurrence, number, **here)))
    opens = next((n for n, (_, e) in enumerate(walked) if e and e.injection_id == "0"), None)
    for layer in "pq":
        own = [n for n, (place, _) in enumerate(walked) if place.point == layer]
        opened = {} if opens is None else {"0": sum(n <= opens for n in own)}
        found = expected(cursors[layer].events, [walked[n][0] for n in own], opened)
        assert found == [walked[n][1] for n in own]
