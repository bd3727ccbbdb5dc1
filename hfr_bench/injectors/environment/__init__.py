"""Faults in a tool's own container, made from outside while its real call runs."""

import threading
from collections.abc import Mapping
from contextlib import ExitStack

from hfr_bench import content
from hfr_bench.injectors.environment.boundary import HostBoundary
from hfr_bench.model.breakage import DIALECT
from hfr_bench.model.schedule import KindSpec
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.injector import Scene

__all__ = ["DIALECT", "EnvironmentInjector"]


class EnvironmentInjector:
    """Breaks containers. It never retries and never decides.

    It must be the innermost injector: what it wraps is the recorder of the truth itself.
    Trials of several threads share it; each thread heals its own.
    """

    def __init__(self, specs: Mapping[str, KindSpec] | None = None) -> None:
        self._specs = content.kinds() if specs is None else specs
        self._own = threading.local()

    def kinds(self) -> frozenset[str]:
        return frozenset(name for name, spec in self._specs.items() if DIALECT in spec.wire)

    def wrap(self, inner: CallPort, scene: Scene) -> CallPort:
        """The port itself where the schedule breaks nothing, or a boundary around it."""
        ours = self.kinds()
        if not any(event.kind in ours for event in scene.cursor.events):
            return inner
        boundary = HostBoundary.around(inner, scene)
        self._standing.append(boundary)
        return boundary

    def heal(self) -> None:
        """Mend every container of the calling thread's trials; what is late lands before grading.

        Raises what the world raises, once all has been tried.
        """
        standing = self._standing
        with ExitStack() as healing:
            while standing:
                healing.callback(standing.pop().end)

    @property
    def _standing(self) -> list[HostBoundary]:
        found: list[HostBoundary] = self._own.__dict__.setdefault("boundaries", [])
        return found
