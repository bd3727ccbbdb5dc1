"""Who made a container or a process: this process, nameable, and told from one that is no more.

A pid alone is not enough: pids are reused. An owner is `host/boot/pid/start`, where `start` is the
kernel's start time of the process in clock ticks; a process of another host or boot is unknown
here. A run is an experiment in its directory on this machine: two copies of a directory are two.
"""

import hashlib
import os
import platform
import time
from functools import cache
from pathlib import Path

_PROC = Path("/proc")
_FORMED_AT = str(time.time_ns())  # where /proc does not tell, at least nobody else is hit


def this_process() -> str:
    """The owner string of this process; survives neither a fork nor a restart."""
    return f"{platform.node()}/{_boot()}/{os.getpid()}/{_start(os.getpid()) or _FORMED_AT}"


def is_gone(owner: str) -> bool:
    """Whether the owner is known to be no more. An owner of another machine is never known to be.

    A process of an earlier boot of this machine is gone.
    """
    host, _, rest = owner.partition("/")
    boot, _, process = rest.partition("/")
    pid, _, start = process.partition("/")
    if not pid.isdigit() or host != platform.node() or not (_PROC / "self").exists():
        return False
    return boot != _boot() or _start(int(pid)) != start


def run_id(folder: Path, prereg_digest: str) -> str:
    """Names an experiment in its directory on this machine, for labels: 16 hex digits."""
    try:
        machine = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        machine = ""
    parts = (machine, platform.node(), str(folder.resolve()), prereg_digest)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@cache
def _boot() -> str:
    try:
        text = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii")
    except OSError:
        return "-"
    return text.strip()[:8]


def _start(pid: int) -> str:
    """The start time of a living process, "" if there is none (a zombie counts as none)."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()  # the name before may hold blanks and brackets
    return "" if fields[0] in ("Z", "X") else fields[19]
