"""Importing from a checkout, lightly, and telling which one it is.

A package of a checkout is entered without its `__init__`, which would import the whole benchmark
(runners, models); and what its modules import without anything here ever calling it is replaced by
an empty stand-in.
"""

import hashlib
import re
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

VERSION = re.compile(r"""^\s*version\s*=\s*["']([^"']+)["']""", re.MULTILINE)


def stand_in(name: str, **attributes: Any) -> None:
    """An empty module of this name, unless it is imported already."""
    if name not in sys.modules:
        module = types.ModuleType(name)
        vars(module).update(attributes)
        sys.modules[name] = module


def enter(name: str, folder: Path) -> None:
    """Import the modules of package `name` from `folder`, whatever is installed by that name."""
    stand_in(name, __path__=[str(folder)])


def version_of(checkout: Path, manifest: str, patterns: Iterable[str]) -> str:
    """The version that the manifest states, and a digest of the files that matter (path and bytes).

    Not the commit: a work tree may be edited. 12 hex digits, as in `1.0.1+0123456789ab`.
    """
    try:
        stated = VERSION.search((checkout / manifest).read_text(encoding="utf-8"))
    except OSError:
        stated = None
    seen = hashlib.sha256()
    for path in sorted(path for pattern in patterns for path in checkout.glob(pattern)):
        seen.update(f"{path.relative_to(checkout).as_posix()}\0".encode())
        seen.update(hashlib.sha256(path.read_bytes()).digest())
    return f"{stated[1] if stated else 'unknown'}+{seen.hexdigest()[:12]}"
