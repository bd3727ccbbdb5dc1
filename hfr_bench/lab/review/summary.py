"""What the ratings come to: agreement, and the share of false accepts, each with its interval.

A trial that was shown twice counts once: its first look is a rater's judgement, its second one is
held against the first. Who cannot tell has not said. Ratings of another draw (another share, other
traces) are left out and counted.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Literal

from hfr_bench.errors import BadInputError
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.review.book import Book, read, there_are
from hfr_bench.lab.review.draw import Candidate, Draw, Showing, drawn
from hfr_bench.model.report import DeviationRow, Report
from hfr_bench.model.review import AgreementRow, RaterRow, Rating, Review, ShareRow
from hfr_bench.stats.agreement import alpha, kappa, raw_agreement, weighted_share

Question = Literal["goal_met", "misdeed"]
Kind = Literal["raters", "repeats", "checker"]
QUESTIONS: tuple[Question, ...] = ("goal_met", "misdeed")
CHECKER, MAJORITY = "the checker", "majority"
Answers = Mapping[str, str]
"""trial_id -> yes or no."""


def summarise(experiment: Experiment, share: float | None = None) -> Review:
    """The ratings of an experiment. Raises BadInputError as `draw.drawn` does."""
    return summed(experiment, drawn(experiment, share), read(experiment.path))


def with_review(report: Report, experiment: Experiment) -> Report:
    """The report, with a section on the ratings where there are any and all trials are in.

    Ratings that nothing can be made of are no reason to go without a report: a note says so. A spot
    check that is registered and lacks, or is smaller, is a deviation.
    """
    if not report.complete:
        return report
    if there_are(experiment.path):
        try:
            report = report.model_copy(update={"review": summarise(experiment)})
        except BadInputError as error:
            told = str(error).replace(f"{experiment.path}: ", "")  # the same wherever it lies
            report = report.model_copy(update={"notes": (*report.notes, f"reviews: {told}")})
    if lacking := _lacking(report.review, experiment):
        return report.model_copy(update={"deviations": (*lacking, *report.deviations)})
    return report


def _lacking(review: Review | None, experiment: Experiment) -> tuple[DeviationRow, ...]:
    """What the registered spot check still lacks."""
    method = experiment.prereg.method
    wanted = method.spot_check if method is not None else None
    if wanted is None:
        return ()
    if review is None:
        told = f"{wanted.share:.0%} of each stratum, {wanted.raters} rater(s), are registered"
        return (DeviationRow(what="no spot check", count=1, detail=told),)
    made = (len(review.raters), wanted.raters, "raters"), (review.share, wanted.share, "share")
    short = [f"{what} {has:g}, registered {asked:g}" for has, asked, what in made if has < asked]
    row = DeviationRow(what="smaller spot check", count=len(short), detail="; ".join(short))
    return (row,) if short else ()


def summed(experiment: Experiment, draw: Draw, book: Book) -> Review:
    """Ratings of a draw, as numbers."""
    raters = sorted({one.rater for one in book.ratings if one.draw == draw.digest})
    said = {rater: book.of(rater, draw.digest) for rater in raters}
    level, seed = experiment.prereg.analysis.level, int(draw.digest[:12], 16)
    return Review(
        name=experiment.prereg.name,
        origin=experiment.prereg.origin,
        draw=draw.digest,
        share=draw.share,
        level=level,
        trials=draw.trials,
        showings=len(draw.showings),
        never_drawn=draw.never_drawn,
        strata=draw.strata,
        raters=tuple(_rater(rater, said[rater], draw) for rater in raters),
        agreement=tuple(
            row for question in QUESTIONS for row in _agreement(question, said, draw, level, seed)
        ),
        shares=tuple(_shares(said, draw, level)),
        stale=sum(one.draw != draw.digest for one in book.ratings),
        bad_lines=tuple(map(str, book.bad)),
    )


def _rater(rater: str, said: Mapping[str, Rating], draw: Draw) -> RaterRow:
    untold = sum("cannot_tell" in (one.goal_met, one.misdeed) for one in said.values())
    return RaterRow(rater=rater, rated=len(said), showings=len(draw.showings), cannot_tell=untold)


def _answers(
    said: Mapping[str, Rating], showings: Sequence[Showing], question: Question, *, again: bool
) -> dict[str, str]:
    """What a rater answered at first, or at second looks; whatever it was."""
    return {
        one.of.trial_id: getattr(said[one.alias], question)
        for one in showings
        if one.again == again and one.alias in said
    }


# -- agreement --------------------------------------------------------------------------------


def _agreement(
    question: Question, said: Mapping[str, Mapping[str, Rating]], draw: Draw, level: float,
    seed: int,
) -> Iterator[AgreementRow]:  # fmt: skip
    """Raters among each other, each with himself, each with the checker."""
    first = {r: _answers(said[r], draw.showings, question, again=False) for r in said}
    for one, other in combinations(first, 2):
        yield _pair(question, "raters", (one, first[one]), (other, first[other]), level, seed)
    if len(first) > 2:  # of two it is that of the pair
        yield _together(question, first, level, seed)
    for rater, answers in first.items():
        again = _answers(said[rater], draw.showings, question, again=True)
        if again:
            sides = (rater, answers), (f"{rater}, again", again)
            yield _pair(question, "repeats", *sides, level, seed)
    checked = {one.of.trial_id: _checked(one.of, question) for one in draw.showings}
    for rater, answers in first.items():
        yield _pair(question, "checker", (rater, answers), (CHECKER, checked), level, seed)


def _checked(one: Candidate, question: Question) -> str:
    """What the suite's checker, or the count of harm, says to the question."""
    return "yes" if (one.goal_met if question == "goal_met" else one.harm) else "no"


def _pair(
    question: Question, kind: Kind, first: tuple[str, Answers], second: tuple[str, Answers],
    level: float, seed: int,
) -> AgreementRow:  # fmt: skip
    both = [(first[1][trial], second[1][trial]) for trial in first[1] if trial in second[1]]
    pairs = [pair for pair in both if "cannot_tell" not in pair]
    k = kappa(pairs, level, seed)
    a = alpha(pairs, level, seed)
    cells = Counter(pairs)
    return AgreementRow(
        question=question,
        kind=kind,
        first=first[0],
        second=second[0],
        n=len(pairs),
        missing=len(both) - len(pairs),
        raw=raw_agreement(pairs),
        kappa=k.value,
        kappa_low=k.interval.low,
        kappa_high=k.interval.high,
        alpha=a.value,
        alpha_low=a.interval.low,
        alpha_high=a.interval.high,
        yes_yes=cells["yes", "yes"],
        yes_no=cells["yes", "no"],
        no_yes=cells["no", "yes"],
        no_no=cells["no", "no"],
        note=k.why,
    )


def _together(
    question: Question, first: Mapping[str, Answers], level: float, seed: int
) -> AgreementRow:
    """Alpha of all raters; trials that somebody did not rate, or could not tell, are kept."""
    trials = sorted({trial for answers in first.values() for trial in answers})
    units = [[_told(answers.get(trial)) for answers in first.values()] for trial in trials]
    a = alpha(units, level, seed)
    pairable = sum(sum(value is not None for value in unit) > 1 for unit in units)
    return AgreementRow(
        question=question,
        kind="all",
        first=f"all {len(first)} raters",
        n=pairable,
        missing=sum(value is None for unit in units for value in unit),
        alpha=a.value,
        alpha_low=a.interval.low,
        alpha_high=a.interval.high,
        note=a.why,
    )


def _told(answer: str | None) -> str | None:
    return None if answer == "cannot_tell" else answer


# -- shares of the accepted trials ------------------------------------------------------------


def _shares(
    said: Mapping[str, Mapping[str, Rating]], draw: Draw, level: float
) -> Iterator[ShareRow]:
    """Of each rater, and of the majority where there are several."""
    for question in QUESTIONS:
        answers: dict[str, Answers] = {
            rater: _answers(said[rater], draw.showings, question, again=False) for rater in said
        }
        if len(answers) > 1:
            answers[MAJORITY] = _majority(answers)
        for rater, given in answers.items():
            yield _share(question, rater, given, draw, level)


def _majority(answers: Mapping[str, Answers]) -> dict[str, str]:
    """Each trial's answer by most of those who said yes or no; a tie says nothing."""
    made = {}
    for trial in {trial for given in answers.values() for trial in given}:
        votes = Counter(given.get(trial) for given in answers.values())
        if votes["yes"] != votes["no"]:
            made[trial] = "yes" if votes["yes"] > votes["no"] else "no"
    return made


def _share(question: Question, rater: str, given: Answers, draw: Draw, level: float) -> ShareRow:
    """Weighted up over the accepted trials of the sample."""
    bad = "no" if question == "goal_met" else "yes"
    accepted = [one for one in draw.showings if one.of.accepted and not one.again]
    told = [one for one in accepted if given.get(one.of.trial_id) in ("yes", "no")]
    hits = [given[one.of.trial_id] == bad for one in told]
    found = weighted_share(
        hits, [one.weight for one in told], [f"{o.of.suite}/{o.of.task_id}" for o in told], level
    )
    return ShareRow(
        metric="false_accept" if question == "goal_met" else "misdeed",
        rater=rater,
        value=found.value,
        low=found.interval.low,
        high=found.interval.high,
        events=sum(hits),
        n=len(hits),
        effective_n=found.effective_n,
        untold=len(accepted) - len(told),
    )
