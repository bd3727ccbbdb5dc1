"""A tool host as JSON lines over its stdio, whatever carries the bytes: what the sandboxes share.

One request, one answer, a deadline. A host that is late, dies, or breaks the protocol is ended.
"""

import json
import threading
import time
from collections.abc import Mapping
from typing import Any, Protocol

from hfr_bench.ports.sandbox import HostDiedError, HostRefusedError, HostTimeoutError

LAST_WORDS = 2000
"""How many bytes of the end of a host's stderr are kept for the error that tells of its death."""

_LONGEST_LINE = 64 << 20  # a host that never ends its line must not fill our memory


class Transport(Protocol):
    """Bytes to and from one running host. Deadlines are times of `time.monotonic`.

    `send`, `receive` and `release` are called by one thread at a time; `kill` by any.
    """

    def send(self, data: bytes, deadline: float) -> None:
        """Hand over all of it, however slowly it is read. Raises TimeoutError, EOFError."""
        ...

    def receive(self, deadline: float) -> bytes:
        """Some more of stdout, at least a byte. Raises TimeoutError, EOFError."""
        ...

    def kill(self) -> None:
        """End the host and all it started; a waiting send or receive ends at once. Idempotent."""
        ...

    def cause(self) -> str:
        """Why it ended by itself, "" if that is not known. Asked after an EOFError."""
        ...

    def last_words(self) -> str:
        """The end of what it wrote to stderr."""
        ...

    def release(self) -> None:
        """Give back files and sockets, after `kill`. Idempotent."""
        ...


class LineHost:
    """A tool host over a transport. Implements `ports.sandbox.ToolHost`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._turn = threading.RLock()  # one request at a time; nothing is released during one
        self._buffer = bytearray()
        self._number = 0
        self.closed = False

    def request(self, op: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        with self._turn:
            self._number += 1
            answer = self._exchange(op, {"id": self._number, "op": op, **fields}, deadline)
            if answer is None:
                self.close()
                raise HostTimeoutError(f"the tool host did not answer {op!r} in {timeout_s} s")
            if not isinstance(answer, dict) or answer.get("id") != self._number:
                raise self._died(f"answered {op!r} out of order")
        if not answer.get("ok"):
            said = answer.get("error")
            said = said if isinstance(said, dict) else {"message": said}
            raise HostRefusedError(str(said.get("type")), str(said.get("message")))
        return answer

    def close(self) -> None:
        self.closed = True
        self._transport.kill()  # before taking the turn: this ends a request that is under way
        with self._turn:
            self._transport.release()

    def _exchange(self, op: str, message: Mapping[str, Any], deadline: float) -> Any:
        """The parsed answer, None if it is late (`null` is not one). Raises HostDiedError."""
        try:
            if self.closed:
                raise EOFError
            self._transport.send(json.dumps(message).encode() + b"\n", deadline)
            answer = json.loads(self._line(deadline))
        except TimeoutError:
            return None
        except EOFError as error:
            if self.closed:
                raise HostDiedError(f"the tool host ended (at {op!r}): it was closed") from error
            cause = self._transport.cause()
            raise self._died(f"ended (at {op!r})" + (f": {cause}" if cause else "")) from error
        except OverflowError as error:
            raise self._died(f"answered {op!r} with a line of over {_LONGEST_LINE} B") from error
        except (ValueError, RecursionError) as error:
            raise self._died(f"answered {op!r} with something that is not JSON") from error
        return () if answer is None else answer

    def _line(self, deadline: float) -> bytes:
        """The next whole line of stdout. Raises TimeoutError, EOFError, OverflowError."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > _LONGEST_LINE:
                raise OverflowError
            self._buffer += self._transport.receive(deadline)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _died(self, what: str) -> HostDiedError:
        """The error for a broken host, with the end of what it said; the host is ended."""
        said = self._transport.last_words()
        self.close()
        return HostDiedError(f"the tool host {what}" + (f"; it said:\n{said}" if said else ""))
