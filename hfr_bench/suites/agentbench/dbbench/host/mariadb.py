"""A task's tables in MariaDB, which runs beside the host; each statement stands by itself.

The server is started once, on files that the image brings, without a network and without rights to
ask for. Its clients speak through a socket in the scratch folder.
"""

import shutil
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pymysql

from .errors import HostError, StatementError

MADE, LIVING, SOCKET = "/opt/hfr/mariadb", "/tmp/mariadb", "/tmp/mariadb.sock"  # noqa: S108
OPTIONS = (
    f"--datadir={LIVING}",
    f"--socket={SOCKET}",
    "--pid-file=/tmp/mariadb.pid",
    "--tmpdir=/tmp",
    "--skip-networking",
    "--skip-grant-tables",
    "--secure-file-priv=/opt/hfr/mariadb",  # nobody may write there
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_general_ci",
    "--innodb-log-file-size=4M",
    "--innodb-buffer-pool-size=16M",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-use-native-aio=0",
    "--max-statement-time=20",
    "--sql-mode=NO_ENGINE_SUBSTITUTION",  # upstream's digests are of a server that let `? + 1` pass
)
PATIENCE_S = 60.0

Row = list[Any]


def start() -> Callable[[str], "Database"]:
    """Start the server, and return what makes a database on it by name."""
    shutil.copytree(MADE, LIVING, dirs_exist_ok=True)
    command = ["mariadbd", "--no-defaults", *OPTIONS]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    give_up = time.monotonic() + PATIENCE_S
    while True:
        try:
            _connect().close()
            return Database
        except pymysql.Error:
            if server.poll() is not None or time.monotonic() > give_up:
                raise
            time.sleep(0.05)


def _connect() -> Any:
    return pymysql.connect(unix_socket=SOCKET, user="root", charset="utf8mb4", autocommit=True)


class Database:
    """Holds one task's tables. The same methods as `sqlite.Database`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._db: Any = None

    def engine(self) -> str:
        """What it is."""
        link = _connect()
        with link.cursor() as cursor:
            cursor.execute("SELECT VERSION()")
            ((told,),) = cursor.fetchall()
        link.close()
        return f"MariaDB {told.partition('-')[0]}"

    def fill(self, tables: list[dict[str, Any]]) -> None:
        """These tables and nothing else. Raises HostError (bad_request) if they cannot be made."""
        self.close()
        self._db = _connect()
        try:
            with self._db.cursor() as cursor:
                cursor.execute(f"DROP DATABASE IF EXISTS {self._name}")
                cursor.execute(f"CREATE DATABASE {self._name}")
                cursor.execute(f"USE {self._name}")
                for table in tables:
                    _make(cursor, table["name"], table["columns"], table["rows"])
        except (pymysql.Error, KeyError, TypeError) as error:
            raise HostError("bad_request", f"`tables` cannot be filled in: {error!r}") from None

    def run(self, sql: str, values: list[Any]) -> list[Row]:
        """What one statement answers. Raises StatementError."""
        try:
            with self._open().cursor() as cursor:
                cursor.execute(sql, values or None)
                return [[_plain(value) for value in row] for row in cursor.fetchall()]
        except pymysql.Error as error:
            raise StatementError(str(error)) from None

    def dump(self) -> tuple[dict[str, list[Row]], dict[str, list[str]]]:
        """All rows of all tables, each value as a text; and their columns."""
        rows, columns = {}, {}
        with self._open().cursor() as cursor:
            cursor.execute(f"SHOW TABLES FROM {self._name}")
            for (name,) in cursor.fetchall():
                cursor.execute(f"SELECT * FROM {self._name}.{_quoted(name)}")  # noqa: S608 - quoted
                columns[name] = [column[0] for column in cursor.description]
                rows[name] = [
                    [None if v is None else str(_plain(v)) for v in row] for row in cursor
                ]
        return rows, columns

    def close(self) -> None:
        """Forget everything."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _open(self) -> Any:
        if self._db is None:
            raise HostError("no_task", "no task is open; send the op `open` first")
        return self._db


def _make(cursor: Any, name: str, columns: list[str], rows: list[Row]) -> None:
    cells = ", ".join(f"{_quoted(column)} TEXT" for column in columns)
    cursor.execute(f"CREATE TABLE {_quoted(name)} ({cells})")
    for row in rows:  # a row that is short lacks its last values
        names = [_quoted(one).replace("%", "%%") for one in (name, *columns[: len(row)])]
        marks = ", ".join(["%s"] * len(row))
        into = f"INSERT INTO {names[0]} ({', '.join(names[1:])}) VALUES ({marks})"  # noqa: S608
        cursor.execute(into, row)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _plain(value: Any) -> Any:
    """As JSON can tell it: numbers that are none of its own as texts."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if value is None or isinstance(value, str | int | float) else str(value)
