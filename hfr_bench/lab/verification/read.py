"""Reads a stranger's bundle, zip or directory, without trusting it: names, sizes, links.

Nothing is unpacked where the user keeps things, and nothing outside the bundle is read.
"""

import stat
import struct
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
_WHOLE_FROM = 64 * 1024**2  # and smaller zips as a whole
_FILE_MAX = 1024**3  # bytes of one file, which is read whole
_ENCRYPTED, _SIZES_FOLLOW, _ZIP64 = 0x1, 0x8, 0xFFFFFFFF
_LOCAL = struct.Struct("<4x2xHH4xIII")  # of a local header: flags, method, CRC, both sizes
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
            if not _safe(name):
                raise BadInputError(f"{top}: not a bundle: unsafe name {name!r}")
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
        for wrong in (*_stray(archive), *(w for i in archive.infolist() for w in _member(i))):
            raise BadInputError(f"{path}: not a bundle: {wrong}")
        members = [info for info in archive.infolist() if not info.is_dir()]
        self.names = tuple(info.filename for info in members)
        if len({name.casefold() for name in self.names}) < len(self.names):
            raise BadInputError(f"{path}: not a bundle: it holds two files of the same name")
        self.sizes = {info.filename: info.file_size for info in members}
        packed, size = sum(info.compress_size for info in members), path.stat().st_size
        if packed > size:
            raise BadInputError(
                f"{path}: not a bundle: its members say that they are {packed} bytes packed, it "
                f"has {size}"
            )
        if sum(self.sizes.values()) > max(_WHOLE_FROM, RATIO_MAX * size):
            raise BadInputError(
                f"{path}: not a bundle: it unpacks to more than {RATIO_MAX} times its size"
            )
        _check_size(path, self.sizes)

    def read(self, name: str) -> bytes:
        try:
            if wrong := _local(self._archive, name):
                raise BadInputError(f"{name}: {wrong}")
            # Never more than the size that was checked, whatever the packed bytes hold.
            return self._archive.read(name)
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
            raise BadInputError(f"{name}: cannot be unpacked ({error})") from error


def _stray(archive: zipfile.ZipFile) -> Iterator[str]:
    """Bytes that are no file's: nothing would vouch for them, and others might run or show them."""
    if archive.comment:
        yield "it has a comment, which belongs to no file"
    if archive.infolist() and min(info.header_offset for info in archive.infolist()) > 0:
        yield "something stands before its first file"


def _member(info: zipfile.ZipInfo) -> Iterator[str]:
    """What is wrong with a member."""
    name = info.filename
    if info.orig_filename != name or not _safe(name.removesuffix("/") if info.is_dir() else name):
        yield f"unsafe name {info.orig_filename!r}"
    if info.is_dir():
        if info.file_size or info.compress_size:
            yield f"{name!r} is a directory with bytes in it"
        return
    kind = stat.S_IFMT(info.external_attr >> 16)  # as Unix has it; 0 from elsewhere
    if kind not in (0, stat.S_IFREG):
        yield f"{name} is no plain file"
    if info.compress_type not in _METHODS or info.flag_bits & _ENCRYPTED:
        yield f"{name} is encrypted, or packed in another way than by deflate"
    if info.file_size > max(_RATIO_FROM, RATIO_MAX * info.compress_size):
        yield (
            f"{name} unpacks to {info.file_size} bytes, more than {RATIO_MAX} times its packed size"
        )


def _local(archive: zipfile.ZipFile, name: str) -> str:
    """Why a member's own header does not say what the directory says; "" if it does.

    Whoever unpacks a zip as it streams in believes that header, and would get something else.
    """
    info, file = archive.getinfo(name), archive.fp
    assert file is not None  # it is open
    file.seek(info.header_offset)
    head = file.read(_LOCAL.size)
    if len(head) < _LOCAL.size:
        return "its header is cut off"
    flags, method, crc, packed, size = _LOCAL.unpack(head)
    if method != info.compress_type or (flags ^ info.flag_bits) & _ENCRYPTED:
        return "its header says that it is packed otherwise"
    if flags & _SIZES_FOLLOW or _ZIP64 in (packed, size):
        return ""
    same = (crc, packed, size) == (info.CRC, info.compress_size, info.file_size)
    return "" if same else "its header speaks of other bytes"


def _bundle(path: Path, files: Files) -> Files:
    """The files, if they are a bundle's."""
    lacking = [name for name in (seal.MANIFEST, seal.BUNDLE) if name not in files.names]
    if lacking:
        raise BadInputError(
            f"{path}: not a bundle: no {lacking[0]} at its top; `hfr-bench bundle` makes one"
        )
    return files


def _safe(name: str) -> bool:
    """Whether a name stays inside: relative, without `..`, drive letters or backslashes.

    And can be shown: without a newline, or what else a terminal obeys.
    """
    path = PurePosixPath(name)
    odd = any(sign in name for sign in ("\\", ":")) or not name.isprintable()
    odd = odd or any(len(part.encode()) > _PART_MAX for part in path.parts)
    return not odd and not path.is_absolute() and ".." not in path.parts and str(path) == name


def _check_size(path: Path, sizes: Mapping[str, int]) -> None:
    total = sum(sizes.values())
    if len(sizes) > FILES_MAX or total > BYTES_MAX:
        raise BadInputError(
            f"{path}: not a bundle: {len(sizes)} files, {total / 1024**3:.1f} GiB; "
            f"at most {FILES_MAX} and {BYTES_MAX / 1024**3:.0f} are read"
        )
    largest = max(sizes, key=sizes.__getitem__, default="")
    if sizes.get(largest, 0) > _FILE_MAX:
        raise BadInputError(
            f"{path}: not a bundle: {largest} has {sizes[largest]} bytes, at most {_FILE_MAX} are "
            "read"
        )
