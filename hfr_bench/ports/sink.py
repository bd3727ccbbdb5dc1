"""Where trace events go: one file, one writer."""

from typing import Protocol

from hfr_bench.model.trace import Body


class Sink(Protocol):
    """Appends one event; the writer adds sequence, clocks and the hash of the line before."""

    def write(self, body: Body, *, step: int = 0, attempt: int = 0) -> None: ...
