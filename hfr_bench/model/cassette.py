"""A cassette: what the model server answered in one trial, one attempt a line, before any fault."""

import base64
from typing import Literal

from pydantic import Field

from hfr_bench.model.record import Record, is_unset

Mark = Literal["", "played", "missed"]
"""How a model's answer stands to a live fork's prefix, as in `model.trace.UpstreamHit`."""


class Heard(Record):
    """A response of the model server, as it came.

    `pieces`: the body in the pieces in which it was read; more than one where it was streamed.
    `encoding`: of the pieces; base64 where one of them is no UTF-8 by itself.
    """

    status: int
    headers: dict[str, str] = {}
    pieces: tuple[str, ...] = ()
    encoding: Literal["utf-8", "base64"] = "utf-8"

    @property
    def chunks(self) -> tuple[bytes, ...]:
        """The body's pieces. Raises ValueError for what is no base64."""
        if self.encoding == "base64":
            return tuple(base64.b64decode(piece, validate=True) for piece in self.pieces)
        return tuple(piece.encode() for piece in self.pieces)


class Taped(Record):
    """One attempt at a model. `request_digest`: SHA-256 of the body that was sent.

    `response`: null where the model server never answered (the request was lost before, say).
    `response_digest`: SHA-256 of its body. In the trace it is the hit's `upstream_digest`, or
    `response_digest` where nothing was altered, or nowhere: the answer was lost.
    `cost_microusd`: what the attempt was charged; null = unknown. `latency_us`: as it was measured.
    `prefix`: in a live fork, how the answer stands to its prefix.
    """

    point: str
    occurrence: int
    attempt: int
    target: str
    request_digest: str
    response: Heard | None = None
    response_digest: str = ""
    cost_microusd: int | None = None
    latency_us: int = 0
    prefix: Mark = Field(default="", exclude_if=is_unset)
