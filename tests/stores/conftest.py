"""A real PostgreSQL server for the tests of this folder, where its programs are installed."""

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hfr_bench.testing.ports import reserved_port

_CONFIG = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = ''
fsync = off
max_connections = 30
"""


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server of our own on loopback; stopped and forgotten afterwards."""
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL server here (Debian, Ubuntu: apt-get install postgresql)")
    user = _user()
    home = Path(tempfile.mkdtemp(prefix="hfr-postgres-"))
    try:
        if user is not None:
            os.chown(home, user, -1)
        yield from _server(programs, user, home)
    finally:
        shutil.rmtree(home)


def _server(programs: Path, user: int | None, home: Path) -> Iterator[str]:
    """PostgreSQL refuses to run as root: as root, everything is started as another user."""
    data, word = home / "data", secrets.token_hex(8)
    password, log = home / "password", home / "log"
    password.write_text(word)
    password.chmod(0o644)

    def run(*argv: str | Path) -> None:
        done = subprocess.run(
            argv, user=user, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        assert done.returncode == 0, done.stdout.decode() + (
            log.read_text() if log.exists() else ""
        )

    run(
        *(programs / "initdb", "-D", data, "-U", "hfr", "-A", "scram-sha-256", "-N"),
        *(f"--pwfile={password}", "-E", "UTF8", "--locale=C"),
    )
    # pg_ctl's children must not hold a pipe of ours, so what they say goes to the log.
    ctl = (programs / "pg_ctl", "-D", data, "-w", "-s", "-t", "200", "-l", log)
    with reserved_port() as port:
        with (data / "postgresql.conf").open("a") as config:
            config.write(_CONFIG.format(port=port))
        run(*ctl, "start")
    try:
        yield f"postgresql://hfr:{word}@127.0.0.1:{port}/postgres"
    finally:
        run(*ctl, "-m", "immediate", "stop")


def _programs() -> Path | None:
    """The folder with `initdb` and `pg_ctl`: the newest installed, or on the path."""
    installed = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = sorted(installed, key=lambda path: int(path.parts[-3]))[-1:]
    found = newest or [Path(there).resolve() for there in [shutil.which("initdb")] if there]
    return found[0].parent if found and (found[0].parent / "pg_ctl").exists() else None


def _user() -> int | None:
    """Who shall run the server; None = ourselves."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name: entry.pw_uid for entry in pwd.getpwall()}
    return names.get("postgres", names["nobody"])
