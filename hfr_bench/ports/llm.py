"""Model servers and the client that calls them. Every model call is real HTTP."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from hfr_bench.model.attempt import Call
from hfr_bench.model.price import Row
from hfr_bench.model.task import SealedTask
from hfr_bench.model.terms import Origin
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.clock import Clock

ABSORBED = "x-hfr-absorbed"
"""Header by which a backend's relay tells the gateway how many organic errors it tried again."""


@dataclass(frozen=True, slots=True)
class ModelScope:
    """What a client needs to know of the trial it works in; the arm is not part of it.

    `announced_us`: takes (and clears) the stall that the gateway announced for the last request
    whose connection it closed; 0 if none. Only a virtual clock uses it. `tape`: which recorded
    trial it is, for a backend that plays recordings; no model server is told.
    """

    suite: str
    task_id: str
    seed: int
    clock: Clock
    announced_us: Callable[[], int]
    tape: str = ""


def request_body(call: Call) -> bytes:
    """A call on the wire: the model first (cheap to read for a proxy), then sorted keys."""
    rest = {key: value for key, value in call.payload.items() if key != "model"}
    model = json.dumps(call.target, ensure_ascii=False)
    text = json.dumps(rest, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f'{{"model":{model}{"," if rest else ""}{text[1:]}'.encode()


class LlmBackend(Protocol):
    """A kind of model service. `origin` labels every number made with it."""

    @property
    def origin(self) -> Origin: ...

    @property
    def prices_digest(self) -> str: ...

    def start(self, sealed: Sequence[SealedTask]) -> str:
        """Start or find the server; returns its base URL. Only a rehearsal server is sealed."""
        ...

    def client(self, base_url: str, scope: ModelScope) -> CallPort:
        """A client for one trial, used by one thread; `base_url` may be a gateway's."""
        ...

    def stop(self) -> None: ...


@runtime_checkable
class Tabled(Protocol):
    """A backend that charges by tokens, from rows of a table; freezing keeps them."""

    @property
    def price_rows(self) -> Mapping[str, Row | None]:
        """Of each model that may be called; None = no price known. `prices_digest` is theirs."""
        ...
