"""All that is no tool's call: requests of the client and their answers, for the log alone."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hfr_bench.faults.mcp import message_digest
from hfr_bench.injectors.mcp.messages import Id
from hfr_bench.injectors.mcp.record import Record
from hfr_bench.model.record import text_digest
from hfr_bench.model.trace import UpstreamHit

_OK = 200


class _Asked(NamedTuple):
    point: str
    occurrence: int
    request_digest: str


@dataclass(slots=True)
class Traffic:
    """Writes an `upstream_hit` at `wire:<method>` for each request, once it is answered.

    No fault is ever planned there. `batches`: arrays of messages, which pass whole and unfaulted.
    """

    record: Record
    batches: int = 0
    _open: dict[Id, _Asked] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)

    def asked(self, number: Id, line: bytes, method: str) -> None:
        """A request goes to the server."""
        self._open[number] = self._place(method, line)

    def answered(self, number: Id, message: Any) -> None:
        """The server answered a request."""
        asked = self._open.pop(number, None)
        if asked is not None:
            self._write(asked, _OK, message_digest(message))

    def exchanged(
        self, method: str, body: bytes, status: int | None, digest: str, injection_id: str = ""
    ) -> None:
        """A request over HTTP, and what went out. `status`: the server's own, None without one."""
        self._write(self._place(method, body), status, digest, injection_id)

    def _place(self, method: str, body: bytes) -> _Asked:
        point = f"wire:{method.encode(errors='replace').decode()}"
        self._counts[point] += 1
        return _Asked(point, self._counts[point], text_digest(body))

    def _write(
        self, asked: _Asked, status: int | None, digest: str, injection_id: str = ""
    ) -> None:
        hit = UpstreamHit(
            point=asked.point,
            occurrence=asked.occurrence,
            attempt=1,
            target="",
            told=False,
            forwarded=status is not None,
            upstream_status=status,
            injection_id=injection_id or None,
            request_digest=asked.request_digest,
            response_digest=digest,
        )
        self.record.outside(hit)
