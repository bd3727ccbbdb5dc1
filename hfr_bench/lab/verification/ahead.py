"""What of a verification is begun before its turn, and by whom (`lab.verification.crew`).

    traces ──── in chunks, by everybody who is free
    pages ───── drawn by a helper from the report as it lies in the bundle, while the numbers are
                made again here; they count only if those are that report, byte by byte
    schedules ─ drawn again by a helper, meanwhile too

Helpers begin once all but the traces is laid out and read: those that are forks have it then.
Without helpers all of it is done here, when its turn comes.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path

from hfr_bench.errors import HfrError
from hfr_bench.lab import seal
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.rendering import sides
from hfr_bench.lab.rendering.pages import HTML, pages
from hfr_bench.lab.review.book import there_are
from hfr_bench.lab.verification import helper
from hfr_bench.lab.verification.crew import WORTH, Asked, Crew
from hfr_bench.lab.verification.files import Work
from hfr_bench.lab.verification.frozen import Drawn, Frozen, draw_again
from hfr_bench.lab.verification.read import Files
from hfr_bench.lab.verification.traces import Reader, Seen, chunks, file_of, lay
from hfr_bench.model.report import Report

_DRAWN, _NUMBERS, _AGAIN = 2, 3, 4  # levels
_LOADS = "hfr_bench.lab.analyse"  # by this process alone: numpy and scipy


class Ahead:
    """One verification's. `level`: up to which it goes. `frozen`: what was, once it was read."""

    def __init__(self, crew: Crew, path: Path, files: Files, level: int) -> None:
        self._crew, self._path, self._files, self._level = crew, path, files, level
        self._drawn: Asked[Drawn] | None = None
        self._pages: Asked[dict[str, bytes] | None] | None = None
        self._kept: Mapping[str, bytes] = {}
        self.frozen: Frozen | None = None

    def read(self, work: Work, names: Sequence[str]) -> Iterator[Seen]:
        """All traces; with their facts if numbers will be made of them, and all it takes is there.

        What is wrong with a frozen file is said by the level that reads it.
        """
        ingest, made_of = None, work.kept.get(seal.CONTENT, b"")
        with suppress(HfrError, ValueError):
            if self._level >= _DRAWN:
                self.frozen = helper.frozen(work.folder, made_of)
            if self._level >= _NUMBERS:
                ingest = helper.ingest(work.folder, made_of)
        if sum(self._files.sizes.values()) >= WORTH:
            self._crew.begin()
        keep = self._come_back(work)
        reader = Reader(self._files, work.folder, ingest, keep=keep)
        if ingest is not None:  # trials of one schedule together: it is parsed once
            order = {name: ingest.order(file_of(work.folder, name)) for name in names}
            names = sorted(names, key=lambda name: order[name])

        content = None if ingest is None else made_of

        def here(job: helper.Traces) -> list[Seen]:
            return reader.read(job.names)

        def meanwhile() -> None:
            if ingest is not None:
                self._begin_pages(work, made_of)
            if self.frozen is not None:
                again = partial(draw_again, work.folder, self.frozen)
                self._drawn = self._crew.ask(helper.drawn, work.folder, made_of, here=again)
            if ingest is not None:
                import_module(_LOADS)

        jobs = [
            helper.Traces(self._path, work.folder, content, keep, tuple(some))
            for some in chunks(names)
        ]
        for found in self._crew.share(helper.traces, here, jobs, meanwhile):
            yield from found

    def _begin_pages(self, work: Work, made_of: bytes) -> None:
        draw = partial(helper.drawn_pages, html=HTML in work.kept)
        args = (self._path, work.folder, made_of, work.kept.get(seal.REPORT, b""))
        self._pages = self._crew.ask(draw, *args, here=lambda: None)

    def _come_back(self, work: Work) -> bool:
        """Whether more is asked of all traces than what is seen when they are read."""
        redacted = seal.REDACTED in work.kept or seal.REDACTIONS in work.kept
        return redacted or self._level >= _AGAIN or there_are(work.folder)

    def begin(self, work: Work) -> None:
        """What numbers and pages will need; called once, when the traces were read."""
        self._kept = work.kept
        if self._level >= _NUMBERS and work.facts is None:  # made again, for what is to be said
            lay(self._files, work.folder, set(self._files.names))

    def drawn(self) -> Drawn:
        """Schedules and plan, drawn again. Raises ValueError if they cannot be."""
        assert self._drawn is not None  # what was frozen can be read
        return self._drawn()

    def pages(self, made: Report, text: bytes, experiment: Experiment) -> dict[str, bytes]:
        """The pages that show the report that was made here; `text`: it, as JSON.

        Those of a helper, if they are of this very report, and are what lies in the bundle; what is
        to be called a lie is drawn here.
        """
        ready = self._pages() if self._pages is not None else None
        if (
            ready is not None
            and text == self._kept.get(seal.REPORT)
            and all(self._kept.get(name) == text for name, text in ready.items())
        ):
            return ready
        lay(self._files, experiment.path, sides.traces(made))
        return pages(made, experiment, drawn=HTML in self._kept)
