"""One rater's way through the draw: what is shown next, and what was said, written at once."""

from collections.abc import Sequence
from threading import Lock
from typing import cast

from hfr_bench.errors import BadInputError
from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.review.book import append, check_rater, read
from hfr_bench.lab.review.draw import Draw, Showing, ordered
from hfr_bench.lab.review.view import View, Words, view
from hfr_bench.lab.review.words import words
from hfr_bench.lab.runlog import now
from hfr_bench.lab.store import Store
from hfr_bench.model.review import WORDS, Rating, Word

NOTE_MAX = 4000  # characters


class Session:
    """A rater at work in an experiment. Thread-safe: a browser may ask for two pages at once.

    `told`: what a rater should know beforehand (which texts cannot be shown).
    """

    def __init__(self, experiment: Experiment, draw_: Draw, rater: str, redactor: Redactor) -> None:
        self.experiment = experiment
        self.rater = check_rater(rater)
        self.draw = draw_
        self.showings: Sequence[Showing] = ordered(draw_, rater)
        self._by_alias = {one.alias: one for one in self.showings}
        self._said = read(experiment.path).of(rater, draw_.digest)
        self._words, self.told = words(experiment)
        self._red = redactor
        self._lock = Lock()

    @property
    def rated(self) -> int:
        return len(self._said)

    def numbers(self) -> list[tuple[int, str, bool]]:
        """Each showing in the rater's order: number from 1, alias, whether it is rated."""
        return [(n, one.alias, one.alias in self._said) for n, one in enumerate(self.showings, 1)]

    def number(self, alias: str) -> int:
        """A showing's place in the rater's order, from 1. Raises KeyError for no showing."""
        return self.showings.index(self._by_alias[alias]) + 1

    def said(self, alias: str) -> Rating | None:
        """What was said of a showing last."""
        return self._said.get(alias)

    def after(self, alias: str = "") -> str | None:
        """The next showing without a rating, from a showing on and round; None: all are rated."""
        start = self.number(alias) if alias else 0
        turn = [*self.showings[start:], *self.showings[:start]]
        return next((one.alias for one in turn if one.alias not in self._said), None)

    def view(self, alias: str) -> View:
        """What is shown. Raises KeyError for no showing."""
        one = self._by_alias[alias].of
        trace = Store(self.experiment.path).trace(one.file)
        task = (one.suite, one.task_id)
        return view(trace.events, task, self._words.get(task, Words()), self._red)

    def rate(self, alias: str, goal_met: str, misdeed: str, note: str = "") -> Rating:
        """Write a rating down; an earlier one stays in the file, and the last one counts.

        Raises KeyError for no showing, BadInputError for an answer that is none,
        InfrastructureError if it cannot be written.
        """
        self._by_alias[alias]
        for name, given in (("goal", goal_met), ("misdeed", misdeed)):
            if given not in WORDS:
                raise BadInputError(f"{name}: one of {', '.join(WORDS)}")
        rating = Rating(
            at=now(),
            rater=self.rater,
            item=alias,
            draw=self.draw.digest,
            share=self.draw.share,
            goal_met=cast("Word", goal_met),
            misdeed=cast("Word", misdeed),
            note=self._red.text(note.strip())[:NOTE_MAX],
        )
        with self._lock:
            append(self.experiment.path, rating)
            self._said[alias] = rating
        return rating
