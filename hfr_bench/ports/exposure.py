"""What of a suite's tool host may be broken from outside, and how an injector gets at that host.

Both protocols are optional. A suite that says nothing bears nothing: a host that keeps its state in
its own memory, say, does not survive its own death, and then there would be nothing to grade.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from hfr_bench.model.breakage import Breakage
from hfr_bench.ports.sandbox import FaultyHost


@dataclass(frozen=True, slots=True)
class Exposure:
    """What a suite's world survives, so that it can be graded after it.

    `bears`: who bears `stall` or `crash` promises that a call's processes, and nobody else's, have
    its `mark` in their command lines; who bears `disk_full` that what tools write needs room in
    `scratch`; who bears `partition` that a tool reaches `peer` (a name on the host's network) at
    `port` (0: any); who bears `restart` that what the world is graded by, and what its host has
    noted of calls, lies in what its `HostCommand.persists`; who bears `index_lock` that tools work
    in the git repository `repository`; who bears `read_only` that tools write in `folder`; who
    bears `app_killed` or `app_frozen` that `app` is in the command lines of the user's program and
    of nobody else; who bears `modal` that there is a screen with a window manager; who bears
    `clock_skew` that commands are told by the time that the file `clock` says. Under all of them
    tools answer in words, and the world stays readable.

    `holds`: a folder of the host's. Whoever names one promises that a call which finds a file there
    that is called as its `mark` stops itself (SIGSTOP) when its work is done, before it ends: so a
    `stall` or a `crash` strikes every call, a short one at that moment, and one that lasts in its
    midst, `held_ms` after it has begun, whatever the kind says.
    """

    bears: frozenset[Breakage] = frozenset()
    scratch: str = "/sandbox"
    peer: str = ""
    port: int = 0
    repository: str = ""
    holds: str = ""
    held_ms: int = 5000
    folder: str = ""
    app: str = ""
    clock: str = ""
    screen: bool = False

    def __post_init__(self) -> None:
        """Nobody bears on a desktop what he does not name."""
        named = {
            Breakage.READ_ONLY: self.folder,
            Breakage.APP_KILLED: self.app,
            Breakage.APP_FROZEN: self.app,
            Breakage.MODAL: self.screen,
            Breakage.CLOCK_SKEW: self.clock,
        }
        object.__setattr__(self, "bears", self.bears - {one for one in named if not named[one]})


def mark(operation_id: str) -> str:
    """What a call's processes are known by: no call's is part of another one's."""
    return f"hfr-call={operation_id};"


@runtime_checkable
class Bearing(Protocol):
    """A suite whose tool hosts may be broken."""

    @property
    def exposure(self) -> Exposure: ...


@runtime_checkable
class Exposed(Protocol):
    """A world whose tools work on one host, which may be broken while they do.

    `execute` may then be called by another thread than the trial's, one call at a time.
    """

    @property
    def exposure(self) -> Exposure: ...

    @property
    def host(self) -> FaultyHost: ...


@runtime_checkable
class Breaking(Protocol):
    """A sandbox whose hosts can be broken: they are `ports.sandbox.FaultyHost`s."""

    @property
    def breaks(self) -> frozenset[Breakage]: ...
