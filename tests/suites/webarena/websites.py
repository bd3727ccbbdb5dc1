"""web_mini's sites served as WebArena's are: real ports, the published accounts, a reset server.

The suite `webarena` cannot tell them from small copies of its own sites: addresses, forms and
labels are those that WebArena's evaluators read. Records of web_mini's tasks in WebArena's two
schemas, and their solutions, are written where the suite looks for a user's own.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import yaml

from hfr_bench.suites.webarena.mini import catalog, content, image, records
from hfr_bench.suites.webarena.places import RESET, shipped

_NAMES = {"reddit": "maya", "shopping": "emma.lind@example.com", "gitlab": "noor"}
_TABLES = {
    "reddit": ("forum_users", "name"),
    "shopping": ("shop_customers", "email"),
    "gitlab": ("tracker_users", "name"),
}
_PATIENCE_S = 20


def published(text: str) -> str:
    """A text of web_mini's with the names of the accounts that WebArena publishes."""
    for site, name in _NAMES.items():
        page = shipped().of(site).login
        assert page is not None
        text = text.replace(name, page.username)
    return text


@contextmanager
def serving() -> Iterator[dict[str, str]]:
    """The sites, alive; yields the environment that names them and their reset server."""
    command = [*image.command(contained=False).argv, "--serve", "0"]
    host = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert host.stdin is not None
    assert host.stdout is not None
    try:
        host.stdin.write(json.dumps({"tables": _tables(), "sessions": []}))
        host.stdin.close()
        told: dict[str, str] = json.loads(host.stdout.readline())
        named = {site.upper(): url for site, url in told.items() if site != "control"}
        named["SHOPPING_ADMIN"] += "/admin"
        urlopen(f"{told['control']}/reset").read()
        yield {**named, RESET: told["control"]}
    finally:
        os.kill(host.pid, signal.SIGTERM)
        host.wait(_PATIENCE_S)
        host.stdout.close()


def _tables() -> Mapping[str, object]:
    """The seed, with the published accounts."""
    made = content.filled(content.seed()["columns"])
    named: dict[str, list[dict[str, object]]] = json.loads(published(json.dumps(made)))
    for site, (table, column) in _TABLES.items():
        page = shipped().of(site).login
        assert page is not None
        for row in named[table]:
            if row[column] == page.username:
                row["password"] = page.password
    return named


def write_records(folder: Path) -> Path:
    """web_mini's tasks as a user's own records: both schemas, and solutions. Returns the folder."""
    rows = [task.row for task in catalog.tasks().values()]
    files = {
        "test.raw.json": [records.original_record(row) for row in rows],
        "webarena-verified.json": [records.verified_record(row) for row in rows],
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, found in files.items():
        (folder / name).write_text(published(json.dumps(found, indent=1)))
    steps = {row["id"]: list(row["oracle"]) for row in rows}
    (folder / "solutions.yaml").write_text(published(yaml.safe_dump(steps, allow_unicode=True)))
    return folder
