"""What the container image of the desk is made of, and how its host is started, there and here."""

import sys
from pathlib import Path

from hfr_bench import content
from hfr_bench.ports.sandbox import HostCommand, ImageSpec

HOST = Path(__file__).parent / "host"


def host_command() -> HostCommand:
    """As a child process: by our own Python, of which it needs the standard library alone."""
    return HostCommand(argv=(sys.executable, "-B", "-E", "-S", str(HOST / "main.py")))


def contained_command() -> HostCommand:
    """In a container of the suite's image."""
    return HostCommand(argv=("python3", "-B", "/opt/hfr/host/main.py"), image=image_spec())


def image_spec() -> ImageSpec:
    """Our host on the project's base image."""
    dockerfile = content.root() / "suites" / "shopdesk" / "Dockerfile"
    return ImageSpec("shopdesk", dockerfile.read_text(encoding="utf-8"), {"host": HOST})
