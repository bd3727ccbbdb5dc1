"""What the databases' container image is made of, and how its host is started, there and here."""

import sys
from pathlib import Path

from hfr_bench.ports.sandbox import HostCommand, ImageSpec
from hfr_bench.suites.agentbench.dbbench.catalog import UPSTREAM, folder

HOST = Path(__file__).parent / "host"
_IN_IMAGE = "/opt/hfr/host/main.py"


def command(suite: str, contained: bool) -> HostCommand:
    """How to start a host: in a container of the suite's image, or as a child of ours."""
    if contained:
        return HostCommand(argv=("python3", "-B", _IN_IMAGE), image=image_spec(suite))
    return HostCommand(argv=(sys.executable, "-B", "-E", "-S", str(HOST / "main.py")))


def image_spec(suite: str) -> ImageSpec:
    """Our host on the project's base image."""
    dockerfile = folder(UPSTREAM) / "Dockerfile"
    return ImageSpec(suite, dockerfile.read_text(encoding="utf-8"), {"host": HOST})
