"""A port that is kept: nobody listens at it, whoever asks for it by number has it."""

import socket

import pytest

from hfr_bench.testing.ports import reserved_port


def test_nobody_listens_at_it_and_one_who_asks_for_it_has_it() -> None:
    with reserved_port() as port:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        for _ in range(2):
            with socket.create_server(("127.0.0.1", port)):
                socket.create_connection(("127.0.0.1", port)).close()
                with pytest.raises(OSError, match="in use"):
                    socket.create_server(("127.0.0.1", port))


def test_it_is_given_to_nobody_who_takes_any() -> None:
    with reserved_port() as port:
        others = [socket.create_server(("127.0.0.1", 0)) for _ in range(200)]
        assert port not in [other.getsockname()[1] for other in others]
        for other in others:
            other.close()
