"""Where a suite's tools run.

A sandbox starts tool hosts: programs that answer JSON lines over attached stdio. Everything it
makes (containers, networks, volumes, processes) is labelled with the run it belongs to and the
process that owns it, so that it can be found again after any death, and nobody else's is touched.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from hfr_bench.errors import InfrastructureError


class SandboxUnavailableError(InfrastructureError):
    """The sandbox itself is gone (no engine, no disk, no image): no trial can run, so none is void.

    Ends the run with exit code 3; what was finished is kept.
    """


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
class SandboxContext:
    """What every sandbox plug is made with.

    `run`: the experiment in its directory on this machine (label `hfr.run`); `owner`: this process
    (label `hfr.owner`, see `hfr_bench.owner`); `tell`: takes a line for the user about long work.
    """

    run: str
    owner: str
    tell: Callable[[str], None] = field(default=lambda _line: None, compare=False)


@dataclass(frozen=True, slots=True)
class ImageSpec:
    """What a container image is made of; its name is a digest of all of it.

    `dockerfile` starts with `FROM base` (the project's base image) and copies from a build context:
    `files` (path in the context -> file or folder here) and, where `requirements` names a file of
    pinned packages, `site/` with those packages unpacked (wheels are fetched here, not inside).
    """

    role: str
    dockerfile: str
    files: Mapping[str, Path] = field(default_factory=dict)
    requirements: Path | None = None


@dataclass(frozen=True, slots=True)
class HostCommand:
    """How to start a tool host. `image`: what to run it in, for container sandboxes.

    `memory_mib`/`cpu_s`: limits of the whole host; None = the sandbox's own. In a container: `user`
    is uid:gid; `keeps` the few Linux capabilities it keeps (by default none); `network` None = none
    at all, else an internal network of this run by that name, on which the host answers to `alias`;
    `trial` the trial it is started for, "" = shared by trials in turn.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    image: ImageSpec | None = None
    memory_mib: int | None = None
    cpu_s: int | None = None
    user: str = "1000:1000"
    keeps: tuple[str, ...] = ()
    network: str | None = None
    alias: str = ""
    trial: str = ""


class ToolHost(Protocol):
    """A running tool host: JSON lines over attached stdio, one request, one answer."""

    def request(self, op: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Send one request and wait for its answer.

        Raises HostRefusedError (the host said no), HostTimeoutError, HostDiedError.
        """
        ...

    def close(self) -> None:
        """End the host and everything it started; idempotent, callable from any thread."""
        ...


@dataclass(frozen=True, slots=True)
class Pause:
    """Freeze processes: those whose command line contains `match`; "" = the whole host."""

    match: str = ""


@dataclass(frozen=True, slots=True)
class Kill:
    """SIGKILL processes: those whose command line contains `match`; "" = the whole host."""

    match: str = ""


@dataclass(frozen=True, slots=True)
class Limit:
    """Tighten the host's limits while it runs; None = as it is."""

    memory_mib: int | None = None
    cpus: float | None = None
    pids: int | None = None


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Take the host off its network."""


@dataclass(frozen=True, slots=True)
class FillDisk:
    """Fill the host's scratch space at `path`, all but `leave_kib`."""

    path: str = "/tmp"  # noqa: S108 - inside the container
    leave_kib: int = 0


HostFault = Pause | Kill | Limit | Disconnect | FillDisk


class FaultyHost(ToolHost, Protocol):
    """A tool host in which faults can be made, from outside and in its own container."""

    def inflict(self, fault: HostFault) -> None:
        """Make the fault, and return when it is in force."""
        ...

    def heal(self) -> None:
        """Undo every fault that can be undone; idempotent. What was killed stays dead."""
        ...


class Sandbox(Protocol):
    """Starts tool hosts. `contained`: hosts run in containers, so `image` counts, not our paths.

    `image_id`: of the image its hosts run in; None where there is none.
    """

    @property
    def name(self) -> str: ...

    @property
    def contained(self) -> bool: ...

    @property
    def image_id(self) -> str | None: ...

    def start(self, command: HostCommand) -> ToolHost:
        """Start a host. Raises HostDiedError, SandboxUnavailableError."""
        ...

    def reap(self) -> tuple[str, ...]:
        """Remove what dead owners of this run have left; returns the names of what is gone."""
        ...

    def close(self) -> None:
        """End every host it started; idempotent, callable from any thread (an interrupt does)."""
        ...
