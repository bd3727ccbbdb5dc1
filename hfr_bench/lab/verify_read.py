"""Reads a stranger's bundle, zip or directory, without trusting it: names, sizes, links.

Nothing is unpacked where the user keeps things, and nothing outside the bundle is read.
"""

import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Protocol

from hfr_bench.errors import BadInputError
from hfr_bench.lab import seal

FILES_MAX = 2_000_000
BYTES_MAX = 16 * 1024**3
RATIO_MAX = 200
"""How often a member's packed size its size may be; traces come to 10, schedules to 30."""
_RATIO_FROM = 1024**2  # smaller members may be packed as they like
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_PART_MAX = 255  # bytes of a file's name, in any file system


class Files(Protocol):
    """The files of a bundle by name. `sizes`: in bytes, unpacked."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def sizes(self) -> Mapping[str, int]: ...

    def read(self, name: str) -> bytes:
        """A file's bytes. Raises BadInputError if they are damaged."""
        ...


@contextmanager
def opened(path: Path) -> Iterator[Files]:
    """A bundle, ready to be read.

    Raises BadInputError (it is no bundle) for anything but a zip or a directory with a manifest
    and a bundle.json, for names that lead out of it, and for what is unreasonably large.
    """
    if path.is_dir():
        yield _bundle(path, _Folder(path))
        return
    if not path.is_file():
        raise BadInputError(f"{path}: no such file or directory")
    try:
        with zipfile.ZipFile(path) as archive:
            yield _bundle(path, _Zip(path, archive))
    except (zipfile.BadZipFile, NotImplementedError) as error:  # the latter: a later zip format
        raise BadInputError(f"{path}: not a bundle: neither directory nor zip ({error})") from error


class _Folder:
    """A directory, links in it refused."""

    def __init__(self, top: Path) -> None:
        self._top = top
        names = []
        for path in sorted(top.rglob("*")):
            name = path.relative_to(top).as_posix()
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise BadInputError(f"{top}: not a bundle: {name} is no plain file")
            if stat.S_ISREG(mode):
                names.append(name)
        self.names = tuple(names)
        self.sizes = {name: (top / name).stat().st_size for name in names}
        _check_size(top, self.sizes)

    def read(self, name: str) -> bytes:
        return (self._top / name).read_bytes()


class _Zip:
    """A zip, read in place."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self._path, self._archive = path, archive
        members = [info for info in archive.infolist() if not info.is_dir()]
        for info in members:
            if not _safe(info.filename):
                raise BadInputError(f"{path}: not a bundle: unsafe name {info.filename!r}")
            kind = stat.S_IFMT(info.external_attr >> 16)  # as Unix has it; 0 from elsewhere
            if kind not in (0, stat.S_IFREG):
                raise BadInputError(f"{path}: not a bundle: {info.filename} is no plain file")
            if info.compress_type not in _METHODS or info.flag_bits & _ENCRYPTED:
                raise BadInputError(
                    f"{path}: not a bundle: {info.filename} is encrypted, or packed in another way "
                    "than by deflate"
                )
            if info.file_size > max(_RATIO_FROM, RATIO_MAX * info.compress_size):
                raise BadInputError(
                    f"{path}: not a bundle: {info.filename} unpacks to {info.file_size} bytes, "
                    f"more than {RATIO_MAX} times its packed size"
                )
        self.names = tuple(info.filename for info in members)
        if len(set(self.names)) < len(self.names):
            raise BadInputError(f"{path}: not a bundle: it holds two files of the same name")
        self.sizes = {info.filename: info.file_size for info in members}
        _check_size(path, self.sizes)

    def read(self, name: str) -> bytes:
        try:
            # Never more than the size that was checked, whatever the packed bytes hold.
            return self._archive.read(name)
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
            raise BadInputError(f"{name}: cannot be unpacked ({error})") from error


def _bundle(path: Path, files: Files) -> Files:
    """The files, if they are a bundle's."""
    lacking = [name for name in (seal.MANIFEST, seal.BUNDLE) if name not in files.names]
    if lacking:
        raise BadInputError(
            f"{path}: not a bundle: no {lacking[0]} at its top; `hfr-bench bundle` makes one"
        )
    return files


def _safe(name: str) -> bool:
    """Whether a name stays inside: relative, without `..`, drive letters or backslashes."""
    path = PurePosixPath(name)
    odd = any(sign in name for sign in ("\\", ":", "\0", "\n"))
    odd = odd or any(len(part.encode()) > _PART_MAX for part in path.parts)
    return not odd and not path.is_absolute() and ".." not in path.parts and str(path) == name


def _check_size(path: Path, sizes: Mapping[str, int]) -> None:
    total = sum(sizes.values())
    if len(sizes) > FILES_MAX or total > BYTES_MAX:
        raise BadInputError(
            f"{path}: not a bundle: {len(sizes)} files, {total / 1024**3:.1f} GiB; "
            f"at most {FILES_MAX} and {BYTES_MAX / 1024**3:.0f} are read"
        )
