"""What a trial records: the server's own answers, with what each attempt was charged."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.errors import CassetteMissError
from hfr_bench.faults.cursor import Cursor
from hfr_bench.lab.journal import JournalError
from hfr_bench.lab.prefix import Played
from hfr_bench.lab.taping import AT_WORK, ForUsers, Recording
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.cassette import Taped
from hfr_bench.model.terms import Channel
from hfr_bench.ports.injector import Scene
from hfr_bench.ports.llm import ModelScope, request_body
from hfr_bench.ports.tape import heard, taped
from hfr_bench.testing.fakes import FakeBackend, FakeClock, FakeGateway

AT = ("model:agent", 1, 1)


def call(attempt: int = 1) -> Call:
    return Call(
        step=1,
        point="model:agent",
        occurrence=1,
        attempt=attempt,
        channel=Channel.MODEL,
        target="m",
        timeout_us=1_000_000,
        payload={"messages": []},
    )


class Client:
    """Gives what it was told to, after something has happened."""

    def __init__(self, seen: Observation, before: Callable[[], Any] = lambda: None) -> None:
        self._seen, self._before = seen, before

    def attempt(self, _: Call) -> Observation:
        self._before()
        return self._seen


def lines(path: Path) -> list[Taped]:
    return [Taped.loads(line) for line in path.read_bytes().splitlines()]


def test_what_was_played_is_charged_as_it_was_recorded(tmp_path: Path) -> None:
    line = kept(b"real").model_copy(update={"cost_microusd": 9})
    prefix = Played([line], "digest")
    path = tmp_path / "x.jsonl"
    tape = Recording("x", path, bare=False, prefix=prefix)
    assert tape.keep is not None
    keep = tape.keep
    free = Observation(answered=True, cost_microusd=0, latency_us=5)

    def play() -> None:
        prefix.seek(AT, line.request_digest)
        keep(kept(b"real"))

    assert tape.around(Client(free, play)).attempt(call()).cost_microusd == 9
    assert tape.around(Client(free)).attempt(call(2)).cost_microusd == 0
    tape.end()
    assert [(one.cost_microusd, one.prefix) for one in lines(path)] == [(9, "played"), (0, "")]


def test_what_was_found_and_not_played_is_not_charged(tmp_path: Path) -> None:
    line = kept(b"real").model_copy(update={"cost_microusd": 9})
    prefix = Played([line], "digest")
    tape = Recording("x", tmp_path / "x.jsonl", bare=False, prefix=prefix)
    refused = Observation(answered=False, status=429, cost_microusd=0)
    client = tape.around(Client(refused, lambda: prefix.seek(AT, line.request_digest)))
    assert client.attempt(call()).cost_microusd == 0


def test_where_the_prefix_lacks_no_client_is_to_be_had(tmp_path: Path) -> None:
    tape = Recording("x", tmp_path / "x.jsonl", bare=False, lacking="no calm trial")
    with pytest.raises(CassetteMissError, match="no calm trial"):
        tape.around(Client(Observation(answered=True)))


def kept(text: bytes) -> Taped:
    return taped(AT, "m", request_body(call()), heard(200, {"a": "b"}, (text,)))


def test_the_servers_answer_is_recorded_and_not_what_a_fault_made_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / "x.jsonl"
    tape = Recording("x", path, bare=False)
    lost = Observation(answered=False, exception="closed", cost_microusd=9, latency_us=5)
    assert tape.keep is not None
    keep = tape.keep
    assert tape.around(Client(lost, lambda: keep(kept(b"real")))).attempt(call()) is lost
    digest = tape.end()
    assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
    (made,) = lines(path)
    assert made.response is not None
    assert made.response.chunks == (b"real",)
    assert (made.cost_microusd, made.latency_us) == (9, 5)
    assert not list(path.parent.glob("*.part"))


def test_an_injected_answer_is_no_response_of_the_server(tmp_path: Path) -> None:
    tape = Recording("x", tmp_path / "x.jsonl", bare=False)
    injected = Observation(answered=False, status=429, body="{}", cost_microusd=0)
    tape.around(Client(injected)).attempt(call())
    tape.end()
    (made,) = lines(tmp_path / "x.jsonl")
    assert (made.response, made.response_digest, made.cost_microusd) == (None, "", 0)


def test_without_a_gateway_what_was_seen_is_the_servers_answer(tmp_path: Path) -> None:
    tape = Recording("x", tmp_path / "x.jsonl", bare=True)
    tape.around(Client(Observation(answered=True, status=200, body="ü"))).attempt(call())
    tape.around(Client(Observation(answered=False, exception="closed"))).attempt(call(2))
    tape.end()
    one, two = lines(tmp_path / "x.jsonl")
    assert one.response is not None
    assert one.response.chunks == ("ü".encode(),)
    assert one.request_digest == hashlib.sha256(request_body(call())).hexdigest()
    assert two.response is None


def test_an_answer_that_came_too_late_is_kept(tmp_path: Path) -> None:
    tape = Recording("x", tmp_path / "x.jsonl", bare=False)
    timeout = Observation(answered=False, exception="timeout", cost_microusd=4)
    tape.around(Client(timeout)).attempt(call())
    assert tape.keep is not None
    tape.keep(kept(b"late"))
    tape.end()
    (made,) = lines(tmp_path / "x.jsonl")
    assert made.response is not None
    assert made.cost_microusd == 4


def test_a_model_that_plays_the_user_is_played_its_prefix_by_the_gateway(tmp_path: Path) -> None:
    gateway, met = FakeGateway(), set[str]()
    told: list[Any] = []
    scene = Scene("t", Cursor((), met=met), {}, FakeClock(), told.append)
    plain = Recording("x", tmp_path / "x.jsonl", bare=False)
    plain.enter(gateway, scene)
    assert plain.user_url("up") == "up"
    plain.leave(gateway, "t")
    assert gateway.left == ["t"]
    tape = Recording("x", tmp_path / "x.jsonl", bare=False, prefix=Played([], "d"))
    assert "/t/t/" in tape.enter(gateway, scene)
    assert "/t/t.user/" in tape.user_url("up")
    assert tape.user_url("up") == tape.user_url("up")
    inside = gateway.scenes["t.user"]
    assert inside.cursor.met is met
    assert (inside.keep, inside.cursor.events) == (tape.keep, ())
    inside.tell(told)
    assert told == []
    tape.leave(gateway, "t")
    assert gateway.left[1:] == ["t.user", "t"]


def test_what_cannot_be_recorded_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    tape = Recording("x", tmp_path / "file" / "x.jsonl", bare=False)
    with pytest.raises(JournalError, match="cannot be recorded"):
        tape.end()


def test_a_user_played_by_a_model_is_on_the_tape_of_its_threads_trial(tmp_path: Path) -> None:
    scopes: list[ModelScope] = []

    def client(_: str, scope: ModelScope) -> Client:
        scopes.append(scope)
        return Client(Observation(answered=True, status=200, body="hello"))

    users = ForUsers(FakeBackend(client))
    outside = ModelScope("s", "t", 0, FakeClock(), lambda: 0)
    users.client("url", outside).attempt(call())
    tape = AT_WORK.tape = Recording("g/r1/a", tmp_path / "x.jsonl", bare=False)
    try:
        users.client("url", outside).attempt(call())
    finally:
        AT_WORK.tape = None
    tape.end()
    (made,) = lines(tmp_path / "x.jsonl")
    assert made.response is not None
    assert [scope.tape for scope in scopes] == ["", "g/r1/a"]
