"""The tool boundary's faults as an MCP client meets them, and the audit of a proxy that plays them.

A kind states what it does at the tool boundary (dialect `tool`); what an MCP server says in that
place follows from it, as the protocol's own documents have it:

- a JSON-RPC error in the body is one, with its code and message, under the request's id;
- 404 is an unknown tool: a JSON-RPC error -32602;
- 400 and 422 are arguments that the tool refuses: a result with `isError`, which a model can read;
- over HTTP, every other error status is that status; but a session that ran out is 404, as the
  protocol has it, where the client has one, and stays dead until the client initializes anew;
- over stdio there are no statuses: what the tool's own service answered is told as a server tells
  it, a result with `isError`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hfr_bench.faults.audit import TrialAudit, audit
from hfr_bench.faults.shape import wire
from hfr_bench.model.effects import Alter, Late, Stale
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import Close, FaultEvent, FaultSchedule, KindSpec, Respond, Stall
from hfr_bench.model.terms import Layer
from hfr_bench.model.trace import AttemptEnded, AttemptStarted, TraceEvent

Json = dict[str, Any]

DIALECT = "tool"
LAYERS = (Layer.TOOL, Layer.ENVIRONMENT, Layer.SEMANTIC)
INVALID_PARAMS, INVALID_REQUEST = -32602, -32600

PATIENCE_US = 86_400_000_000
"""No client waits longer: a stall of a day is a hang; a shorter one ends in a closed connection."""


class Surface(NamedTuple):
    """How a request came. `session`: it named one. `modern`: a revision without sessions."""

    http: bool
    session: bool = False
    modern: bool = False


class Reply(NamedTuple):
    """An answer that the server knows nothing of.

    `message`: a JSON-RPC answer that lacks only its id; None where `text` is the body of an HTTP
    answer that is none. `status` None: over stdio. `ends_session`: what comes later in the same
    session gets it, too.
    """

    status: int | None
    message: Json | None = None
    text: str = ""
    headers: Mapping[str, str] = {}
    ends_session: bool = False

    @property
    def digest(self) -> str:
        return text_digest(self.text) if self.message is None else message_digest(self.message)


def message_digest(message: Mapping[str, Any]) -> str:
    """SHA-256 of what a JSON-RPC answer says, whatever its id and its spelling."""
    said = {key: message[key] for key in ("result", "error") if key in message}
    try:
        text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except RecursionError:  # nested a thousand deep: no digest
        return ""
    return text_digest(text)


def why_not(spec: KindSpec) -> str:
    """Why MCP cannot express a kind; "" if it can."""
    effect = spec.wire.get(DIALECT)
    if effect is None:
        return f"it is no fault of a tool's call (it has: {', '.join(spec.wire) or 'no wire'})"
    if spec.layer is Layer.ENVIRONMENT:
        return "it befalls the machine or the client's runtime, not a tool's answer"
    if not isinstance(effect, Respond | Close | Stall | Alter | Stale | Late):
        return f"{effect.type!r}: a server does not know which argument is the ledger's key"
    return ""


def reply(effect: Respond, tool: str, surface: Surface) -> Reply:
    """What an MCP client is sent in the place of a tool's answer."""
    said = _parsed(effect.body)
    error = said.get("error")
    if isinstance(error, dict) and isinstance(error.get("code"), int) and "jsonrpc" in said:
        return _rpc({"error": error}, surface)
    if effect.status == 404:
        wrong = {"code": INVALID_PARAMS, "message": f"Unknown tool: {tool}"}
        return _rpc({"error": wrong}, surface)
    text = _text(said, effect.body)
    if effect.status in (400, 422):
        return _tool_error(f"Input validation error: {text}", surface)
    if not surface.http:
        return _tool_error(f"Error executing tool {tool}: HTTP {effect.status}: {text}", surface)
    headers = {name.lower(): value for name, value in effect.headers.items()}
    expired = effect.status == 401 and "invalid_token" in headers.get("www-authenticate", "")
    if expired and surface.session:
        gone = {"code": INVALID_REQUEST, "message": "Session not found"}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": gone})
        head = {"content-type": "application/json"}
        return Reply(404, text=body, headers=head, ends_session=True)
    return Reply(effect.status, text=effect.body, headers=headers)


def _rpc(message: Json, surface: Surface) -> Reply:
    """A JSON-RPC answer; since the revisions without sessions, HTTP says an error, too."""
    if not surface.http:
        return Reply(None, message)
    refused = surface.modern and "error" in message
    return Reply(400 if refused else 200, message)


def _tool_error(text: str, surface: Surface) -> Reply:
    result: Json = {"content": [{"type": "text", "text": text}], "isError": True}
    if surface.modern:
        result["resultType"] = "complete"
    return _rpc({"result": result}, surface)


def _parsed(body: str) -> Json:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(said: Json, body: str) -> str:
    """The words of an error body."""
    error = said.get("error")
    words = error.get("message") if isinstance(error, dict) else error
    return words if isinstance(words, str) else body.strip() or "no details"


# -- the audit -------------------------------------------------------------------------------------


def playable(schedule: FaultSchedule) -> FaultSchedule:
    """The schedule's faults of tools' calls; those of other layers are another injector's."""
    events = tuple(event for event in schedule.events if event.layer in LAYERS)
    return schedule.model_copy(update={"events": events})


def audit_proxy(
    events: Iterable[TraceEvent], schedule: FaultSchedule, kinds: Mapping[str, KindSpec]
) -> TrialAudit:
    """The delivery audit of a proxy's log: the same as of a trial's trace (`faults.audit`).

    What the client was sent in MCP's words is first told in the tool boundary's, by its content:
    an answer that is not, to the letter, what a planned kind says stays what it is, and mismatches.
    """
    schedule = playable(schedule)
    known = _renderings(schedule, kinds)
    told = [_in_our_words(line, known) for line in in_order(events)]
    return audit(told, schedule, kinds)


def in_order(events: Iterable[TraceEvent]) -> list[TraceEvent]:
    """Calls one after the other, as they came in; calls under way together end in any order."""
    found = list(events)
    return sorted(found, key=lambda line: line.step or len(found) + 1)


def _renderings(
    schedule: FaultSchedule, kinds: Mapping[str, KindSpec]
) -> dict[tuple[int | None, str], tuple[int, str, str | None]]:
    """What each planned error answer may look like on a wire: to its status, body, Retry-After."""
    found: dict[tuple[int | None, str], tuple[int, str, str | None]] = {}
    for event in schedule.events:
        kind = kinds.get(event.kind)
        if kind is None or not isinstance(kind.wire.get(DIALECT), Respond):
            continue
        effect = wire(event, kind, DIALECT)
        assert isinstance(effect, Respond)
        headers = {name.lower(): value for name, value in effect.headers.items()}
        ours = (effect.status, text_digest(effect.body), headers.get("retry-after"))
        for one in _ways(effect, event):
            found[one.status, one.digest] = ours
    return found


def _ways(effect: Respond, event: FaultEvent) -> Iterator[Reply]:
    tool = event.point.partition(":")[2]
    for modern in (False, True):
        yield reply(effect, tool, Surface(http=False, modern=modern))
        for session in (False, True):
            yield reply(effect, tool, Surface(http=True, session=session, modern=modern))


def _in_our_words(
    line: TraceEvent, known: Mapping[tuple[int | None, str], tuple[int, str, str | None]]
) -> TraceEvent:
    body = line.body
    if not isinstance(body, AttemptEnded) or body.exception is not None:
        return line
    ours = known.get((body.status, body.response_digest))
    if ours is None:
        return line
    status, digest, retry_after = ours
    seen = {"status": status, "response_digest": digest, "answered": False}
    made = body.model_copy(update={**seen, "retry_after": retry_after})
    return line.model_copy(update={"body": made})


def trials(events: Iterable[TraceEvent]) -> dict[str, list[TraceEvent]]:
    """A log's lines by trial: each start of a proxy is one."""
    found: dict[str, list[TraceEvent]] = {}
    for line in events:
        found.setdefault(line.trial_id, []).append(line)
    return found


def unplayable(schedule: FaultSchedule, kinds: Mapping[str, KindSpec]) -> Sequence[str]:
    """What of a schedule MCP cannot express, in words, once a kind."""
    names = dict.fromkeys(event.kind for event in playable(schedule).events)
    found = []
    for name in names:
        spec = kinds.get(name)
        why = "there is no such kind" if spec is None else why_not(spec)
        if why:
            found.append(f"{name} ({why})")
    return found


def calls_in(events: Iterable[TraceEvent]) -> int:
    """How many tool calls a log holds."""
    return sum(isinstance(line.body, AttemptStarted) for line in events)
