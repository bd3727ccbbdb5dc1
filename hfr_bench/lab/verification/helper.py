"""What a helper does for a verification (`crew`), and how each of it is told to it.

It has the bundle and the copy that the levels work on, and gives back what this process would have
found itself: the same functions make it.
"""

from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from hfr_bench.lab.ingest import Ingest
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.rendering import sides
from hfr_bench.lab.rendering.pages import pages
from hfr_bench.lab.verification.frozen import Drawn, draw_again, frozen_of, ingest_of
from hfr_bench.lab.verification.read import Files, opened
from hfr_bench.lab.verification.traces import Reader, Seen, lay
from hfr_bench.model.report import Report

_open = ExitStack()  # for as long as the helper lives
frozen = lru_cache(maxsize=1)(frozen_of)
"""What was frozen, read once a process: a fork has it from whom it helps."""


class Traces(NamedTuple):
    """Traces to be read out of a bundle.

    `content`: content.json, where facts are to be made of them. `keep`: with a copy in the folder.
    """

    bundle: Path
    folder: Path
    content: bytes | None
    keep: bool
    names: tuple[str, ...]


@lru_cache(maxsize=1)
def ingest(folder: Path, content: bytes) -> Ingest:
    """`ingest_of` what was frozen; alike."""
    return ingest_of(folder, frozen(folder, content))


@lru_cache(maxsize=1)
def _files(bundle: Path, _: Path) -> Files:
    """Opened anew for each verification, which has a folder of its own."""
    return _open.enter_context(opened(bundle))


@lru_cache(maxsize=1)
def _reader(bundle: Path, folder: Path, content: bytes | None, keep: bool) -> Reader:
    made = None if content is None else ingest(folder, content)
    return Reader(_files(bundle, folder), folder, made, keep=keep)


def traces(job: Traces) -> list[Seen]:
    """What they say."""
    return _reader(job.bundle, job.folder, job.content, job.keep).read(job.names)


def drawn(folder: Path, content: bytes) -> Drawn:
    """Schedules and plan, drawn again."""
    return draw_again(folder, frozen(folder, content))


def drawn_pages(
    bundle: Path, folder: Path, content: bytes, said: bytes, *, html: bool
) -> dict[str, bytes]:
    """The pages that show a report as it is in a bundle."""
    was, report = frozen(folder, content), Report.loads(said)
    experiment = Experiment(folder, was.prereg, was.lock, was.plan, was.book(folder))
    lay(_files(bundle, folder), folder, sides.traces(report))
    return pages(report, experiment, drawn=html)
