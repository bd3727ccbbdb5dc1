"""Reading the public records: from an installed distribution, a wheel, a folder or a file.

```
libwebarena 0.0.5          webarena/test.raw.json                                    812 original
webarena-verified 1.2.3    webarena_verified/assets/dataset/webarena-verified.json   812 Verified
                           .../subsets/webarena-verified-hard.json               258 ids of these
```

Nothing of either distribution is imported: both pin what we must not (pydantic==2.12.0,
beartype==0.12.0, ...), so they lie in an environment of their own, or are named as files.
"""

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from hfr_bench.errors import BadInputError
from hfr_bench.suites.webarena.rows import Record, read_record

Pool = Literal["original", "verified", "verified-hard"]
PYTHON = "HFR_BENCH_WEBARENA_PYTHON"
"""Names a Python whose environment has the distributions."""

_SHOWN = 5
_ASSETS = "webarena_verified/assets/dataset"


@dataclass(frozen=True, slots=True)
class Pinned:
    """A file of a distribution, as it was when its counts were taken."""

    distribution: str
    version: str
    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Source:
    """What was read: where, of which version ("" of a loose file), whether it is the pinned one."""

    where: str
    version: str
    sha256: str
    pinned: bool


PINNED: Mapping[str, Pinned] = MappingProxyType(
    {
        "original": Pinned(
            "libwebarena",
            "0.0.5",
            "webarena/test.raw.json",
            "7b50386fd69163dbc05d615d834df4c6ed2c35596e97a1b10d17451c02537652",
        ),
        "verified": Pinned(
            "webarena-verified",
            "1.2.3",
            f"{_ASSETS}/webarena-verified.json",
            "d65275660814663375028e9017e1f929e3c38321041b125795e2713b52243d30",
        ),
        "verified-hard": Pinned(
            "webarena-verified",
            "1.2.3",
            f"{_ASSETS}/subsets/webarena-verified-hard.json",
            "3b0a4df231bb5a0c642215e521c3fa97701a384f52a734dc2db8f617ad0591a7",
        ),
    }
)


def load(
    pool: Pool, source: str | Path | None = None, ids: Sequence[int] | None = None
) -> tuple[tuple[Record, ...], Source]:
    """The records of a pool in the file's order, or those of `ids` in theirs; and what was read.

    `source`: a `.json` file, a wheel, or a folder that holds the distribution's files; None: the
    environment of this Python, or of the one that HFR_BENCH_WEBARENA_PYTHON names. Raises
    BadInputError: not to be had (and how to get it), another version, an unknown id, records that
    cannot be used (the first five).
    """
    if pool not in PINNED:
        raise BadInputError(f"no pool {pool!r}: there are {', '.join(PINNED)}")
    if pool == "verified-hard":
        text, found = _read(PINNED[pool], source)
        hard = _json(text, found.where)
        among = load("verified", source, None)[0]
        wanted = _ids(hard, found.where) if isinstance(hard, dict) else None
        records = among if wanted is None else _only(among, wanted, found.where)
    else:
        text, found = _read(PINNED[pool], source)
        records = _records(_json(text, found.where), found.where)
    return (records if ids is None else _only(records, ids, found.where)), found


def _ids(subset: Mapping[str, Any], where: str) -> list[int]:
    ids = subset.get("task_ids")
    if not isinstance(ids, list) or not all(isinstance(item, int) for item in ids):
        raise BadInputError(f"{where}: a subset has task_ids, a list of numbers")
    return ids


def _only(records: Iterable[Record], ids: Sequence[int], where: str) -> tuple[Record, ...]:
    by_id = {record.id: record for record in records}
    unknown = [str(name) for name in ids if name not in by_id]
    if unknown:
        raise BadInputError(
            f"{where}: no task {', '.join(unknown[:_SHOWN])} among {len(by_id)} "
            f"(such as {', '.join(str(name) for name in list(by_id)[:_SHOWN])})"
        )
    return tuple(by_id[name] for name in dict.fromkeys(ids))


def _records(rows: Any, where: str) -> tuple[Record, ...]:
    if not isinstance(rows, list):
        raise BadInputError(f"{where}: expected a list of records")
    read, wrong, seen = [], [], set[int]()
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            wrong.append(f"{where}: record {number}: not an object, {type(row).__name__}")
            continue
        try:
            record = read_record(row, f"{where}: record {number}")
        except BadInputError as error:
            wrong.append(str(error))
            continue
        if record.id in seen:
            wrong.append(f"{record.where}: task {record.id} is there already")
        seen.add(record.id)
        read.append(record)
    if wrong:
        more = f"\nand {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise BadInputError("\n".join(wrong[:_SHOWN]) + more)
    return tuple(read)


def _json(text: bytes, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInputError(f"{where}: not JSON: {error}") from error


def _read(file: Pinned, source: str | Path | None) -> tuple[bytes, Source]:
    """The bytes of a pinned file. A named source is taken as it is; an installed one must match."""
    if source is not None:
        text, where = _named(file, Path(source).expanduser())
        return text, _source(file, where, "", text)
    for folder, version, found in _installed(file):
        if version != file.version:
            raise BadInputError(
                f"{file.distribution} {version} is installed in {folder}, but tasks are counted "
                f"and graded as of {file.version}: {how_to_get(file)}"
            )
        if not found.is_file():
            raise BadInputError(f"{folder}: {file.distribution} lacks {found}; install it anew")
        text = found.read_bytes()
        return text, _source(file, str(found), version, text)
    raise BadInputError(
        f"the tasks come with {file.distribution} {file.version}, which is not installed here"
        f"{' nor in ' + os.environ[PYTHON] if os.environ.get(PYTHON) else ''}: {how_to_get(file)}"
    )


def _source(file: Pinned, where: str, version: str, text: bytes) -> Source:
    found = hashlib.sha256(text).hexdigest()
    return Source(where, version, found, found == file.sha256)


def how_to_get(file: Pinned) -> str:
    """What to type, for messages."""
    return (
        "python3 -m venv .hosts/webarena && .hosts/webarena/bin/pip install --no-deps "
        f"{file.distribution}=={file.version} && export {PYTHON}=.hosts/webarena/bin/python; "
        "or name its wheel"
    )


def _named(file: Pinned, source: Path) -> tuple[bytes, str]:
    if source.is_dir():
        for inside in (source / file.path, source / Path(file.path).name):
            if inside.is_file():
                return inside.read_bytes(), str(inside)
        raise BadInputError(f"{source}: holds no {file.path}, nor {Path(file.path).name}")
    if not source.is_file():
        raise BadInputError(f"{source}: no such file or folder")
    if zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as wheel:
            if file.path not in wheel.namelist():
                raise BadInputError(f"{source}: no wheel of {file.distribution}, no {file.path}")
            return wheel.read(file.path), f"{source}!{file.path}"
    if source.suffix != ".json":
        raise BadInputError(f"{source}: tasks are read from a .json file, a wheel or a folder")
    return source.read_bytes(), str(source)


def _installed(file: Pinned) -> Iterator[tuple[str, str, Path]]:
    """(environment, version, the tasks' file) of each installation of a distribution."""
    for python in dict.fromkeys((None, os.environ.get(PYTHON) or None)):
        for found in _distributions(file.distribution, python):
            place = python or "this environment"
            yield place, found.version, Path(str(found.locate_file(file.path)))


def _distributions(name: str, python: str | None) -> Iterable[Distribution]:
    """A distribution in this environment or a Python's, which lies beside its bin/: nobody runs."""
    if python is None:
        return distributions(name=name)
    prefix = Path(python).expanduser().absolute().parent.parent
    found = sorted(prefix.glob("[lL]ib*/python3*/site-packages"))
    return distributions(name=name, path=[str(path) for path in found])
