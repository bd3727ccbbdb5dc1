"""What can be broken in a tool's own container, from outside, while its real call runs: as data.

A member of the `Wire` union (`model.schedule`), for the dialect `host`. Nothing is faked: what the
client sees is what the tool's host answers under the fault, or that it does not answer in time.
"""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from hfr_bench.model.record import Record

DIALECT = "host"
"""The key in a kind's `wire` under which a breakage stands."""


_DAY_S = 86_400


class Breakage(StrEnum):
    """What is broken. A suite says which of them its world survives (`ports.exposure`).

    - pause: the whole container is frozen before the call arrives; thawed, it carries it out.
    - stall: the call's process is stopped in the midst of its work; let go, it goes on.
    - crash: the call's process is killed in the midst of its work; what it has done stays.
    - disk_full: no block is free where the tools write.
    - oom: the memory limit is so low that the kernel kills a call that needs much.
    - partition: the service that the tools reach over the network is out of reach.
    - restart: the container was started anew before the call arrived: its processes and what it
      had in memory are gone, what it keeps on a volume is there.
    - index_lock: a stale `.git/index.lock` lies in the tools' repository until somebody removes it.
    - read_only: the folder where the tools write may not be written to.
    - app_killed: the program that the user works with was killed before the call arrived.
    - app_frozen: that program is stopped; what it is sent waits, and it does it once let go.
    - modal: a dialog has taken the focus, and keeps it until somebody dismisses it.
    - clock_skew: commands are told another time of day.
    """

    PAUSE = "pause"
    STALL = "stall"
    CRASH = "crash"
    DISK_FULL = "disk_full"
    OOM = "oom"
    PARTITION = "partition"
    RESTART = "restart"
    INDEX_LOCK = "index_lock"
    READ_ONLY = "read_only"
    APP_KILLED = "app_killed"
    APP_FROZEN = "app_frozen"
    MODAL = "modal"
    CLOCK_SKEW = "clock_skew"

    @property
    def halts(self) -> bool:
        """Whether a call that meets it cannot answer before it is over."""
        return self in (Breakage.PAUSE, Breakage.STALL)

    @property
    def strikes(self) -> bool:
        """Whether it is aimed at the call's own process, in the midst of its work."""
        return self in (Breakage.STALL, Breakage.CRASH)

    @property
    def once(self) -> bool:
        """Whether it befalls one call, and must be made anew for the next."""
        return self.strikes or self in _ONCE


DESKTOP = frozenset(
    (
        *(Breakage.READ_ONLY, Breakage.APP_KILLED, Breakage.APP_FROZEN),
        *(Breakage.MODAL, Breakage.CLOCK_SKEW),
    )
)
"""What befalls a desktop: its folders, its programs, its focus, its clock."""
_ONCE = (Breakage.RESTART, Breakage.INDEX_LOCK, Breakage.APP_KILLED, Breakage.MODAL)


class Break(Record):
    """The call runs for real in a container in which something is broken.

    `after_ms`: `stall` and `crash` strike so long after the call's process has begun; a call that
    is over by then is not met. `memory_mib`: the limit under `oom`. `wait_s`: on the virtual clock,
    how many real seconds a call that may yet answer is waited for before it counts as hanging.
    `offset_s`: by how much the clock is off under `clock_skew`.
    """

    type: Literal["break"] = "break"
    what: Breakage
    after_ms: int = Field(default=100, ge=0)
    memory_mib: int = Field(default=64, ge=16)
    wait_s: float = Field(default=30.0, gt=0)
    offset_s: int = Field(default=_DAY_S, exclude_if=lambda offset_s: offset_s == _DAY_S)
    forward: Literal[True] = True
