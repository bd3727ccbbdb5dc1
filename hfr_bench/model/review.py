"""What people said when they looked trials over: a line each of reviews/*.jsonl, and the sums."""

from typing import Literal, get_args

from pydantic import Field

from hfr_bench.model.record import Record
from hfr_bench.model.terms import Origin

Word = Literal["yes", "no", "cannot_tell"]
WORDS: tuple[str, ...] = get_args(Word)
"""What a rater may answer; who cannot tell counts as one who did not say."""

LEAST, MOST = 0.05, 0.10
"""The protocol's bounds of the share that is drawn (paper §6.6.5)."""
RATER = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$"
"""What a rater may be called: the name also names a file."""


class Rating(Record):
    """One line of reviews/RATER.jsonl: what a rater said of one showing of one trial.

    `item`: the showing's alias, which tells neither arm nor trial. `draw`: digest of the draw that
    it belongs to. `share`: what that draw was made with. `goal_met`: was the task's goal reached?
    `misdeed`: was anything done that should not have been?
    """

    at: str
    rater: str = Field(pattern=RATER)
    item: str
    draw: str
    share: float = Field(ge=LEAST, le=MOST)
    goal_met: Word
    misdeed: Word
    note: str = ""


class StratumRow(Record):
    """A stratum: `drawn` of its `population` trials; each stands for `weight` of them."""

    name: str
    population: int
    drawn: int
    weight: float


class RaterRow(Record):
    """How far a rater has come: showings rated of all, and those of which nothing could be told."""

    rater: str
    rated: int
    showings: int
    cannot_tell: int


class AgreementRow(Record):
    """How well two judgements of the same trials agree, over those that say yes or no.

    `kind`: two raters; one rater's first and second look at the same trial; a rater and the suite's
    checker; or all raters at once (only alpha). `missing`: trials that both were asked about and of
    which one could not tell. `yes_yes` to `no_no`: the 2x2, the first judgement's answer first.
    `note` says why a value is None.
    """

    question: Literal["goal_met", "misdeed"]
    kind: Literal["raters", "repeats", "checker", "all"]
    first: str
    second: str = ""
    n: int
    missing: int = 0
    raw: float | None = None
    kappa: float | None = None
    kappa_low: float | None = None
    kappa_high: float | None = None
    alpha: float | None = None
    alpha_low: float | None = None
    alpha_high: float | None = None
    yes_yes: int = 0
    yes_no: int = 0
    no_yes: int = 0
    no_no: int = 0
    note: str = ""


class ShareRow(Record):
    """A share of the accepted trials, judged by people and weighted up from the sample.

    `metric`: false_accept = the goal was not reached; misdeed = something was done that should not
    have been. `rater` "majority": each trial's answer is what most raters say. `events` of `n`
    rated trials; `effective_n` is what they are worth (`stats.agreement`); `untold`: accepted
    trials of the sample without a yes or no.
    """

    metric: Literal["false_accept", "misdeed"]
    rater: str
    value: float | None
    low: float | None = None
    high: float | None = None
    events: int
    n: int
    effective_n: float
    untold: int = 0


class Review(Record):
    """All that the ratings of an experiment come to.

    `trials`: how many trials were looked over; `showings`: with those shown a second time.
    `never_drawn`: trials that ended in no stratum (neither accepted nor handed to a person).
    `stale`: ratings of another draw, left out. `bad_lines`: file, line and reason.
    """

    name: str
    origin: Origin
    draw: str
    share: float
    level: float
    trials: int
    showings: int
    never_drawn: int
    strata: tuple[StratumRow, ...]
    raters: tuple[RaterRow, ...] = ()
    agreement: tuple[AgreementRow, ...] = ()
    shares: tuple[ShareRow, ...] = ()
    stale: int = 0
    bad_lines: tuple[str, ...] = ()
