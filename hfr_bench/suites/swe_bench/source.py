"""Where a user's rows are: a path of this machine beside the registration, or a name on the hub."""

import os
from pathlib import Path

from hfr_bench.errors import BadInputError
from hfr_bench.suites.swe_bench.load import HUB_NAMES, READ

DATA = "HFR_BENCH_DATA_SWE_BENCH"
"""Stands for --data-dir where that is not given."""


def find_source(rows: str, data_dir: Path | None) -> str | Path:
    """What `load` is to read.

    `rows`, registered: a file or folder below the data folder, or, without one, a name on the hub.
    `data_dir`: a file of rows, a task repository, a saved dataset, or a folder with a file of rows
    in it. Raises BadInputError with what there is.
    """
    named = os.environ.get(DATA)
    place = data_dir or (Path(named) if named else None)
    if place is None:
        return _on_hub(rows)
    if not place.exists():
        raise BadInputError(f"{DATA}={place}: there is no such file or folder")
    if place.is_file():
        if rows and place.name != rows:
            raise BadInputError(f"registered are the rows {rows!r}, and {place} was given")
        return place
    return _in_folder(place, rows)


def _on_hub(rows: str) -> str:
    if rows and not rows.startswith((".", "/")) and not rows.endswith(READ):
        return rows
    where = f"{rows} below a folder" if rows else "your rows"
    raise BadInputError(
        f"suite swe_bench ships no rows: name {where} by --data-dir swe_bench=PATH or {DATA} "
        f"({', '.join(READ)}, a task repository or a saved dataset), or register `rows:` as a "
        f"name on the hub ({', '.join(HUB_NAMES)}, OWNER/NAME)"
    )


def _in_folder(folder: Path, rows: str) -> Path:
    if rows:
        path = (folder / rows).resolve()
        if not path.is_relative_to(folder.resolve()) or not path.exists():
            raise BadInputError(f"{folder}: no {rows} in it, which is registered as `rows`")
        return path
    files = sorted(path for path in folder.iterdir() if path.suffix == ".jsonl")
    if (folder / "tasks").is_dir() or not files:
        return folder
    if len(files) > 1:
        names = ", ".join(path.name for path in files)
        raise BadInputError(f"{folder}: several files of rows, {names}: say which by `rows`")
    return files[0]
