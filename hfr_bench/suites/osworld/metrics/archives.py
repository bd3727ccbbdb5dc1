"""The metric of archives: their files, pair by pair, by the metric of their kind."""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hfr_bench.suites.osworld.errors import UngradeableError
from hfr_bench.suites.osworld.metrics import documents, pictures, slides, tables, text
from hfr_bench.suites.osworld.metrics.options import ARCHIVED

_BY_KIND: dict[str, Callable[..., float]] = {
    "text": text.compare_text_file,
    "csv": text.compare_csv,
    "docx": documents.compare_docx_files,
    "ppt": slides.compare_pptx_files,
    "image": pictures.compare_images,
    "table": tables.compare_table,
}
assert set(_BY_KIND) == ARCHIVED


def compare_archive(result: str | None, expected: str, **options: Any) -> float:
    """The mean over the files of `file_path` ("") of two archives; 0 if their names differ.

    `file_type` (text): which metric compares them; it is handed the other options.
    """
    if not result:
        return 0.0
    kind = options.pop("file_type", "text")
    if kind not in _BY_KIND:
        raise UngradeableError(f"compare_archive: no file_type {kind!r}")
    inside = options.pop("file_path", "")
    folders = [
        _unpacked(path, mark) / inside for path, mark in ((result, "pred"), (expected, "gold"))
    ]
    names = [sorted(path.name for path in folder.iterdir()) for folder in folders]
    if names[0] != names[1]:
        return 0.0
    scores = [
        _BY_KIND[kind](str(folders[0] / name), str(folders[1] / name), **options)
        for name in names[0]
    ]
    return sum(scores) / len(scores)


def _unpacked(path: str, mark: str) -> Path:
    """An archive's content beside it. Raises shutil.ReadError; ValueError: a file lies outside."""
    folder = Path(path).with_suffix("").with_name(f"{Path(path).stem}_{mark}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if zipfile.is_zipfile(path):  # zipfile keeps names inside; tarfile must be told to
        shutil.unpack_archive(path, folder)
    else:
        shutil.unpack_archive(path, folder, filter="data")
    return folder


def compare_zip_files(result: str | None, expected: str, **_: Any) -> float:
    """Whether two ZIP files hold the same files, to the byte. Raises UngradeableError: PDFs."""
    if not result:
        return 0.0
    with zipfile.ZipFile(result) as one, zipfile.ZipFile(expected) as other:
        names = set(one.namelist())
        if names != set(other.namelist()):
            return 0.0
        if any(name.lower().endswith(".pdf") for name in names):
            raise UngradeableError("compare_zip_files: PDFs in it are compared by their text")
        return float(all(one.read(name) == other.read(name) for name in names))
