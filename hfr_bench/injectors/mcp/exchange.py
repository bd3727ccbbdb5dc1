"""One tool call on its way through the proxy: what the server says, and what may go out for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from hfr_bench.faults.mcp import PATIENCE_US, Reply, Surface, message_digest
from hfr_bench.faults.shape import CLOSED, TIMEOUT
from hfr_bench.injectors._trail import Coordinate
from hfr_bench.injectors.mcp.messages import ToolRequest
from hfr_bench.injectors.mcp.record import Block
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.trace import AttemptEnded

Json = dict[str, Any]
GONE, CANCELLED, SERVER_GONE = "ClientGone", "Cancelled", "ServerGone"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server answered. `message` None: nothing that is JSON-RPC; `text`: then what.

    `status`: HTTP's, 200 for any answer over stdio, None where none came: `exception` says why.
    `sent`: the request left us.
    """

    message: Mapping[str, Any] | None = None
    status: int | None = None
    text: str = ""
    exception: str | None = None
    sent: bool = True

    @property
    def result(self) -> Json | None:
        found = None if self.message is None else self.message.get("result")
        return found if isinstance(found, dict) else None

    @property
    def digest(self) -> str:
        return text_digest(self.text) if self.message is None else message_digest(self.message)


class Link(Protocol):
    """The way to the server for one call."""

    async def forward(self, *, heard: bool) -> Answer:
        """Send the request and wait for its answer.

        `heard`: what the server says meanwhile about this call goes on to the client.
        """
        ...

    async def late(self) -> Answer:
        """Send a copy of the request, as one of ours: nothing of its answer reaches the client."""
        ...


@dataclass(frozen=True, slots=True)
class Passed:
    """The server's own answer goes out, as it came."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Instead:
    """Another result goes out in the place of the server's."""

    result: Json
    answer: Answer


@dataclass(frozen=True, slots=True)
class Refused:
    """An answer of the injector's goes out."""

    reply: Reply
    event: FaultEvent


@dataclass(frozen=True, slots=True)
class Silent:
    """Nothing goes out for so long, then the connection ends."""

    stall_s: float


Outcome = Passed | Instead | Refused | Silent


@dataclass(slots=True, eq=False)
class Call:
    """One tool call on its way through the proxy. `event`: the fault that is live at it.

    `silenced`: its client hears nothing, and can take nothing back. `doomed`: it is known from the
    start that it fails.
    """

    request: ToolRequest
    link: Link
    surface: Surface
    at: Coordinate
    block: Block
    event: FaultEvent | None
    session: str = ""
    forwarded: bool = False
    silenced: bool = False
    doomed: bool = False
    answer: Answer = Answer(sent=False)

    @property
    def asked(self) -> tuple[str, str]:
        return self.request.tool, self.request.args_digest

    @property
    def operation(self) -> str:
        return f"call-{self.block.number}"


def seen_of(call: Call, outcome: Outcome) -> tuple[AttemptEnded, bool]:
    """What goes out, and whether a caller takes it for a failure."""
    match outcome:
        case Silent(stall_s):
            hangs = round(stall_s * 1_000_000) >= PATIENCE_US
            lost = AttemptEnded(answered=False, exception=TIMEOUT if hangs else CLOSED)
            return lost, True
        case Refused(said):
            ended = AttemptEnded(
                answered=False,
                status=said.status,
                domain_error=said.message is not None and "result" in said.message,
                response_digest=said.digest,
                retry_after=said.headers.get("retry-after"),
            )
            return ended, True
        case Passed(answer) if answer.exception is not None:
            return AttemptEnded(answered=False, sent=answer.sent, exception=answer.exception), True
        case Passed(answer):
            result, out = answer.result, answer.digest
        case Instead(result, answer):
            out = message_digest({"result": result})
    ended = AttemptEnded(
        answered=result is not None,
        status=answer.status if call.surface.http else None,
        domain_error=result is not None and result.get("isError") is True,
        response_digest=out,
    )
    return ended, result is None
