"""What the image of web_mini is made of, and how its host is started, there and here."""

import sys
from pathlib import Path

from hfr_bench.ports.sandbox import HostCommand, ImageSpec
from hfr_bench.suites.webarena.mini.content import folder

HOST = Path(__file__).parent / "host"


def command(contained: bool) -> HostCommand:
    """In a container of the image, or as a child process by our own Python's standard library."""
    if contained:
        return HostCommand(argv=("python3", "-B", "/opt/hfr/host/main.py"), image=image_spec())
    return HostCommand(argv=(sys.executable, "-B", "-E", "-S", str(HOST / "main.py")))


def image_spec() -> ImageSpec:
    """Our host on the project's base image."""
    text = (folder() / "Dockerfile").read_text(encoding="utf-8")
    return ImageSpec("web_mini", text, {"host": HOST})
