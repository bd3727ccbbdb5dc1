"""The content of web_mini as it lies in `suites/web_mini`: seed, buttons, effects, addresses."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.record import digest, text_digest
from hfr_bench.model.terms import SideEffect
from hfr_bench.model.web import Route

SUITE = "web_mini"
FILES = ("forum", "shop", "office", "tracker")
ROOTS = {"shopping_admin": "/admin"}
"""Where a site's placeholder is not its root."""

Rows = Mapping[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Button:
    """What a button does: its level, and the page that shows it ("" = none)."""

    level: SideEffect
    read: str = ""


@cache
def routes() -> tuple[Route, ...]:
    """routes.yaml, in its order. Raises BadInputError naming the route."""
    path = folder() / "routes.yaml"
    found = []
    for site, rows in content.read_yaml(path).items():
        for request, (name, level) in rows.items():
            method, _, where = request.partition(" ")
            if not where.startswith("/") or level not in set(SideEffect):
                raise BadInputError(f"{path}: {site}: {request}: METHOD /path: [name, R0 to R3]")
            found.append(Route(site, method, where, name, SideEffect(level)))
    return tuple(found)


def folder() -> Path:
    """Where the content lies."""
    return content.root() / "suites" / SUITE


@cache
def settings() -> Mapping[str, Any]:
    """suite.yaml."""
    found: Mapping[str, Any] = content.read_yaml(folder() / "suite.yaml")
    return found


@cache
def buttons() -> Mapping[str, Button]:
    """buttons.yaml, by label; a label may hold a `*`. Raises BadInputError naming the label."""
    path = folder() / "buttons.yaml"
    found = {}
    for label, row in content.read_yaml(path).items():
        try:
            found[label] = Button(SideEffect(row["level"]), row.get("read", ""))
        except (KeyError, ValueError) as error:
            raise BadInputError(f"{path}: {label}: level is one of R0, R1, R2, R3") from error
    return found


def button(label: str) -> Button | None:
    """What the button of this label does; None if nobody has said."""
    exact = buttons().get(label)
    if exact is not None:
        return exact
    named = (one for name, one in buttons().items() if "*" in name and fnmatchcase(label, name))
    return next(named, None)


@cache
def seed() -> Mapping[str, Any]:
    """seed.yaml."""
    found: Mapping[str, Any] = content.read_yaml(folder() / "seed.yaml")
    return found


def filled(columns: Mapping[str, list[str]]) -> Rows:
    """The seed's rows with their columns' names. `columns`: the host's, by table.

    Raises BadInputError: seed and host do not agree on columns, or a row is too short or too long.
    """
    if seed()["columns"] != columns:
        odd = [table for table in columns if seed()["columns"].get(table) != columns[table]]
        raise BadInputError(f"{folder() / 'seed.yaml'}: the host has other columns of: {odd}")
    made = {}
    for table, rows in seed()["tables"].items():
        names = columns[table]
        for row in rows:
            if len(row) != len(names):
                where = f"{folder() / 'seed.yaml'}: {table}: {row[:2]}"
                raise BadInputError(f"{where}: it takes {', '.join(names)}")
        made[table] = [dict(zip(names, row, strict=True)) for row in rows]
    return made


def sessions() -> list[dict[str, str]]:
    """Who is signed in where when a trial starts."""
    rows = seed()["sessions"].items()
    return [
        {"token": token, "site": site, "user": user, "flash": ""} for site, (token, user) in rows
    ]


@cache
def content_digest() -> str:
    """Of every file of the content."""
    files = sorted(path for path in folder().rglob("*") if path.is_file())
    return digest(
        {p.relative_to(folder()).as_posix(): text_digest(p.read_text("utf-8")) for p in files}
    )
