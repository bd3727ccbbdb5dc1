"""Whether what lies around a published bundle follows from it: tables, records, card, metadata.

    folder -> its bundle, verified by itself (`lab.verification.verify`)
           -> everything beside it made again from that bundle -> file by file the same

Tables are held by their rows, since another DuckDB may write the same rows as other bytes.
Licence and repository are the publisher's to say, and are taken as they are.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import yaml

from hfr_bench.errors import BadInputError
from hfr_bench.lab import seal
from hfr_bench.lab.database import connect
from hfr_bench.lab.publishing import linked, twin
from hfr_bench.lab.publishing.layout import BUNDLE, How, around, link
from hfr_bench.lab.rendering.pages import environment
from hfr_bench.lab.scan import Scanner
from hfr_bench.lab.verification.files import judge
from hfr_bench.lab.verification.read import opened
from hfr_bench.model.bundle import Check, Environment, Verification

_LEVEL = 3
_HUBS = (".git", ".cache", ".gitattributes")  # what the Hub and its clients put there
_LATER = "seeds.yaml"  # what a publisher may add: read where it is given (`verify --seeds`) only
_HEAD = re.compile(r"\A---\n(.*?)^---$", re.DOTALL | re.MULTILINE)
_REPO = re.compile(r"https://huggingface\.co/datasets/([\w.-]+/[\w.-]+)")


class _Said(NamedTuple):
    """What only the publisher knows."""

    licence: str
    repo: str


def with_derived(found: Verification, folder: Path) -> Verification:
    """A verification of the bundle in a published folder, and besides of what lies around it.

    Raises BadInputError for links in it.
    """
    if found.level < _LEVEL or not found.verified:
        return found  # nothing follows from a bundle that is not verified
    try:
        made = tuple(_derived(folder))
    except BadInputError:
        raise
    # As in `lab.verification`: whatever a stranger's file makes our code do is that file's fault.
    except Exception as error:  # noqa: BLE001
        told = f"{type(error).__name__}: {error}"
        made = (Check(level=_LEVEL, check="what lies around can be read", ok=False, detail=told),)
    checks = (*found.checks, *made)
    return found.model_copy(
        update={"checks": checks, "verified": all(check.ok is not False for check in checks)}
    )


def _derived(folder: Path) -> Iterator[Check]:
    names = _names(folder)
    yield _named(folder, names)
    by = Environment.loads((folder / BUNDLE / seal.ENVIRONMENT).read_bytes())
    with TemporaryDirectory(prefix="hfr-published-") as temporary:
        top = Path(temporary).resolve()
        _unpack(folder / BUNDLE, top / BUNDLE)
        said = _said(folder)
        how = How(b"", {}, Scanner({}), said.licence, said.repo, twin=twin.FOLDER in _tops(names))
        made = around(top, how)
        tables = [name for name in names if name.endswith(".parquet")]
        other = [name for name in tables if not _same_rows(folder / name, top / name)]
        for name in {*tables} - {*other}:
            shutil.copyfile(folder / name, top / name)
        for name in (linked.CROISSANT, linked.CRATE):  # they do not list themselves
            (top / name).unlink()
        link(top, made.about, made.tables)
        again = [name for name in _names(top) if not name.startswith(f"{BUNDLE}/")]
        other += [
            name
            for name in again
            if name in names
            and name not in tables
            and (folder / name).read_bytes() != (top / name).read_bytes()
        ]
    mine = [name for name in names if not name.startswith(f"{BUNDLE}/")]
    strange = [f"{name} has no place here" for name in mine if name not in again]
    strange += [f"{name} is missing" for name in again if name not in mine]
    yield judge(_LEVEL, "around the bundle lies what belongs there", strange, f"{len(mine)} files")
    title, alike = "what lies around follows from the bundle", by == environment()
    if other and not alike:
        told = f"made by other versions: {', '.join(other)} not compared"
        yield Check(level=_LEVEL, check=title, ok=None, detail=told)
        return
    wrong = [f"{name} is another, made again" for name in sorted(other)]
    yield judge(_LEVEL, title, wrong, f"{len(again)} files")


def _names(folder: Path) -> list[str]:
    """All files. Raises BadInputError for a link, which could lead anywhere."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if name.parts[0] in (*_HUBS, _LATER):
            continue
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise BadInputError(f"{folder}: {name} is no plain file")
        if path.is_file():
            found.append(name.as_posix())
    return found


def _tops(names: list[str]) -> set[str]:
    return {name.partition("/")[0] for name in names}


def _unpack(bundle: Path, to: Path) -> None:
    with opened(bundle) as files:
        for name in files.names:
            path = to / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files.read(name))


def _said(folder: Path) -> _Said:
    """Licence and repository as card and Croissant say them."""
    head = _HEAD.match((folder / "README.md").read_text("utf-8"))
    card = yaml.safe_load(head.group(1)) if head else {}
    about = json.loads((folder / linked.CROISSANT).read_bytes())
    repo = _REPO.fullmatch(str(about.get("url")))
    return _Said(str(card.get("license", "")), repo.group(1) if repo else "")


def _same_rows(said: Path, made: Path) -> bool:
    """Whether two Parquet files hold the same columns and the same rows."""
    if not made.is_file():
        return False
    if said.read_bytes() == made.read_bytes():
        return True
    names = (str(path).replace("'", "''") for path in (said, made))
    one, other = (f"read_parquet('{name}')" for name in names)
    with connect(Path(":memory:"), write=True) as connection:
        shapes = [connection.execute(f"DESCRIBE FROM {file}").fetchall() for file in (one, other)]
        if shapes[0] != shapes[1]:
            return False
        more = [f"(FROM {a} EXCEPT ALL FROM {b})" for a, b in ((one, other), (other, one))]
        return not connection.execute(f"{' UNION ALL '.join(more)} LIMIT 1").fetchall()


def _named(folder: Path, names: list[str]) -> Check:
    """Both metadata files tell the size and digest of each file as it is, whoever made them."""
    wrong: list[str] = []
    for file, listed in ((linked.CROISSANT, "distribution"), (linked.CRATE, "@graph")):
        data: dict[str, Any] = json.loads((folder / file).read_bytes())
        for one in data[listed]:
            if "sha256" not in one:
                continue
            name = one["@id"]
            held = linked.held(folder, folder / name) if name in names else None
            if held is None or one["sha256"] != held.sha256:
                wrong.append(f"{file}: {name} is another, or not there")
    return judge(0, "metadata name the files as they are", wrong, f"{len(names)} files")
