"""One run at a time in a directory: two would write the same traces."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hfr_bench.errors import BadInputError

LOCK_FILE = ".run.lock"


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold the directory while at work in it; the lock ends with the process, however it ends.

    Raises BadInputError if another process holds it.
    """
    with (folder / LOCK_FILE).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BadInputError(f"{folder}: another `hfr-bench run` is at work here") from error
        yield
