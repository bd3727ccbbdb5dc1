"""Where a suite's tools run.

A sandbox starts tool hosts: programs that answer JSON lines over attached stdio. Everything it
makes (containers, networks, volumes, processes) is labelled with the run it belongs to and the
process that owns it, so that it can be found again after any death, and nobody else's is touched.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

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
    `packages`: of Debian, which the base is to hold besides its own.

    An image that others make, too: `names` are those under which it is taken as it is if the engine
    has it, and else pulled, the first that a registry gives. What is built then is named by
    `identity` in place of its files' bytes, which differ each time they are made: by `fill`, which
    writes them into an empty folder and names the top of each. Where that is None, nothing is
    built, and `lacking` says what to do. `needs_mib`: of the engine's disk, at most.
    """

    role: str
    dockerfile: str
    files: Mapping[str, Path] = field(default_factory=dict)
    requirements: Path | None = None
    packages: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    identity: str = ""
    fill: Callable[[Path], None] | None = field(default=None, compare=False)
    lacking: str = field(default="", compare=False)
    needs_mib: int = field(default=1024, compare=False)


@dataclass(frozen=True, slots=True)
class HostCommand:
    """How to start a tool host. `image`: what to run it in, for container sandboxes.

    `memory_mib`/`cpu_s`: limits of the whole host; None = the sandbox's own. In a container, so are
    `pids` and `cpus`; `user` is uid:gid; `keeps` the few Linux capabilities it keeps (by default
    none); `network` None = none at all, else an internal network of this run by that name, on which
    the host answers to `alias`; `trial` the trial it is started for, "" = shared by trials in turn;
    `writable`: its whole root may be written to, so that it serves once; `persists` the folders
    that outlive a restart of the container, each on a volume of its own in memory (all else that is
    writable does not); the last of several is for root alone.
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
    writable: bool = False
    persists: tuple[str, ...] = ()
    pids: int | None = None
    cpus: float | None = None


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
    """Freeze processes: those whose command line contains `match`; "" = the whole host.

    `after_ms` None: those that are there. Else nobody need be there yet: a watch is set, and
    strikes so long after the first of them has appeared. Takes Python in the host's image.
    `hold`: a file that is there meanwhile, for root to make; a process that finds it and stops
    itself is struck at once, so that none is over before.
    """

    match: str = ""
    after_ms: int | None = None
    hold: str = ""


@dataclass(frozen=True, slots=True)
class Kill:
    """SIGKILL processes: those whose command line contains `match`; "" = the whole host.

    `after_ms`, `hold`: as for Pause.
    """

    match: str = ""
    after_ms: int | None = None
    hold: str = ""


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
class Partition:
    """Put one peer out of the host's reach: whom it calls `peer`, at `port` (0: altogether).

    What is sent there is dropped without a word. Where the sandbox cannot part two hosts the whole
    host goes off its network instead, which `HostState.cut` tells.
    """

    peer: str
    port: int = 0


@dataclass(frozen=True, slots=True)
class FillDisk:
    """Fill the host's scratch space at `path`, all but `leave_kib`."""

    path: str = "/tmp"  # noqa: S108 - inside the container
    leave_kib: int = 0


@dataclass(frozen=True, slots=True)
class Restart:
    """Start the host anew, between two requests. What `HostCommand.persists` names is kept."""


@dataclass(frozen=True, slots=True)
class LeaveFile:
    """Leave an empty file at `path`, of the owner of the folder in which it lies.

    It stays until somebody removes it, or everything is healed.
    """

    path: str


@dataclass(frozen=True, slots=True)
class Protect:
    """Take everybody's right to write in the folder at `path`; its owner may give it back."""

    path: str


@dataclass(frozen=True, slots=True)
class KillApp:
    """SIGKILL those whose command line contains `match`, if there are any."""

    match: str


@dataclass(frozen=True, slots=True)
class StopApp:
    """Stop those whose command line contains `match`, if there are any."""

    match: str


@dataclass(frozen=True, slots=True)
class ShowModal:
    """Show a dialog with that title, which has the focus. It stays until somebody dismisses it."""

    title: str = "Software Updater"


@dataclass(frozen=True, slots=True)
class SkewClock:
    """Have commands told another time: by `offset_s`, which is written into the file at `path`."""

    path: str
    offset_s: int


HostFault = (
    Pause
    | Kill
    | Limit
    | Disconnect
    | Partition
    | FillDisk
    | Restart
    | LeaveFile
    | Protect
    | KillApp
    | StopApp
    | ShowModal
    | SkewClock
)


@dataclass(frozen=True, slots=True)
class HostState:
    """A host as it is, read from outside it and not from what was ordered.

    `watched`: a watch was set and strikes, or has struck. `struck`: how many processes it hit.
    `at_work`, `stopped`: processes that were asked for, and those of them that are halted.
    `free_kib`: of the scratch space. `oom_kills`: by the kernel, so far. Both None where the whole
    host is frozen. `cut`: peers out of reach, `address:port`; `*` is everybody. `restarted`: it was
    started anew since the fault that stands was ordered. `left`: a file that a fault has left lies
    there still. `protected`: the folder may not be written to. `app`: how many processes of the
    user's program the last fault of it hit (None: there was none), `app_stopped`: how many of the
    program's are halted. `modal`: the dialog that was shown is there. `skew_s`: by how much the
    time that commands are told is off.
    """

    paused: bool = False
    watched: bool = False
    struck: int = 0
    at_work: int = 0
    stopped: int = 0
    memory_mib: int = 0
    free_kib: int | None = None
    oom_kills: int | None = None
    cut: tuple[str, ...] = ()
    restarted: bool = False
    left: bool = False
    protected: bool = False
    app: int | None = None
    app_stopped: int = 0
    modal: bool = False
    skew_s: int = 0


class FaultyHost(ToolHost, Protocol):
    """A tool host in which faults can be made, from outside and in its own container.

    `patience_s`: how much longer than asked a request may take while a fault stands; 0 at first.
    """

    patience_s: float

    @property
    def standing(self) -> bool:
        """Whether a fault was made that is not undone yet."""
        ...

    def inflict(self, fault: HostFault) -> None:
        """Make the fault, and return when it is in force."""
        ...

    def heal(self, *, everything: bool = True) -> None:
        """Undo every fault that can be undone; idempotent. What was killed stays dead.

        Not `everything`: files that were left stay. Callable from any thread.
        """
        ...

    def look(self, path: str, match: str) -> HostState:
        """The host's state: of the scratch space at `path`, and of processes that `match`."""
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


@runtime_checkable
class Images(Protocol):
    """A sandbox whose images can be asked for by themselves; contained ones are."""

    def image_there(self, spec: ImageSpec) -> str | None:
        """The id of the spec's image if the engine has one; nothing is fetched or made.

        Raises SandboxUnavailableError.
        """
        ...

    def make_image(self, spec: ImageSpec) -> str:
        """The id of the spec's image: there, pulled or built. Raises SandboxUnavailableError."""
        ...
