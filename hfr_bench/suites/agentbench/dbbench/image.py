"""What the databases' container images are made of, and how a host is started, there and here."""

import sys
from pathlib import Path

from hfr_bench.ports.sandbox import HostCommand, ImageSpec
from hfr_bench.suites.agentbench.dbbench.catalog import UPSTREAM, folder

HOST = Path(__file__).parent / "host"
SQLITE, MARIADB = "sqlite", "mariadb"
ENGINES = (SQLITE, MARIADB)
PACKAGES = ("mariadb-client-core", "mariadb-server-core")
_PROGRAMS = {SQLITE: "main.py", MARIADB: "with_mariadb.py"}


def command(suite: str, engine: str, contained: bool) -> HostCommand:
    """How to start a host: in a container of the suite's image, or as a child of ours (SQLite)."""
    program = _PROGRAMS[engine]
    if contained:
        argv = ("python3", "-B", f"/opt/hfr/host/{program}")
        return HostCommand(argv=argv, image=image_spec(suite, engine))
    return HostCommand(argv=(sys.executable, "-B", "-E", "-S", str(HOST / program)))


def image_spec(suite: str, engine: str) -> ImageSpec:
    """Our host on the project's base image; with MariaDB, on one that has its server."""
    files, ours = {"host": HOST}, folder(UPSTREAM)
    if engine == SQLITE:
        return ImageSpec(suite, (ours / "Dockerfile").read_text("utf-8"), files)
    text = (ours / "mariadb.Dockerfile").read_text("utf-8")
    requirements = ours / "requirements.txt"
    return ImageSpec(f"{suite}-{engine}", text, files, requirements=requirements, packages=PACKAGES)
