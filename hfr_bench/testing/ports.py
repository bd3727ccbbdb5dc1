"""Ports of loopback that are known before anybody listens at them."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved_port() -> Iterator[int]:
    """A free port that nobody is given by chance meanwhile, though nobody listens at it.

    Whoever asks for this port may have it, as servers do (SO_REUSEADDR); a port that was merely
    free a moment ago may by then be another process's.
    """
    with socket.socket() as holding:
        holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holding.bind(("127.0.0.1", 0))
        yield holding.getsockname()[1]
