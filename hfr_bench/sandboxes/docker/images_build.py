"""One build by the engine's classic builder, from a context that is made here.

Nothing is fetched inside: Python packages are unpacked into the context from wheels for the
image's Python and the engine's architecture.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import DockerException, ImageNotFound
from urllib3.exceptions import HTTPError

from hfr_bench.errors import BadInputError, HfrError
from hfr_bench.ports.sandbox import SandboxUnavailableError
from hfr_bench.sandboxes.docker import images_cache as cache

REPOSITORY = "hfr-bench"
LABEL_IMAGE, LABEL_SPEC, LABEL_BASE, LABEL_CACHE = (
    "hfr.image",  # the role
    "hfr.spec",  # the digest of what it is made of
    "hfr.base",  # where the base comes from
    "hfr.cache",  # whose locks guard it, see images_cache.domain
)
PYTHON = "3.11"  # of the base image, and so of the wheels
NEEDED_MIB = 1024
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}  # Go's names -> Python's
_GLIBC = ("manylinux_2_36", "manylinux_2_28", "manylinux_2_17", "manylinux2014")  # bookworm's: 2.36
_PIP_TIMEOUT_S = 900
_LINES_KEPT = 12


def labels_of(role: str, digest: str) -> dict[str, str]:
    """What every image of ours is found by."""
    return {LABEL_IMAGE: role, LABEL_SPEC: digest, LABEL_CACHE: cache.domain()}


def held_name(role: str, digest: str) -> str:
    """The name under which a process holds the image, see images_cache."""
    return f"{role}-{digest[:12]}"


@contextmanager
def engine(doing: str) -> Iterator[None]:
    """Turn what an engine's answer, a disk or a program raises into SandboxUnavailableError.

    An engine that goes away stays what it is, requests' ConnectionError or Timeout: the caller may
    have patience, and everything here can be done again.
    """
    try:
        yield
    except (HfrError, requests.ConnectionError, requests.Timeout):
        raise
    except HTTPError as error:  # in the middle of an answer
        raise requests.ConnectionError(str(error)) from error
    except (DockerException, OSError, subprocess.TimeoutExpired) as error:
        said = getattr(error, "explanation", None) or error
        raise SandboxUnavailableError(f"{doing}: {said}") from error


def find_image(client: docker.APIClient, name: str) -> str | None:
    """The id of the image by that tag, id or name@digest; None if the engine has none."""
    try:
        found = client.inspect_image(name)  # type: ignore[no-untyped-call]  # the stubs lack it
    except ImageNotFound:
        return None
    return str(found["Id"])


def need_image(client: docker.APIClient, tag: str) -> str:
    """The id of an image that was just made. Raises SandboxUnavailableError."""
    found = find_image(client, tag)
    if found is None:
        raise SandboxUnavailableError(f"{tag} was made and is gone: who removes images?")
    return found


def machine(client: docker.APIClient) -> str:
    """The engine's architecture as Python calls it. Raises SandboxUnavailableError if unknown."""
    arch = str(client.version()["Arch"])
    if arch not in _MACHINES:
        raise SandboxUnavailableError(
            f"the engine runs on {arch}; images can be made for {', '.join(_MACHINES)}"
        )
    return _MACHINES[arch]


def check_room(client: docker.APIClient, needed_mib: int = NEEDED_MIB) -> None:
    """Raises SandboxUnavailableError if the engine's disk, where it can be seen, is too full."""
    where = Path(client.info()["DockerRootDir"])
    if client.base_url == "http+docker://localhost" and where.exists():  # a socket, no VM behind it
        check_free(where, needed_mib)


def check_free(where: Path, needed_mib: int = NEEDED_MIB) -> None:
    """Raises SandboxUnavailableError unless an image has room on the disk of that folder."""
    free = shutil.disk_usage(where).free >> 20
    if free < needed_mib:
        raise SandboxUnavailableError(
            f"{where} has {free} MiB left, an image needs {needed_mib}: "
            "free some (`docker system df` shows what the engine keeps)"
        )


def build(
    client: docker.APIClient,
    tag: str,
    dockerfile: str,
    labels: Mapping[str, str],
    context: Iterable[tuple[str, Path]] = (),
) -> str:
    """Build and tag an image; returns its id. `context`: (path in the context, file here).

    Raises SandboxUnavailableError with the builder's last lines.
    """
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            for name, path in context:
                _add(tar, name, path)
            with tempfile.NamedTemporaryFile() as text:
                text.write(dockerfile.encode())
                text.flush()
                _add(tar, "Dockerfile", Path(text.name))
        file.seek(0)
        rows = client.build(
            fileobj=file,
            custom_context=True,
            tag=tag,
            labels=dict(labels),
            rm=True,
            forcerm=True,
            decode=True,
            network_mode="none",
            use_config_proxy=False,
        )
        follow(rows, f"building {tag}")
    return need_image(client, tag)


def follow(rows: Iterable[Mapping[str, Any]], doing: str) -> None:
    """Read an engine's progress to its end. Raises SandboxUnavailableError if it tells an error."""
    last: deque[str] = deque(maxlen=_LINES_KEPT)
    for row in rows:
        if "error" in row:
            raise SandboxUnavailableError("\n".join((f"{doing}: {row['error']}", *last)))
        last += str(row.get("stream", "")).strip().splitlines()


def context_of(files: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    """Each regular file by its path in the context, sorted; no caches, no version control.

    Raises BadInputError for what is not there.
    """
    for name, path in sorted(files.items()):
        if path.is_file():
            yield name, path
        elif not path.is_dir():
            raise BadInputError(f"{path}: needed in a container image as {name}, and not there")
        else:
            yield from _files_in(name, path)


def _files_in(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and not {"__pycache__", ".git"} & set(inside.parts):
            yield f"{name}/{inside.as_posix()}", path


def unpack_wheels(requirements: Path, for_machine: str, into: Path) -> None:
    """Install pinned packages into a folder, for the image's Python. Uses pip and its cache.

    Raises SandboxUnavailableError with the end of what pip said.
    """
    target = ["--python-version", PYTHON, "--implementation", "cp", "--only-binary=:all:"]
    for glibc in _GLIBC:
        target += ["--platform", f"{glibc}_{for_machine}"]
    quiet = ["--quiet", "--no-input", "--no-compile", "--disable-pip-version-check"]
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(into)]
    done = subprocess.run(
        [*install, *target, *quiet, "-r", str(requirements)],
        capture_output=True,
        text=True,
        check=False,
        timeout=_PIP_TIMEOUT_S,
        env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore", "PIP_USER": "0"},
    )
    if done.returncode:
        said = "\n".join(done.stderr.strip().splitlines()[-_LINES_KEPT:])
        raise SandboxUnavailableError(
            f"the packages of {requirements} could not be fetched with {sys.executable} -m pip "
            f"(an index that pip can reach is needed once):\n{said}"
        )


def _add(tar: tarfile.TarFile, name: str, path: Path) -> None:
    """A file as everybody may read it: owner, times and permissions here do not matter there."""
    info = tarfile.TarInfo(name)
    info.size = path.stat().st_size
    info.mode = 0o644
    with path.open("rb") as data:
        tar.addfile(info, data)
