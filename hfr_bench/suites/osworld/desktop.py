"""A desktop: a guest that is started in a sandbox, or somebody's own that is reached over HTTP.

    Desktop ── Guest ── JSON lines over stdio ──→ guest/server.py ──→ commands, files, screen

A container has no network: only who started it reaches it. Who needs an address, as OSWorld's own
client does, puts a `Tunnel` (`tunnel.py`) before it.
"""

import sys
import time
from dataclasses import replace

from hfr_bench.errors import InfrastructureError
from hfr_bench.model.breakage import DESKTOP, Breakage
from hfr_bench.ports.exposure import Exposure
from hfr_bench.ports.sandbox import HostCommand, Sandbox, ToolHost
from hfr_bench.suites.osworld.client import Guest, GuestError
from hfr_bench.suites.osworld.image import GUEST, Profile, image_spec

HOME = "/home/user"
"""The user's home in every guest; in `process` it lies elsewhere and is shown as if it lay here."""
HELLO_S = 60.0
_STATE = "/sandbox/guest"
_BEARS = frozenset(
    (
        *(Breakage.PAUSE, Breakage.STALL, Breakage.CRASH, Breakage.DISK_FULL),
        Breakage.RESTART,
    )
)
_KEPT = (HOME, "/sandbox", "/run/hfr-guest")  # the last is for root alone, and stays empty
_GUI_MIB, _GUI_PIDS = 3072, 512
_POLL_S = 0.5


def command(profile: Profile, *, contained: bool) -> HostCommand:
    """How to start a guest: in a container of its image, or (`shell`) as a child process of ours.

    In a container the home and the log of operations outlive a restart.
    """
    options = ("--stdio", "--profile", str(profile))
    if not contained:
        server = str(GUEST / "server.py")
        return HostCommand(
            argv=(sys.executable, "-B", "-E", "-S", server, *options, "--home", "home/user")
        )
    made = HostCommand(
        argv=(
            *("python3", "-B", "/opt/hfr/guest/server.py", *options),
            *("--home", HOME, "--state", _STATE),
        ),
        image=image_spec(profile),
        persists=_KEPT,
    )
    if profile is Profile.GUI:
        made = replace(made, memory_mib=_GUI_MIB, pids=_GUI_PIDS)
    return made


def exposure(profile: Profile, *, app: str = "") -> Exposure:
    """What a guest in a container survives. `app`: what the task's program is known by, if any.

    Without a network there is nobody to be parted from; a screen is what has a focus, and its image
    has the library by which commands are told another time.
    """
    gui = profile is Profile.GUI
    return Exposure(
        _BEARS | DESKTOP,
        scratch=HOME,
        folder=f"{HOME}/Desktop",
        app=app if gui else "",
        clock=f"{_STATE}/clock" if gui else "",
        screen=gui,
    )


class Desktop:
    """A guest of one trial. `host` is None where it is somebody's own machine."""

    def __init__(self, guest: Guest, host: ToolHost | None = None) -> None:
        self.guest = guest
        self.host = host

    @classmethod
    def start(cls, sandbox: Sandbox, profile: Profile, *, trial: str = "") -> "Desktop":
        """A new one, which nobody has used: from the sandbox's pool if one waits there.

        Raises InfrastructureError where the sandbox cannot have it.
        """
        if profile is Profile.GUI and not sandbox.contained:
            raise InfrastructureError(
                "a desktop with a screen needs a container: use --sandbox docker, or profile shell"
            )
        made = replace(command(profile, contained=sandbox.contained), trial=trial)
        host = sandbox.start(made)
        try:
            host.request("hello", {}, HELLO_S)
        except InfrastructureError:
            host.close()
            raise
        return cls(Guest.over(host), host)

    @classmethod
    def at(cls, url: str, *, ready_s: float = 0.0) -> "Desktop":
        """Somebody's own: a machine with OSWorld's server in it, or one of ours.

        It is not reset by us, and not ended. `ready_s`: how long it may take to answer. Raises
        BadInputError, GuestError.
        """
        guest = Guest.at(url)
        deadline = time.monotonic() + ready_s
        while True:
            try:
                guest.platform()
            except GuestError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_POLL_S)
            else:
                return cls(guest)

    def close(self) -> None:
        """End it, if it is ours; idempotent."""
        if self.host is not None:
            self.host.close()
