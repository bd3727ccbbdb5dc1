"""Reading tasks from wherever they are: files, a task repository, the Hugging Face hub.

```
NAME.jsonl | .json | .parquet | .arrow    a file of rows
DIR with tasks/                           a task repository of SWE-bench 5 (task.yaml, eval.sh, ...)
DIR with SPLIT*.parquet, *.arrow          a dataset saved to disk
lite | verified | full | multimodal       those names on the hub; so is any other OWNER/NAME
```

Nothing of a row is guessed: one that cannot be used is named with file, place and field.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.suites.swe_bench.rows import Instance, read_row

Hub = Callable[[str, str, str | None], Iterable[Mapping[str, Any]]]
"""(name, split, revision) -> rows of that dataset."""

HUB_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "full": "SWE-bench/SWE-bench",
        "lite": "SWE-bench/SWE-bench_Lite",
        "verified": "SWE-bench/SWE-bench_Verified",
        "multimodal": "SWE-bench/SWE-bench_Multimodal",
    }
)
_SHOWN = 5
_TASK_FILES = MappingProxyType(
    {
        "patch": "gold.patch",
        "test_patch": "test.patch",
        "eval_script": "eval.sh",
        "problem_statement": "problem_statement.md",
    }
)
_EXTRA = "pip install 'hfr-bench[swe-bench]'"

Placed = tuple[str, Mapping[str, Any]]
"""A row and where it was found."""


def load(
    source: str | Path,
    ids: Sequence[str] | None = None,
    *,
    split: str = "test",
    revision: str | None = None,
    hub: Hub | None = None,
) -> tuple[Instance, ...]:
    """The tasks of a source, in its order; with `ids` those alone, in the order of `ids`.

    `split` and `revision` matter to the hub and to datasets saved to disk; `hub` replaces the real
    one. Rows that are not asked for may be broken. Raises BadInputError: an unreadable or unknown
    source, an id that is not there or there twice, a row that cannot be used (the first five).
    """
    rows: dict[str, Placed] = {}
    nameless: list[Placed] = []
    for where, row in _rows(source, split, revision, hub or from_hub):
        name = row.get("instance_id")
        if not isinstance(name, str) or not name:
            nameless.append((where, row))
        elif name in rows:
            raise BadInputError(f"{where}: {name} is there already, at {rows[name][0]}")
        else:
            rows[name] = (where, row)
    if ids is not None:
        unknown = [name for name in ids if name not in rows]
        if unknown:
            raise BadInputError(
                f"{source}: no task {', '.join(unknown[:_SHOWN])} among {len(rows)}, such as "
                f"{', '.join(list(rows)[:_SHOWN]) or 'none'}"
            )
        return _read_all([rows[name] for name in dict.fromkeys(ids)])
    return _read_all([*nameless, *rows.values()])


def from_hub(name: str, split: str, revision: str | None) -> Iterable[Mapping[str, Any]]:
    """Rows through the library `datasets`. Raises BadInputError saying what hindered it."""
    try:
        datasets: Any = import_module("datasets")
    except ModuleNotFoundError as error:
        raise BadInputError(
            f"{name!r} is no file or folder here, and to ask the hub for a dataset of that name "
            f"takes the library datasets: {_EXTRA}, or name a .jsonl, .json, .parquet or .arrow"
        ) from error
    try:
        rows: Iterable[Mapping[str, Any]] = datasets.load_dataset(
            name, split=split, revision=revision
        )
    except Exception as error:  # the library raises what its many parts raise
        raise BadInputError(
            f"the hub gave no split {split!r} of {name!r} ({type(error).__name__}: {error}); "
            "without a network, name a file of rows"
        ) from error
    return rows


def _read_all(rows: Sequence[Placed]) -> tuple[Instance, ...]:
    read, wrong = [], []
    for where, row in rows:
        try:
            read.append(read_row(row, where))
        except BadInputError as error:
            wrong.append(str(error))
    if wrong:
        more = f"\nand {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise BadInputError("\n".join(wrong[:_SHOWN]) + more)
    return tuple(read)


def _rows(source: str | Path, split: str, revision: str | None, hub: Hub) -> Iterator[Placed]:
    path = Path(source).expanduser()
    if path.is_dir():
        yield from _folder(path, split)
    elif path.suffix in _READERS:
        if not path.is_file():
            raise BadInputError(f"{path}: no such file")
        yield from _READERS[path.suffix](path)
    elif path.exists():
        raise BadInputError(f"{path}: rows are read from {', '.join(_READERS)} or a folder")
    else:
        name = HUB_NAMES.get(str(source).lower(), str(source))
        yield from _numbered(f"{name}[{split}]", hub(name, split, revision))


def _folder(path: Path, split: str) -> Iterator[Placed]:
    if (path / "tasks").is_dir():
        yield from _task_repo(path)
        return
    found = [
        file
        for pattern in (
            f"{split}*.parquet",
            f"data/{split}*.parquet",
            f"{split}/*.arrow",
            "*.arrow",
        )
        for file in sorted(path.glob(pattern))
    ]
    if not found:
        raise BadInputError(
            f"{path}: neither a task repository (tasks/) nor a saved dataset "
            f"({split}*.parquet, data/{split}*.parquet, {split}/*.arrow, *.arrow)"
        )
    kind = found[0].suffix  # a cache may hold the same rows in both
    for file in (f for f in found if f.suffix == kind and f.parent == found[0].parent):
        yield from _READERS[kind](file)


def _numbered(where: str, rows: Iterable[Any]) -> Iterator[Placed]:
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise BadInputError(f"{where}: row {number}: not a mapping, {type(row).__name__}")
        yield f"{where}: row {number}", row


def _jsonl(path: Path) -> Iterator[Placed]:
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise BadInputError(f"{path}:{number}: not JSON: {error}") from error
        if not isinstance(row, dict):
            raise BadInputError(f"{path}:{number}: not an object, {type(row).__name__}")
        yield f"{path}:{number}", row


def _json(path: Path) -> Iterator[Placed]:
    try:
        data = json.loads(_text(path))
    except ValueError as error:
        raise BadInputError(f"{path}: not JSON: {error}") from error
    if isinstance(data, dict):  # by instance id
        data = list(data.values())
    if not isinstance(data, list):
        raise BadInputError(f"{path}: expected a list of rows, or rows by id")
    yield from _numbered(str(path), data)


def _parquet(path: Path) -> Iterator[Placed]:
    yield from _columns(path, "pyarrow.parquet", lambda module: module.read_table(path))


def _arrow(path: Path) -> Iterator[Placed]:
    def read(module: Any) -> Any:
        with path.open("rb") as file:
            try:
                return module.open_stream(file).read_all()  # as `datasets` saves
            except module.pa.ArrowInvalid:
                file.seek(0)
                return module.open_file(file).read_all()

    yield from _columns(path, "pyarrow.ipc", read)


def _columns(path: Path, module: str, read: Callable[[Any], Any]) -> Iterator[Placed]:
    try:
        arrow = import_module(module)
    except ModuleNotFoundError as error:
        raise BadInputError(
            f"{path}: reading it takes pyarrow: {_EXTRA}, or convert it to .jsonl"
        ) from (error)
    try:
        rows = read(arrow).to_pylist()
    except (ValueError, OSError) as error:  # ArrowInvalid is a ValueError
        raise BadInputError(f"{path}: not readable as {path.suffix}: {error}") from error
    yield from _numbered(str(path), rows)


def _task_repo(path: Path) -> Iterator[Placed]:
    folders = sorted(p.parent for p in (path / "tasks").glob("*/task.yaml"))
    if not folders:
        raise BadInputError(f"{path}: no tasks/*/task.yaml in it")
    for folder in folders:
        row = content.read_yaml(folder / "task.yaml")
        if not isinstance(row, dict):
            raise BadInputError(f"{folder / 'task.yaml'}: expected a mapping")
        row |= {key: _exact(folder / name) for key, name in _TASK_FILES.items()}
        hints = folder / "hints.md"
        row["hints_text"] = _exact(hints) if hints.is_file() else ""
        tests = folder / "tests.json"
        try:
            row |= json.loads(_text(tests))
        except (ValueError, TypeError) as error:
            raise BadInputError(f"{tests}: expected an object of test lists: {error}") from error
        if row.get("instance_id") != folder.name:
            raise BadInputError(
                f"{folder / 'task.yaml'}: instance_id is {row.get('instance_id')!r}, "
                f"the folder is {folder.name!r}"
            )
        yield str(folder), row


def _exact(path: Path) -> str:
    """A file's text with its own line ends: a patch may hold CRLF. Raises BadInputError."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError as error:
        raise BadInputError(f"{path}: no such file, a task needs it") from error
    except UnicodeDecodeError as error:
        raise BadInputError(f"{path}: not UTF-8: {error}") from error


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise BadInputError(f"{path}: no such file") from error
    except UnicodeDecodeError as error:
        raise BadInputError(f"{path}: not UTF-8: {error}") from error


READ = (".jsonl", ".json", ".parquet", ".arrow")
"""Names of files of rows end so."""
_READERS: Mapping[str, Callable[[Path], Iterator[Placed]]] = MappingProxyType(
    {".jsonl": _jsonl, ".json": _json, ".parquet": _parquet, ".arrow": _arrow}
)
