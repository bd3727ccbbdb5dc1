"""The content of web_mini as it lies in `suites/web_mini`: seed, buttons, effects, addresses."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.record import digest, text_digest
from hfr_bench.suites.webarena.acting.offer import Offer, read_buttons, read_routes

SUITE = "web_mini"
FILES = ("forum", "shop", "office", "tracker")
ROOTS = {"shopping_admin": "/admin"}
"""Where a site's placeholder is not its root."""

Rows = Mapping[str, list[dict[str, Any]]]


@cache
def offer() -> Offer:
    """The sites as `suites/web_mini` has them."""
    return Offer(
        addresses=settings()["addresses"],
        buttons=read_buttons(folder() / "buttons.yaml"),
        routes=read_routes(folder() / "routes.yaml"),
        roots=ROOTS,
    )


def folder() -> Path:
    """Where the content lies."""
    return content.root() / "suites" / SUITE


@cache
def settings() -> Mapping[str, Any]:
    """suite.yaml."""
    found: Mapping[str, Any] = content.read_yaml(folder() / "suite.yaml")
    return found


@cache
def requests() -> Mapping[str, list[list[str]]]:
    """requests.yaml: what each step of a task's oracle asks the sites for."""
    found: Mapping[str, list[list[str]]] = content.read_yaml(folder() / "requests.yaml")
    return found


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
