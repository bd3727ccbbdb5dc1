"""The client: one attempt a call, whatever comes of it."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.osworld.client import (
    OPERATION,
    Guest,
    GuestError,
    GuestRefusedError,
    GuestTimeoutError,
    Reply,
)
from hfr_bench.testing.ports import reserved_port


class Scripted:
    """A transport that answers by a list, and keeps what was sent."""

    def __init__(self, *answers: Reply | Exception) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[str, str, dict[str, str], bytes, float]] = []

    def send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> Reply:
        self.sent.append((method, target, dict(headers), body, timeout_s))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_a_failure_is_told_and_nothing_is_sent_again():
    wire = Scripted(Reply(500, {}, b'{"status": "error"}'), GuestTimeoutError("late"))
    guest = Guest(wire)
    with pytest.raises(GuestRefusedError) as refused:
        guest.execute(["true"])
    assert refused.value.reply.status == 500
    with pytest.raises(GuestTimeoutError):
        guest.execute(["true"])
    assert len(wire.sent) == 2


def test_the_operation_and_the_timeout_travel_with_the_call():
    wire = Scripted(Reply(200, {}, b'{"output": "", "error": "", "returncode": 0}'))
    Guest(wire).execute("true", shell=True, timeout_s=3, operation_id="op 1")
    ((method, target, headers, body, timeout_s),) = wire.sent
    assert (method, target, timeout_s) == ("POST", "/execute", 3)
    assert headers == {"Content-Type": "application/json", OPERATION: "op 1"}
    assert body == b'{"command": "true", "shell": true}'


def test_setup_has_a_path_of_its_own():
    wire = Scripted(Reply(200, {}, b'{"output": "", "error": "", "returncode": 0}'))
    Guest(wire).execute(["true"], setup=True)
    assert wire.sent[0][1] == "/setup/execute"


def test_an_answer_that_is_no_json_is_an_error_of_the_guest():
    with pytest.raises(Exception, match="no JSON: <html>"):
        Guest(Scripted(Reply(200, {}, b"<html>"))).execute(["true"])


@pytest.mark.parametrize("url", ["10.0.0.1:5000", "https://vm:5000", "http://", "http://a/b"])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(BadInputError, match="http://HOST:PORT"):
        Guest.at(url)


@contextmanager
def listening(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that takes requests and cuts each off after `answer`."""
    taken: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    talk, _ = server.accept()
                except OSError:
                    return
                with talk:
                    taken.append(talk.recv(1 << 16))
                    talk.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", taken
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", b"nonsense\r\n\r\n"]
)
def test_a_connection_that_breaks_off_is_no_answer_and_was_sent_once(answer):
    with listening(answer) as (url, taken):
        with pytest.raises(GuestError) as broken:
            Guest.at(url).execute(["true"])
        assert broken.value.sent
        assert len(taken) == 1


def test_what_is_not_reached_was_not_sent():
    with (
        reserved_port() as port,
        pytest.raises(GuestError, match="is not reached") as error,
    ):
        Guest.at(f"http://127.0.0.1:{port}").platform()
    assert not error.value.sent
