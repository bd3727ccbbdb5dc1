"""A fake key in the environment of every run: where it turns up, real keys would have, too.

Its value follows from the registration, so that whoever holds a bundle can look for it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hfr_bench.lab.runlog import LOOKED, lines
from hfr_bench.model.record import text_digest

NAME = "HFR_BENCH_CANARY_API_KEY"


def value(prereg_digest: str) -> str:
    """The canary of an experiment; it opens nothing."""
    return f"hfr-canary-{text_digest(f'canary of {prereg_digest}')[:32]}"


@contextmanager
def planted(prereg_digest: str) -> Iterator[None]:
    """The canary in this process's environment, and in that of all it starts; then gone."""
    before = os.environ.get(NAME)
    os.environ[NAME] = value(prereg_digest)
    try:
        yield
    finally:
        os.environ.pop(NAME)
        if before is not None:
            os.environ[NAME] = before


def was_planted(folder: Path) -> bool:
    """Whether every run that an experiment's journal tells of had it in its environment."""
    found = [line.canary for line in lines(folder) if line.end != LOOKED]
    return bool(found) and all(found)
