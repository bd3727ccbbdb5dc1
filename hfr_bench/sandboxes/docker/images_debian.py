"""A Debian root made on this machine by debootstrap, packed for `docker import`, kept in the cache.

For where no registry answers. Needs root. It runs in mount and process namespaces of its own, so
that whatever it mounts and starts is gone when it ends, and it ends with us, kill -9 included.
"""

import os
import platform
import shlex
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from hfr_bench.ports.sandbox import SandboxUnavailableError
from hfr_bench.sandboxes.docker import images_cache as cache
from hfr_bench.sandboxes.docker.images_build import check_free

# python3, not python3-minimal: that one lacks json, dataclasses, uuid, asyncio, ...
RECIPE = ("debootstrap", "minbase", "bookworm", "python3", 1)  # the last: how it is packed
_MIRROR = "http://deb.debian.org/debian"
_LEFT_OUT = (
    "dev/",
    "proc/",
    "sys/",
    "run/",
    "debootstrap/",
    "etc/hostname",  # debootstrap copies these two from here
    "etc/resolv.conf",
    "usr/share/doc/",
    "usr/share/info/",
    "usr/share/locale/",
    "usr/share/man/",
    "var/cache/",
    "var/lib/apt/lists/",
    "var/log/",
)
_CONFINED = (
    *("setpriv", "--pdeathsig", "KILL", "--"),
    *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--"),
)
# debootstrap's own resolver knows no alternatives and nothing provided by another name; apt does.
# Nothing that is installed may start: there is no init, and its mounts would hold the root.
_INSTALL = """\
set -e
root=$1; shift
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
printf '#!/bin/sh\\nexit 101\\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
chroot "$root" apt-get update -qq
chroot "$root" apt-get install -y -qq --no-install-recommends "$@"
rm "$root/usr/sbin/policy-rc.d"
"""
_SBIN = ":/usr/sbin:/sbin"
_TIMEOUT_S = 1800
_LINES_KEPT = 12


def debian_root(
    for_machine: str, name: str, tell: Callable[[str], None], packages: Sequence[str] = ()
) -> Path:
    """The packed root (a .tar.gz) in the cache, made if missing; the caller is alone.

    `packages`: of Debian, besides those of the recipe.

    Raises SandboxUnavailableError where it cannot be made, OSError.
    """
    kept = cache.folder() / f"{name}-{for_machine}.tar.gz"
    if kept.exists():
        return kept
    _check(for_machine)
    for left in cache.folder().glob("making-*"):  # by a process that was killed
        shutil.rmtree(left)
    check_free(cache.folder())
    with tempfile.TemporaryDirectory(
        prefix="making-", dir=cache.folder(), ignore_cleanup_errors=True
    ) as made:
        _get_debootstrap(tell)
        tell("making the base image with debootstrap, about a minute (once; it is cached)")
        _debootstrap(Path(made) / "root")
        if packages:
            tell(f"installing {len(packages)} packages in it with apt; hundreds of MB take minutes")
            _install(Path(made) / "root", packages)
        packed = Path(made) / "root.tar.gz"
        pack(Path(made) / "root", packed)
        packed.rename(kept)
    return kept


def pack(root: Path, into: Path) -> None:
    """Pack a root without caches, logs, documentation, devices and setuid bits."""

    def wanted(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if info.name.startswith(_LEFT_OUT) or info.isdev():
            return None
        info.mode &= 0o1777
        return info

    with tarfile.open(into, "w:gz", compresslevel=1) as tar:
        for path in sorted(root.iterdir()):
            tar.add(path, path.name, filter=wanted)


def _check(for_machine: str) -> None:
    """Raises SandboxUnavailableError, with what to do, where debootstrap cannot work."""
    why = ""
    if platform.system() != "Linux" or os.geteuid() != 0:
        why = "making one here needs root on Linux"
    elif platform.machine() != for_machine:
        why = f"one made here ({platform.machine()}) does not run on the engine ({for_machine})"
    if why:
        raise SandboxUnavailableError(
            f"no base image: no registry answers, and {why}. Name an image with Python 3.11 that "
            "the engine has or can pull in HFR_BENCH_BASE_IMAGE, or run `hfr-bench images` once "
            "as root"
        )


def _get_debootstrap(tell: Callable[[str], None]) -> None:
    """Install debootstrap where it is missing and apt is there. Raises SandboxUnavailableError."""
    if _which("debootstrap"):
        return
    apt = _which("apt-get")
    if apt is None:
        raise SandboxUnavailableError(
            "no base image: no registry answers, and debootstrap is not installed: install it, "
            "or name an image with Python 3.11 in HFR_BENCH_BASE_IMAGE"
        )
    tell("installing debootstrap with apt")
    packages = ("debootstrap", "debian-archive-keyring")
    _run((apt, "update", "-qq"))
    _run((apt, "install", "-y", "-qq", "--no-install-recommends", *packages))


def _debootstrap(root: Path) -> None:
    _, variant, suite, python, _ = RECIPE
    _run(
        (
            *_CONFINED,
            *("debootstrap", f"--variant={variant}", f"--include={python}"),
            *("--force-check-gpg", str(suite), str(root), _mirror()),
        ),
        _proxy(),
    )


def _install(root: Path, packages: Sequence[str]) -> None:
    _run((*_CONFINED, "sh", "-c", _INSTALL, "install", str(root), *packages), _proxy())


def _proxy() -> dict[str, str]:
    """The proxy that apt uses here, for debootstrap, which does not look for it itself."""
    apt = _which("apt-config")
    if apt is None:
        return {}
    argv = [apt, "shell", "http_proxy", "Acquire::http::Proxy"]
    told = subprocess.run(argv, capture_output=True, text=True, check=False)
    return dict(word.split("=", 1) for word in shlex.split(told.stdout))


def _mirror() -> str:
    """The Debian mirror that apt uses here, else Debian's own."""
    if apt := _which("apt-get"):
        argv = [apt, "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
        told = subprocess.run(argv, capture_output=True, text=True, check=False)
        for line in told.stdout.split():
            if line.startswith("http") and line.rstrip("/").endswith("/debian"):
                return line.rstrip("/")
    return _MIRROR


def _run(argv: tuple[str, ...], proxy: Mapping[str, str] = MappingProxyType({})) -> None:
    """Run a program quietly. Raises SandboxUnavailableError with the end of what it said."""
    path = os.environ.get("PATH", "") + _SBIN
    quiet = {"PATH": path, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    done = subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
        env={**proxy, **os.environ, **quiet},
    )
    if done.returncode:
        said = "\n".join(done.stdout.strip().splitlines()[-_LINES_KEPT:])
        raise SandboxUnavailableError(f"{' '.join(argv)} failed ({done.returncode}):\n{said}")


def _which(program: str) -> str | None:
    return shutil.which(program, path=os.environ.get("PATH", "") + _SBIN)
