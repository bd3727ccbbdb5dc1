"""`reviews/RATER.jsonl`: ratings, append-only, each on the disk before the next is asked for."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.lab.seal import REVIEWS
from hfr_bench.lab.store import BadLine
from hfr_bench.model.review import RATER, Rating


class Book(NamedTuple):
    """All ratings of an experiment, a rater's in the order they were given, and bad lines."""

    ratings: tuple[Rating, ...]
    bad: tuple[BadLine, ...]

    def of(self, rater: str, draw: str) -> dict[str, Rating]:
        """A rater's last word on each showing of a draw."""
        return {r.item: r for r in self.ratings if (r.rater, r.draw) == (rater, draw)}


def check_rater(name: str) -> str:
    """The name, if a file may be called so. Raises BadInputError."""
    if not re.fullmatch(RATER, name):
        raise BadInputError(
            f"--rater {name!r}: up to 40 letters, digits, - and _, for it names a file"
        )
    return name


def there_are(folder: Path) -> bool:
    """Whether anybody has rated anything."""
    return bool(_files(folder))


def read(folder: Path) -> Book:
    """Every rating; a line that is none, or stands in another rater's file, is named and left."""
    found, bad = [], []
    for path in _files(folder):
        name = f"{REVIEWS}/{path.name}"
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            try:
                rating = Rating.loads(line) if line else None
            except ValidationError:
                bad.append(BadLine(name, number, "not a rating"))
                continue
            if rating is not None and rating.rater != path.stem:
                bad.append(BadLine(name, number, f"a rating by {rating.rater}"))
            elif rating is not None:
                found.append(rating)
    return Book(tuple(found), tuple(bad))


def _files(folder: Path) -> list[Path]:
    """The raters' files; what no rater can be called is not one, nor does a bundle take it."""
    found = (folder / REVIEWS).glob("*.jsonl")
    return sorted(path for path in found if re.fullmatch(RATER, path.stem))


def append(folder: Path, rating: Rating) -> None:
    """Write a rating through to the disk; a half-written line before it is closed first.

    Raises InfrastructureError if the file cannot be written.
    """
    path = folder / REVIEWS / f"{rating.rater}.jsonl"
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("a+b") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(rating.dumps().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InfrastructureError(
            f"{path}: the rating was not written: {error.strerror or error}"
        ) from error


def share_of(folder: Path, ratings: Sequence[Rating], asked: float | None, usual: float) -> float:
    """The share to draw: as asked for, as the ratings there were drawn with, or the usual one.

    Raises BadInputError if the ratings that there are belong to another share: two draws of
    different sizes are not one sample.
    """
    given = ratings[-1].share if ratings else None
    if given is not None and asked is not None and asked != given:
        raise BadInputError(
            f"--share {asked:g}: what is in {folder / REVIEWS} was drawn with {given:g}; leave "
            "--share out, or move those ratings away"
        )
    if given is not None:
        return given
    return usual if asked is None else asked
