"""Faults at the tool boundary, in-process: between the two recorders, outside the world."""

import threading
from collections.abc import Mapping

from hfr_bench import content
from hfr_bench.injectors.tool_calls.boundary import DIALECT, Boundary
from hfr_bench.model.schedule import KindSpec, Own
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.injector import Scene

__all__ = ["DIALECT", "ToolCallInjector"]


class ToolCallInjector:
    """Faults at the tool boundary. It never retries and never decides.

    Trials of several threads share it; each thread heals its own.
    """

    def __init__(self, specs: Mapping[str, KindSpec] | None = None) -> None:
        self._specs = content.kinds() if specs is None else specs
        self._own = threading.local()

    def kinds(self) -> frozenset[str]:
        return frozenset(
            name
            for name, spec in self._specs.items()
            if DIALECT in spec.wire and not isinstance(spec.wire[DIALECT], Own)
        )

    def wrap(self, inner: CallPort, scene: Scene) -> CallPort:
        boundary = Boundary(inner, scene)
        if boundary.holds_back:
            self._standing.append(boundary)
        return boundary

    def heal(self) -> None:
        """Let whatever is still held back land: called after the trial, before it is graded.

        Of the calling thread's trials. Raises what the world raises.
        """
        standing = self._standing
        while standing:
            standing.pop().drain()

    @property
    def _standing(self) -> list[Boundary]:
        found: list[Boundary] = self._own.__dict__.setdefault("boundaries", [])
        return found
