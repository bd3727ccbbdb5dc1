"""Playing recorded responses: which answer a request gets, what a miss is, streams, costs."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.errors import BadInputError, CassetteMissError, InfrastructureError
from hfr_bench.llms.cassette import Cassette
from hfr_bench.llms.cassette.backend import read
from hfr_bench.llms.cassette.player import Player
from hfr_bench.model.attempt import Call
from hfr_bench.model.cassette import Taped
from hfr_bench.model.task import SealedTask
from hfr_bench.ports.llm import ModelScope, request_body
from hfr_bench.ports.tape import heard, taped
from hfr_bench.testing.fakes import FakeClock

NAME = "group/r1/arm"
POINT = "model:agent"


def said(text: str, model: str = "m-2026") -> bytes:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps({"model": model, "choices": [choice]}).encode()


def line(
    occurrence: int,
    attempt: int,
    request: bytes,
    pieces: tuple[bytes, ...] | None = (b"x",),
    cost: int | None = 7,
    kind: str = "application/json",
) -> Taped:
    answer = heard(200, {"Content-Type": kind}, pieces) if pieces is not None else None
    made = taped((POINT, occurrence, attempt), "m", request, answer)
    return made.model_copy(update={"cost_microusd": cost})


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Makes a client that plays these lines, over real HTTP."""
    backend = Cassette(tmp_path, "p")
    url = backend.start(())

    def make(*lines: Taped, tape: str = NAME) -> Any:
        path = tmp_path / f"{NAME}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{one.dumps()}\n" for one in lines))
        scope = ModelScope("suite", "task", 3, FakeClock(), lambda: 0, tape)
        return backend.client(url, scope)

    make.url = url  # type: ignore[attr-defined]
    yield make
    backend.stop()
    backend.stop()


def test_the_same_request_gets_the_recorded_answers_in_their_order(
    play: Any, call: Callable[..., Call]
) -> None:
    asked = request_body(call())
    client = play(
        line(2, 1, asked, (said("one"),), cost=3), line(2, 2, asked, (said("two"),), cost=4)
    )
    found = [client.attempt(call(attempt=attempt)) for attempt in (1, 2)]
    assert [one.payload["content"] for one in found] == ["one", "two"]
    assert [one.cost_microusd for one in found] == [3, 4]
    assert found[0].returned_model == "m-2026"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"payload": {"messages": []}}, "another request"),
        ({"target": "other"}, "another request"),
        ({"occurrence": 3}, "nothing is recorded there"),
        ({"point": "model:other"}, "nothing is recorded there"),
    ],
)
def test_what_was_not_recorded_is_refused_and_said(
    play: Any, call: Callable[..., Call], fields: dict[str, Any], why: str
) -> None:
    client = play(line(2, 1, request_body(call()), (said("one"),)))
    with pytest.raises(CassetteMissError, match=f"not recorded in {NAME}: .*{why}"):
        client.attempt(call(**fields))


def test_an_answer_is_given_once(play: Any, call: Callable[..., Call]) -> None:
    client = play(line(2, 1, request_body(call()), (said("one"),)))
    client.attempt(call())
    with pytest.raises(CassetteMissError, match=r"only 1 answer\(s\) to this request"):
        client.attempt(call(attempt=2))


def test_an_attempt_that_nothing_answered_is_no_answer(
    play: Any, call: Callable[..., Call]
) -> None:
    client = play(line(2, 1, request_body(call()), None))
    with pytest.raises(CassetteMissError, match="nothing is recorded there"):
        client.attempt(call())


def test_a_trial_begins_its_recording_anew(play: Any, call: Callable[..., Call]) -> None:
    for _ in range(2):
        client = play(line(2, 1, request_body(call()), (said("one"),)))
        assert client.attempt(call()).payload["content"] == "one"


def test_two_clients_of_a_trial_play_beside_each_other(
    play: Any, call: Callable[..., Call]
) -> None:
    agent = play(line(2, 1, request_body(call()), (said("one"),)))
    user = play(line(2, 1, request_body(call()), (said("one"),)))
    assert [one.attempt(call()).payload["content"] for one in (agent, user)] == ["one", "one"]
    with pytest.raises(CassetteMissError):
        user.attempt(call(occurrence=9))
    with pytest.raises(CassetteMissError, match="only 1 answer"):
        agent.attempt(call(attempt=2))


def test_a_stream_is_played_in_its_pieces(play: Any) -> None:
    pieces = (b"data: {}\n\n", "data: \u00fc".encode()[:-1], b"\xbc\n\n", b"data: [DONE]\n\n")
    client = play(line(1, 1, b"ask", pieces, kind="text/event-stream"))
    headers = {"x-hfr-tape": f"{NAME}#1", "x-hfr-point": POINT, "x-hfr-occurrence": "1"}
    with httpx.stream("POST", f"{play.url}/chat/completions", content=b"ask", headers=headers) as r:
        assert b"".join(got := list(r.iter_raw())) == b"".join(pieces)
    assert len(got) > 1
    assert client is not None  # it holds the player
    assert r.headers["transfer-encoding"] == "chunked"


def test_a_stranger_is_hung_up_on(play: Any) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.post(f"{play.url}/chat/completions", content=b"ask")


@pytest.mark.parametrize("tape", ["", "group/r2/arm"])
def test_a_trial_without_a_recording_is_a_miss(play: Any, tape: str) -> None:
    with pytest.raises(CassetteMissError, match="recorded"):
        play(tape=tape)


def test_a_line_that_is_no_attempt_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(f"{line(1, 1, b'').dumps()}\n{{}}\n")
    with pytest.raises(CassetteMissError, match=r"a\.jsonl:2: is no recorded attempt"):
        read(tmp_path / "a.jsonl")
    with pytest.raises(InfrastructureError, match="cannot be read"):
        read(tmp_path)


def test_it_is_never_registered_nor_shown_a_solution(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="hfr-bench replay"):
        Cassette()
    sealed = SealedTask(suite="s", task_id="t", opening="", oracle=())
    with pytest.raises(InfrastructureError, match="sealed"):
        Cassette(tmp_path).start((sealed,))


requests = st.tuples(st.integers(1, 3), st.binary(max_size=1))


@given(st.lists(requests, max_size=20))
def test_what_is_asked_as_it_was_recorded_never_misses(asked: list[tuple[int, bytes]]) -> None:
    """Law: the recorded requests, in their order, get the recorded answers, in their order."""
    lines = [line(n, i, body, (b"%d" % i,)) for i, (n, body) in enumerate(asked)]
    player = Player(lines)
    played = [player.play(POINT, one.occurrence, one.request_digest) for one in lines]
    assert played == [one.response for one in lines]
    assert not player.miss


@given(st.lists(st.binary(max_size=8), max_size=6))
def test_any_body_survives_the_record(pieces: list[bytes]) -> None:
    made = taped((POINT, 1, 1), "m", b"", heard(200, {"X-Hfr-Latency-Us": "1"}, pieces))
    assert made.response is not None
    again = Taped.loads(made.dumps())
    assert again == made
    assert list(again.response.chunks if again.response else ()) == pieces
    assert made.response.headers == {}
