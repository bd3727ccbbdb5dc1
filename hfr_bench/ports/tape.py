"""Recorded model responses: what recorder, gateway and player must agree on.

A trial's are in DIR/cassettes/<group>/r<round>/<arm>.jsonl, a line an attempt
(`model.cassette.Taped`).
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Protocol

from hfr_bench.model.cassette import Heard, Mark, Taped
from hfr_bench.model.record import text_digest
from hfr_bench.ports.llm import ABSORBED

CASSETTES = "cassettes"
TAPE = "x-hfr-tape"
"""Header by which a client tells the player which trial it asks for; a real service gets none."""

_NEVER = frozenset({"set-cookie", "content-length", "transfer-encoding", "connection", "date"})


class Prefix(Protocol):
    """What the calm trial of a live fork was answered, for another trial of its task and seed."""

    def seek(self, at: tuple[str, int, int], request_digest: str) -> tuple[Mark, Taped | None]:
        """The recorded answer to a request that comes before the first fault.

        `at`: point, occurrence, attempt. `played` comes with the line that answers, but in a
        replay; `missed` means that the trial parts from its prefix here, "" that the request is
        none of the prefix. Without a line the model server is to be asked. Safe from any thread.
        """
        ...


def tape_name(group: str, round_no: int, arm: str) -> str:
    """What a trial's cassette is called: its path below `cassettes/`, without the ending."""
    return f"{group}/r{round_no}/{arm}"


def heard(status: int, headers: Mapping[str, str], pieces: Sequence[bytes]) -> Heard:
    """A response as a record. Of our own headers only the count of absorbed errors is kept."""
    kept = {name.lower(): value for name, value in headers.items()}
    own = {ABSORBED: kept[ABSORBED]} if ABSORBED in kept else {}
    kept = {n: v for n, v in kept.items() if n not in _NEVER and not n.startswith("x-hfr-")}
    try:
        texts = tuple(piece.decode() for piece in pieces)
    except UnicodeDecodeError:
        texts = tuple(base64.b64encode(piece).decode() for piece in pieces)
        return Heard(status=status, headers=kept | own, pieces=texts, encoding="base64")
    return Heard(status=status, headers=kept | own, pieces=texts)


def taped(
    at: tuple[str, int, int],
    target: str,
    request: bytes,
    response: Heard | None = None,
) -> Taped:
    """A line of a cassette, its cost not told yet. `at`: point, occurrence, attempt."""
    point, occurrence, attempt = at
    return Taped(
        point=point,
        occurrence=occurrence,
        attempt=attempt,
        target=target,
        request_digest=text_digest(request),
        response=response,
        response_digest=text_digest(b"".join(response.chunks)) if response else "",
    )
