"""The folders that commands may write to: emptied, and digested to tell one state from another."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


def empty(folders: Mapping[Path, int]) -> None:
    """Remove all that can be removed below the folders, and give them back their modes.

    No error: whoever asks looks for what is left.
    """
    below: list[Path] = []
    for folder, mode in folders.items():
        with contextlib.suppress(OSError):
            if stat.S_IMODE(folder.stat().st_mode) != mode:
                folder.chmod(mode)
    waiting = list(folders)
    while waiting:
        for path in _in(waiting.pop()):
            with contextlib.suppress(OSError):
                if path.is_dir() and not path.is_symlink():
                    waiting.append(path)
                    below.append(path)
                    path.chmod(0o700)
                else:
                    path.unlink()
    for folder in reversed(below):
        with contextlib.suppress(OSError):
            folder.rmdir()


def digest(paths: Iterable[Path]) -> str:
    """SHA-256 over path, mode and bytes of all that lies at and below the paths.

    Raises OSError for what cannot be read. Of a link the name of its target counts; pipes, sockets
    and devices have no bytes.
    """
    state, waiting = hashlib.sha256(), sorted(paths, reverse=True)
    while waiting:
        path = waiting.pop()
        mode = path.lstat().st_mode
        content = hashlib.sha256()
        if stat.S_ISDIR(mode):
            waiting += sorted(path.iterdir(), reverse=True)
        elif stat.S_ISLNK(mode):
            content.update(os.fsencode(os.readlink(path)))  # noqa: PTH115 - Python 3.8
        elif stat.S_ISREG(mode):
            with path.open("rb") as file:
                while chunk := file.read(1 << 20):
                    content.update(chunk)
        state.update(f"{os.fsencode(path)!r} {mode:o} {content.hexdigest()}\n".encode())
    return state.hexdigest()


def tree(home: Path, names: Iterable[str], leave_out: Iterable[str]) -> dict[str, str]:
    """Mode and SHA-256 of each file at and below the names, by its path below `home`.

    A name may be an absolute path elsewhere; so are the paths below it then.

    Folders count by what is in them; what is not there has no row. `leave_out`: names of files and
    folders that do not count, wherever they lie below the given names.
    """
    rows: dict[str, str] = {}
    hidden, waiting = set(leave_out), [home / name for name in names]
    while waiting:
        path = waiting.pop()
        with contextlib.suppress(FileNotFoundError):
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                waiting += [below for below in path.iterdir() if below.name not in hidden]
                continue
            content = b""
            if stat.S_ISLNK(mode):
                content = os.fsencode(os.readlink(path))  # noqa: PTH115 - Python 3.8
            elif stat.S_ISREG(mode):
                content = path.read_bytes()
            name = path.relative_to(home) if home in path.parents else path
            rows[name.as_posix()] = f"{mode:o} {hashlib.sha256(content).hexdigest()}"
    return rows


def _in(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
