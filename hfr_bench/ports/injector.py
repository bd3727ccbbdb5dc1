"""Injectors: at a call boundary in-process, or as a proxy on the wire. They never retry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from hfr_bench.faults.cursor import Cursor
from hfr_bench.model.cassette import Taped
from hfr_bench.model.schedule import KindSpec
from hfr_bench.model.trace import Body
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.clock import Clock
from hfr_bench.ports.exposure import Exposed
from hfr_bench.ports.tape import Prefix
from hfr_bench.ports.web import Fronted


@dataclass(frozen=True, slots=True)
class Scene:
    """One trial, as an injector sees it: where it is in its schedule, and whom to tell.

    `tell` queues a truth record for the trial's only writer; safe from any thread.
    `labels`: suite, task and seed (never the arm), for callers that do not send them themselves.
    `exposed`: the trial's world, where its host may be broken; `fronted`: where it has sites.
    `keep`: takes the model server's own answers, before any fault; safe from any thread.
    `prefix`: answers in the model server's place until a first fault is met (live forks).
    """

    trial_id: str
    cursor: Cursor
    kinds: Mapping[str, KindSpec]
    clock: Clock
    tell: Callable[[Body], None]
    labels: Mapping[str, str] = field(default_factory=dict)
    exposed: Exposed | None = None
    fronted: Fronted | None = None
    keep: Callable[[Taped], None] | None = None
    prefix: Prefix | None = None


class CallInjector(Protocol):
    """Sits between the recorders at an in-process boundary."""

    def kinds(self) -> frozenset[str]:
        """The fault kinds it answers for; wiring refuses a schedule nobody answers."""
        ...

    def wrap(self, inner: CallPort, scene: Scene) -> CallPort: ...

    def heal(self) -> None:
        """Undo everything still standing; called in `finally`, idempotent."""
        ...


class WireInjector(Protocol):
    """A proxy of its own event loop. Trials enter and leave; `/t/<trial_id>/v1` names one."""

    def kinds(self) -> frozenset[str]: ...

    def start(self, upstream: str) -> None:
        """Bind on loopback and forward to `upstream` (a base URL ending in /v1)."""
        ...

    def enter(self, scene: Scene) -> str:
        """Register a trial; returns the base URL its model client must use."""
        ...

    def leave(self, trial_id: str) -> None:
        """Forget a trial, after draining what is still under way for it."""
        ...

    def stop(self) -> None: ...
