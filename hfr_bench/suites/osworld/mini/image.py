"""What the image of desk_mini is made of, and how its desks are started, there and here."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from hfr_bench.ports.sandbox import HostCommand, ImageSpec
from hfr_bench.shell import client
from hfr_bench.suites.osworld.mini.catalog import folder

FIXED: Mapping[str, str] = MappingProxyType(
    {
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PAGER": "cat",
        "COLUMNS": "80",
        "PYTHONHASHSEED": "0",
    }
)
"""What commands find in their environment, so that trials can be compared."""


def image_spec() -> ImageSpec:
    """The project's base image with a place to work in."""
    return ImageSpec("desk_mini", (folder() / "Dockerfile").read_text(encoding="utf-8"))


def command(contained: bool) -> HostCommand:
    """In a container whose home folder outlives a restart, or as a child of ours."""
    if contained:
        return client.command(image_spec(), env=FIXED, persists=True)
    here = str(Path(sys.executable).parent)
    path = os.pathsep.join((here, os.environ.get("PATH", os.defpath)))
    return client.command(None, env={**FIXED, "PATH": path, "PYTHONPATH": ""})
