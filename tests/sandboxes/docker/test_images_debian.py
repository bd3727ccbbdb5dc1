"""A Debian root made here: what is packed, what is left behind, where it cannot be made."""

import os
import platform
import tarfile
from pathlib import Path

import pytest

from hfr_bench.ports.sandbox import SandboxUnavailableError
from hfr_bench.sandboxes.docker.images_base import base_tag
from hfr_bench.sandboxes.docker.images_debian import debian_root, pack


def a_root(folder: Path) -> Path:
    for name in ("etc/hostname", "etc/passwd", "usr/share/doc/x/copyright", "usr/bin/su"):
        path = folder / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    for name in ("dev/null", "tmp", "proc/1"):
        (folder / "root" / name).mkdir(parents=True)
    (folder / "root/usr/bin/su").chmod(0o4755)
    (folder / "root/tmp").chmod(0o1777)
    return folder / "root"


def test_a_packed_root_has_no_setuid_and_nothing_of_this_machine(tmp_path: Path) -> None:
    pack(a_root(tmp_path), tmp_path / "root.tar.gz")
    with tarfile.open(tmp_path / "root.tar.gz") as tar:
        modes = {info.name: info.mode for info in tar}
    assert modes["usr/bin/su"] == 0o755
    assert modes["tmp"] == 0o1777
    assert {"dev", "proc", "etc/passwd"} <= set(modes)
    assert not {"dev/null", "proc/1", "etc/hostname", "usr/share/doc/x"} & set(modes)


def test_where_none_can_be_made_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(SandboxUnavailableError, match="in HFR_BENCH_BASE_IMAGE"):
        debian_root("sparc", "base", print)


def test_what_is_in_the_cache_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = tmp_path / "hfr-bench" / "base-sparc.tar.gz"
    kept.parent.mkdir()
    kept.touch()
    assert debian_root("sparc", "base", print) == kept


@pytest.mark.slow
@pytest.mark.skipif(
    platform.system() != "Linux" or os.geteuid() != 0, reason="debootstrap needs root on Linux"
)
def test_a_root_is_made_and_nothing_else_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    dead = tmp_path / "hfr-bench" / "making-dead" / "root"
    dead.mkdir(parents=True)
    kept = debian_root(platform.machine(), "base", print)
    assert list(kept.parent.glob("*")) == [kept]
    with tarfile.open(kept) as tar:
        names = set(tar.getnames())
    assert {"usr/bin/python3.11", "usr/lib/python3.11/json/__init__.py"} <= names


def test_a_base_with_packages_is_another_by_name_and_by_digest() -> None:
    plain, more = base_tag(), base_tag(("patch", "git"))
    assert more.partition(":")[0] == "hfr-bench/base-git-patch"
    assert more == base_tag(("git", "patch"))
    assert more.partition(":")[2] != plain.partition(":")[2]
