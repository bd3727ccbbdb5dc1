"""Delta debugging of schedules: what is left breaks, and nothing of it can be spared."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.faults.shrinking import milder, shrink
from hfr_bench.model.schedule import FaultEvent, KindSpec, Lasts
from hfr_bench.model.terms import Layer


def event(number: int, **fields) -> FaultEvent:
    return FaultEvent(
        injection_id=f"e{number}", layer=Layer.TOOL, kind="k", point="tool:t", occurrence=number,
        **fields,
    )  # fmt: skip


def ids(events) -> set[int]:
    return {int(one.injection_id[1:]) for one in events}


MANY = tuple(event(n) for n in range(40))
KIND = KindSpec(kind="k", layer=Layer.TOOL, params={"wait": (30, 1, 5), "code": ("b", "a")})

cores = st.sets(st.integers(0, 39), max_size=5)


@settings(max_examples=50)
@given(cores)
def test_just_the_events_that_it_takes_are_left(core):
    shrunk = shrink(MANY, lambda some: core <= ids(some))
    assert ids(shrunk.events) == core
    assert shrunk.minimal


@settings(max_examples=50)
@given(st.lists(cores, min_size=1, max_size=4), st.integers(0, 5))
def test_what_is_left_breaks_and_none_of_it_can_be_spared(ways, most_at_once):
    """Even where more faults hide a break: then it is not monotone, and some outcomes differ."""

    def breaks(some) -> bool:
        got = ids(some)
        return any(way <= got for way in ways) and (len(got) > 30 or len(got) <= 25 + most_at_once)

    shrunk = shrink(MANY, breaks, most=10_000)
    assert breaks(shrunk.events)
    for one in shrunk.events:
        assert not breaks(tuple(other for other in shrunk.events if other is not one))


@settings(max_examples=50)
@given(cores)
def test_it_asks_about_no_set_twice_and_seldom(core):
    asked = []

    def breaks(some) -> bool:
        asked.append(tuple(ids(some)))
        return core <= ids(some)

    shrunk = shrink(MANY, breaks)
    assert len(set(asked)) == len(asked) == shrunk.tried
    assert shrunk.tried <= 20 * (len(core) + 1)


def test_what_the_trial_never_came_to_goes_at_once():
    shrunk = shrink(MANY, lambda some: 7 in ids(some), met=("e7", "e8"))
    assert ids(shrunk.events) == {7}
    assert shrunk.tried <= 5


def test_a_trial_that_breaks_by_itself_needs_no_fault():
    assert shrink(MANY, lambda _: True) == ((), 1, True)


def test_trials_that_are_used_up_leave_the_best_so_far():
    shrunk = shrink(MANY, lambda some: {3, 30} <= ids(some), most=8)
    assert (shrunk.tried, shrunk.minimal) == (8, False)
    assert {3, 30} <= ids(shrunk.events)
    assert len(shrunk.events) < 40


def test_each_event_is_made_as_mild_as_it_can_be():
    worst = event(
        1, lasts=Lasts(n=9), effect_lands=True, params={"wait": 30, "code": "a"}, clears_by="retry"
    )
    kept = shrink(
        (worst,),
        lambda some: len(some) == 1 and some[0].lasts.n >= 3 and some[0].params["wait"] >= 5,
        kinds={"k": KIND},
    )
    (left,) = kept.events
    assert (left.lasts, left.effect_lands) == (Lasts(n=3), False)
    assert left.params == {"wait": 5, "code": "b"}


def test_other_durations_become_attempts_and_say_what_clears_them():
    sticky = event(1, lasts=Lasts(unit="trial"), clears_by="nothing")
    (left,) = shrink((sticky,), lambda some: len(some) == 1).events
    assert (left.lasts, left.clears_by) == (Lasts(), "retry")
    stays = shrink((sticky,), lambda some: some != () and some[0].lasts.unit == "trial")
    assert stays.events == (sticky,)


def step(number: int, attempt: int, n: int = 1) -> FaultEvent:
    """One of several events of the same step."""
    return event(number, attempt=attempt, lasts=Lasts(n=n)).model_copy(update={"occurrence": 1})


def reaches(some, last: int) -> bool:
    """Whether a client that stops at its first answer comes to event `last` of the step."""
    attempt = 1
    while live := [e for e in some if e.attempt <= attempt < e.attempt + e.lasts.n]:
        if live[0].injection_id == f"e{last}":
            return True
        attempt += 1
    return False


@settings(max_examples=50)
@given(st.lists(st.integers(1, 3), max_size=4))
def test_what_stands_before_the_fault_that_matters_goes_and_it_moves_up(before):
    ahead = tuple(step(n, 1 + sum(before[:n]), long) for n, long in enumerate(before))
    matters = step(9, 1 + sum(before), 3)
    shrunk = shrink((*ahead, matters), lambda some: reaches(some, 9))
    assert shrunk.events == (step(9, 1),)


def test_what_must_stand_before_it_is_shortened_and_it_moves_up():
    def breaks(some) -> bool:
        return {1, 9} <= ids(some) and reaches(some, 9)

    shrunk = shrink((step(1, 1, 3), step(9, 4)), breaks)
    assert shrunk.events == (step(1, 1), step(9, 2))


def test_parameters_of_an_unknown_kind_stay():
    one = event(1, params={"wait": 30})
    assert list(milder(one)) == []
    assert shrink((one,), lambda some: len(some) == 1).events == (one,)


spans = st.builds(
    Lasts, unit=st.sampled_from(["attempts", "target", "trial", "seconds"]), n=st.integers(1, 20)
)


@settings(max_examples=50)
@given(spans, st.none() | st.booleans(), st.sampled_from([1, 5, 30]), st.sampled_from(["a", "b"]))
def test_there_is_an_end_to_milder(lasts, lands, wait, code):
    now = event(1, lasts=lasts, effect_lands=lands, params={"wait": wait, "code": code})
    steps = 0
    while (softer := list(milder(now, KIND))) and steps < 100:
        assert now not in softer
        now, steps = softer[-1], steps + 1
    assert steps < 100
    assert not list(milder(now, KIND))
    assert now.lasts == Lasts()


def test_a_milder_outage_still_spares_whom_it_spared() -> None:
    outage = event(1, lasts=Lasts(unit="seconds", n=60, over="one"), clears_by="wait")
    lasts = {one.lasts for one in milder(outage)}
    assert {one.over for one in lasts if one.unit == "seconds"} == {"one"}
