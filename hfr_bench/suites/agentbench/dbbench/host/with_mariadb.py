"""The same host with MariaDB in place of SQLite: what its container starts."""

import os
import sys

if not __package__:
    # Started by path: become the package `host`, so that relative imports work (PEP 366).
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is slow
    sys.path[0] = os.path.dirname(here)  # noqa: PTH120
    __import__("host")
    __package__ = "host"

from .main import main
from .mariadb import start

if __name__ == "__main__":
    raise SystemExit(main(start()))
