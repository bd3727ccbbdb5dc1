"""What is played of a recorded prefix: each answer once, in its place, and nothing after a miss."""

from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.lab.prefix import ForUser, Marks, Played
from hfr_bench.model.cassette import Taped
from hfr_bench.ports.tape import heard, taped

POINT = "model:agent"


def line(occurrence: int, request: bytes, said: bytes = b"yes", point: str = POINT) -> Taped:
    made = taped((point, occurrence, 1), "m", request, heard(200, {}, (said,)))
    return made.model_copy(update={"cost_microusd": 10 * occurrence})


def digest(request: bytes) -> str:
    return taped((POINT, 1, 1), "m", request).request_digest


def test_an_answer_is_played_in_its_place_and_charged_as_recorded() -> None:
    prefix = Played([line(1, b"a"), line(2, b"b")], "d")
    mark, found = prefix.seek((POINT, 2, 1), digest(b"b"))
    assert (mark, found) == ("played", line(2, b"b"))
    assert prefix.cost((POINT, 2, 1)) == 20
    assert prefix.cost((POINT, 1, 1)) is None
    assert prefix.parted == ""


def test_an_unknown_price_stays_unknown() -> None:
    prefix = Played([line(1, b"a").model_copy(update={"cost_microusd": None})], "d")
    prefix.seek((POINT, 1, 1), digest(b"a"))
    assert prefix.cost((POINT, 1, 1)) is None


def test_after_a_miss_nothing_is_played() -> None:
    prefix = Played([line(1, b"a"), line(2, b"b")], "d")
    assert prefix.seek((POINT, 1, 1), digest(b"other")) == ("missed", None)
    assert prefix.parted == f"{POINT} #1"
    assert prefix.seek((POINT, 2, 1), digest(b"b")) == ("", None)


def test_what_was_asked_twice_in_the_same_words_is_answered_in_the_recorded_order() -> None:
    prefix = Played([line(1, b"a", b"first"), line(1, b"a", b"second")], "d")
    said = [prefix.seek((POINT, 1, attempt), digest(b"a"))[1] for attempt in (1, 2)]
    assert [one.response.pieces for one in said if one and one.response] == [
        ("first",),
        ("second",),
    ]
    assert prefix.seek((POINT, 1, 3), digest(b"a"))[0] == "missed"


def test_an_answer_that_never_came_is_none() -> None:
    lost = line(1, b"a").model_copy(update={"response": None})
    assert Played([lost], "d").seek((POINT, 1, 1), digest(b"a"))[0] == "missed"


def test_a_call_for_the_strategy_is_no_part_of_the_prefix() -> None:
    prefix = Played([line(1, b"a")], "d")
    assert prefix.seek(("model:compress", 1, 1), digest(b"c")) == ("", None)
    assert prefix.seek((POINT, 1, 1), digest(b"a"))[0] == "played"


def test_where_the_user_parts_the_agents_next_request_says_so() -> None:
    prefix = Played([line(1, b"a"), line(1, b"u", point="model:user")], "d")
    user = ForUser(prefix)
    assert user.seek(("model:user", 1, 1), digest(b"u"))[0] == "played"
    assert prefix.seek((POINT, 1, 1), digest(b"a"))[0] == "played"
    assert user.seek(("model:user", 2, 1), digest(b"u")) == ("missed", None)
    assert prefix.seek(("model:compress", 1, 1), digest(b"c")) == ("", None)
    assert prefix.seek((POINT, 2, 1), digest(b"a")) == ("missed", None)
    assert prefix.seek((POINT, 3, 1), digest(b"a")) == ("", None)
    assert user.seek(("model:user", 3, 1), digest(b"u")) == ("", None)


def test_a_replay_is_told_the_recorded_marks() -> None:
    marks = Marks([line(1, b"a").model_copy(update={"prefix": "missed"})])
    assert marks.seek((POINT, 1, 1), digest(b"a")) == ("missed", None)
    assert marks.seek((POINT, 2, 1), digest(b"a")) == ("", None)


REQUESTS = st.tuples(st.integers(1, 3), st.sampled_from([b"a", b"b"]))


@given(st.lists(REQUESTS, max_size=6), st.lists(REQUESTS, max_size=8))
def test_whatever_is_asked(
    recorded: list[tuple[int, bytes]], asked: list[tuple[int, bytes]]
) -> None:
    """Played is what was recorded there, each line once; a miss is the first that is not, once."""
    prefix = Played([line(*one) for one in recorded], "d")
    left, parted = list(recorded), False
    for attempt, (occurrence, request) in enumerate(asked, 1):
        mark, found = prefix.seek((POINT, occurrence, attempt), digest(request))
        if parted:
            assert (mark, found) == ("", None)
        elif (occurrence, request) in left:
            left.remove((occurrence, request))
            assert (mark, found) == ("played", line(occurrence, request))
        else:
            assert (mark, found) == ("missed", None)
            parted = True
