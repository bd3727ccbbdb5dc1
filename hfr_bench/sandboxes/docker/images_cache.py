"""The user's cache folder, and the locks in it that let several processes share one engine.

Locks are `flock`s on empty files that are never removed: the kernel lets go of them however a
process ends. They reach as far as the folder does; `domain` names that reach.
"""

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_held: dict[str, int] = {}


def folder() -> Path:
    """$XDG_CACHE_HOME/hfr-bench or ~/.cache/hfr-bench, made if missing. Raises OSError."""
    found = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "hfr-bench"
    found.mkdir(parents=True, exist_ok=True)
    return found


def domain() -> str:
    """Whose processes see each other's locks: those of this machine with this cache folder."""
    return f"{platform.node()}:{folder()}"


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Wait for, then hold, the lock by that name: one process at a time is inside."""
    fd = _open(f"{name}.alone")
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def hold(name: str) -> None:
    """Say that this process needs the thing by that name, until it ends. Idempotent."""
    if name not in _held:
        fd = _open(f"{name}.held")
        fcntl.flock(fd, fcntl.LOCK_SH)
        _held[name] = fd


@contextmanager
def unheld(name: str) -> Iterator[bool]:
    """Whether no living process holds the thing; if so, none begins to while the block runs."""
    fd = _open(f"{name}.held")
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(fd)


def _open(name: str) -> int:
    locks = folder() / "locks"
    locks.mkdir(exist_ok=True)
    return os.open(locks / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
