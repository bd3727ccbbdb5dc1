"""What the shells' images are made of, and how their hosts are started, there and here."""

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from hfr_bench.ports.sandbox import HostCommand, ImageSpec
from hfr_bench.shell import client
from hfr_bench.suites.agentbench.os_interaction.catalog import OWN, folder

PACKAGES = ("bc", "bsdextrautils", "curl", "file", "git", "procps", "tree", "unzip", "wget", "zip")
"""What upstream's image has beside a bare system, as far as Debian has it and tasks use it."""
RIGHTS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")
"""What root is left with: upstream's tasks are root's, with users and files of their own."""

_FIXED: Mapping[str, str] = MappingProxyType(
    {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PAGER": "cat", "COLUMNS": "80", "PYTHONHASHSEED": "0"}
)


def image_spec(suite: str) -> ImageSpec:
    """Our own pack on the project's base; upstream's tasks with packages of Debian."""
    text = (folder(suite) / "Dockerfile").read_text(encoding="utf-8")
    return ImageSpec(suite, text, packages=() if suite == OWN else PACKAGES)


def command(suite: str, contained: bool) -> HostCommand:
    """How to start a shell host: in a container of the suite's image, or as a child of ours.

    Of upstream's tasks each has a container of its own, whose whole root may be written to.
    """
    if not contained:
        here = str(Path(sys.executable).parent)
        path = os.pathsep.join((here, os.environ.get("PATH", os.defpath)))
        return client.command(None, env={**_FIXED, "PATH": path, "PYTHONPATH": ""})
    if suite == OWN:
        return client.command(image_spec(suite), env=_FIXED)
    made = client.command(image_spec(suite), user="0:0", env=_FIXED, memory_mib=1024)
    return replace(made, keeps=RIGHTS, writable=True)
