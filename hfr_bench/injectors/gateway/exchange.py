"""One request on its way through the gateway, and the one time that its truth is told."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from multidict import CIMultiDict

from hfr_bench.faults.dialects import error_body
from hfr_bench.injectors._trail import Coordinate
from hfr_bench.injectors._wire import Guest
from hfr_bench.injectors.gateway.serving import Reply, Request
from hfr_bench.injectors.gateway.upstream import Response
from hfr_bench.model.cassette import Mark, Taped
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.trace import UpstreamHit
from hfr_bench.ports.llm import ABSORBED
from hfr_bench.ports.tape import heard, taped

NOTHING = text_digest("")

UPSTREAM_ERRORS = (TimeoutError, OSError)
"""What a dead or dying model server looks like, and a client that has gone."""


def absorbed(headers: Mapping[str, str]) -> int:
    """How many organic errors a relay behind us says that it tried again."""
    told = headers.get(ABSORBED, "")
    return int(told) if told.isascii() and told.isdigit() else 0


class Playing(Protocol):
    """A recorded answer in the model server's place, as far as it is read here."""

    status: int

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def read(self) -> bytes: ...


@dataclass(slots=True)
class Exchange:
    """One request; `tell` may be called once.

    `dialect`: of the request; empty where it is no model call. `path`: what the upstream is asked
    for, with its query. `target`: the model. `event`: the fault that is live here. `absorbed`:
    errors that a relay behind us met and tried again. `prefix`: how it stands to a live fork's
    prefix; `recorded`: the answer to it there.
    """

    guest: Guest
    request: Request
    dialect: str
    path: str
    body: bytes
    target: str
    at: Coordinate
    event: FaultEvent | None
    virtual: bool
    forwarded: bool = False
    upstream_status: int | None = None
    absorbed: int = 0
    told: bool = False
    prefix: Mark = ""
    recorded: Taped | None = None

    def tell(
        self, answer_digest: str, *, failed: bool, stall_us: int = 0, true_digest: str = ""
    ) -> None:
        """Queue the truth of this request for the trial's writer.

        `answer_digest`: of the whole answer that goes out. `true_digest`: of the model server's,
        where that was altered.
        """
        assert not self.told, "a request is told exactly once"
        self.told = True
        self.guest.settle(self.at, failed=failed)
        hit = UpstreamHit(
            point=self.at.point,
            occurrence=self.at.occurrence,
            attempt=self.at.attempt,
            target=self.target,
            told=self.at.told,
            forwarded=self.forwarded,
            upstream_status=self.upstream_status,
            injection_id=self.event.injection_id if self.event else None,
            kind=self.event.kind if self.event else None,
            request_digest=text_digest(self.body) if self.body else NOTHING,
            response_digest=answer_digest,
            stall_us=stall_us,
            absorbed=self.absorbed,
            prefix="" if self.prefix == "played" and not self.forwarded else self.prefix,
        )
        if true_digest:
            hit = hit.model_copy(update={"upstream_digest": true_digest})
        self.guest.scene.tell(hit)

    @property
    def place(self) -> tuple[str, int, int]:
        return self.at.point, self.at.occurrence, self.at.attempt

    async def whole(self, upstream: Response | Playing) -> bytes:
        """The body of the model server's answer, read to its end and kept."""
        body = await upstream.read()
        self.upstream_status = upstream.status
        self.keep(upstream.status, upstream.headers, (body,))
        return body

    def keep(self, status: int, headers: Mapping[str, str], pieces: Sequence[bytes]) -> None:
        """Hand the model server's own answer to whoever records the trial."""
        keep = self.guest.scene.keep
        if keep is not None and self.dialect:
            keep(taped(self.place, self.target, self.body, heard(status, headers, pieces)))

    def answer(self, reply: Reply) -> Reply:
        """Tell, then answer."""
        failed = self.event is not None or reply.status >= 400
        self.tell(text_digest(reply.body), failed=failed)
        return reply

    def lose(self) -> None:
        """End the connection, told if it was not yet."""
        if not self.told:
            self.tell("", failed=True)
        hang_up(self.request)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model server answered, read to its end."""

    status: int
    headers: CIMultiDict[str]
    body: bytes
    streamed: bool


def refuse(status: int, code: str, message: str, dialect: str) -> Reply:
    """The gateway's own errors, in the provider's shape."""
    body = error_body(dialect, status, f"hfr-bench gateway: {message}", code)
    return Reply(status, {"content-type": "application/json"}, json.dumps(body).encode())


def hang_up(request: Request) -> None:
    """Really close the socket, without an answer."""
    if request.transport is not None:
        request.transport.abort()
