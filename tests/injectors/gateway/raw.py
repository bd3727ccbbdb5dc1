"""A model server that sends whatever bytes it is told to, and a client that does."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable

from hfr_bench.faults.dialects import CHAT

from .answers import request

PATIENCE_S = 20
BODY = json.dumps(request(CHAT)).encode()


class RawServer:
    """Reads a request to its end, sends `answer(n)` for the n-th, in those pieces, and closes."""

    def __init__(self, answer: Callable[[int], list[bytes]]) -> None:
        self.answer = answer
        self.asked = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                wire, _ = self._socket.accept()
            except OSError:
                return
            with wire, contextlib.suppress(OSError):
                wire.settimeout(PATIENCE_S)
                if not self._request(wire):
                    continue
                self.asked += 1
                for piece in self.answer(self.asked):
                    wire.sendall(piece)

    @staticmethod
    def _request(wire: socket.socket) -> bool:
        seen = b""
        while b"\r\n\r\n" not in seen:
            piece = wire.recv(65536)
            if not piece:
                return False
            seen += piece
        head, _, body = seen.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        while len(body) < int(length or 0):
            piece = wire.recv(65536)
            if not piece:
                return False
            body += piece
        return True

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(PATIENCE_S)


def talk(url: str, pieces: list[bytes], *, leave_at: int | None = None) -> bytes:
    """What comes back for bytes in pieces; whatever it is, it comes to an end.

    `leave_at`: the client is gone behind so many pieces, without a word.
    """
    port = int(url.split(":")[2].partition("/")[0])
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as wire:
        with contextlib.suppress(OSError):
            for piece in pieces[:leave_at]:
                wire.sendall(piece)
            if leave_at is not None:
                return b""
            wire.shutdown(socket.SHUT_WR)
        came = b""
        with contextlib.suppress(ConnectionError):
            while piece := wire.recv(65536):
                came += piece
        return came
