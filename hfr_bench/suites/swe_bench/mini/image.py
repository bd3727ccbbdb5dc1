"""What the image of swe_mini is made of, and how its shell hosts are started, there and here."""

import os
import sys
from pathlib import Path

from hfr_bench.ports.sandbox import HostCommand, ImageSpec
from hfr_bench.shell import client
from hfr_bench.suites.swe_bench.mini.catalog import folder
from hfr_bench.suites.swe_bench.room import FIXED

PACKAGES = ("git", "patch")

_FIXED = {
    **FIXED,
    "GIT_CONFIG_GLOBAL": "/dev/null",  # nobody's own settings
    "GIT_CONFIG_NOSYSTEM": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}


def image_spec() -> ImageSpec:
    """git, patch and pytest on the project's base."""
    text = (folder() / "Dockerfile").read_text(encoding="utf-8")
    requirements = folder() / "requirements.txt"
    return ImageSpec("swe_mini", text, requirements=requirements, packages=PACKAGES)


def command(contained: bool, *, persists: bool = False) -> HostCommand:
    """How to start a shell host: in a container of the image, or as a child of ours.

    `persists`: the repository outlives a restart of its container.
    """
    if contained:
        return client.command(image_spec(), env=_FIXED, persists=persists)
    here = str(Path(sys.executable).parent)
    path = os.pathsep.join((here, os.environ.get("PATH", os.defpath)))
    return client.command(None, env={**_FIXED, "PATH": path, "PYTHONPATH": ""})
