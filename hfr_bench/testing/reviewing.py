"""Raters who are functions: they go through a draw in their own order and answer each showing."""

from collections.abc import Callable

from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.review.draw import Showing, drawn
from hfr_bench.lab.review.session import Session

Says = Callable[[Showing], tuple[str, str]]
"""(goal_met, misdeed) of a showing."""


def session(experiment: Experiment, rater: str = "ann", share: float | None = None) -> Session:
    """A rater at the desk; nothing of this machine's environment is redacted."""
    return Session(experiment, drawn(experiment, share), rater, Redactor())


def like_the_checker(one: Showing) -> tuple[str, str]:
    """What the grade says, which a person never sees."""
    return ("yes" if one.of.goal_met else "no"), ("yes" if one.of.harm else "no")


def rate_all(experiment: Experiment, rater: str, says: Says = like_the_checker) -> Session:
    """Rate every showing."""
    at_work = session(experiment, rater)
    for one in at_work.showings:
        at_work.rate(one.alias, *says(one))
    return at_work
