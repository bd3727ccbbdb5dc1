"""Where a suite's tools run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from hfr_bench.errors import InfrastructureError


class HostDiedError(InfrastructureError):
    """The tool host ended or broke its protocol. Voids the trial; the host is started anew."""


class HostTimeoutError(HostDiedError, TimeoutError):
    """The tool host did not answer in time. It has been killed."""


class HostRefusedError(InfrastructureError):
    """The tool host answered with an error of its own (`kind`); it is alive."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


@dataclass(frozen=True, slots=True)
class HostCommand:
    """How to start a tool host. `image`: the container image role, used by container sandboxes.

    `memory_mib`/`cpu_s`: limits of the whole process group; None = unlimited.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    memory_mib: int | None = None
    cpu_s: int | None = None


class ToolHost(Protocol):
    """A running tool host: JSON lines over attached stdio, one request, one answer."""

    def request(self, op: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Send one request and wait for its answer.

        Raises HostRefusedError (the host said no), HostTimeoutError, HostDiedError.
        """
        ...

    def close(self) -> None:
        """End the host and everything it started; idempotent."""
        ...


class Sandbox(Protocol):
    """Starts tool hosts. `image_id` is None where there is no image."""

    @property
    def name(self) -> str: ...

    @property
    def image_id(self) -> str | None: ...

    def start(self, command: HostCommand) -> ToolHost: ...

    def close(self) -> None: ...
