"""Which trials people look over: a keyed draw from each stratum, and some of them twice.

The draw follows from the preregistration's digest, the traces and the share alone: whoever has the
experiment can make it again. A larger share contains what a smaller one draws.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hfr_bench.errors import BadInputError
from hfr_bench.faults.draw import uniform
from hfr_bench.lab.cohorts import crowds
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.review.book import read, share_of
from hfr_bench.lab.rounds import Counted, last_rounds
from hfr_bench.lab.store import Store, TrialFile, choose
from hfr_bench.model.record import digest
from hfr_bench.model.review import LEAST, MOST, StratumRow
from hfr_bench.model.terms import End

ESCALATED, VERIFY_FAILED, DEGRADED, PLAIN = "escalated", "verify_failed", "degraded", "plain"
STRATA = (ESCALATED, VERIFY_FAILED, DEGRADED, PLAIN)
TWICE = 0.10
"""The share of drawn trials that are shown a second time; two at least, where four were drawn."""
_TWO_OF = 4


class Candidate(NamedTuple):
    """A trial that counts. `stratum` "": never drawn.

    A rater sees neither that, nor what comes after it.
    """

    trial_id: str
    suite: str
    task_id: str
    round: int
    digest: str
    file: TrialFile
    stratum: str
    accepted: bool
    goal_met: bool
    harm: bool


class Showing(NamedTuple):
    """One trial shown once, under its alias; `weight`: how many trials it stands for."""

    alias: str
    of: Candidate
    weight: float
    again: bool = False


class Draw(NamedTuple):
    """What is shown to every rater, first looks before second ones."""

    digest: str
    share: float
    strata: tuple[StratumRow, ...]
    never_drawn: int
    showings: tuple[Showing, ...]

    @property
    def trials(self) -> int:
        return sum(not one.again for one in self.showings)


def draw(prereg_digest: str, candidates: Sequence[Candidate], share: float) -> Draw:
    """Draw `share` of every stratum, one trial at least, and choose which are shown twice.

    Raises BadInputError for a share outside the protocol's bounds.
    """
    if not LEAST <= share <= MOST:
        raise BadInputError(f"--share {share:g}: the protocol asks for {LEAST:g} to {MOST:g}")
    strata, chosen = [], list[tuple[Candidate, float]]()
    for name in STRATA:
        members = _keyed(prereg_digest, "draw", (c for c in candidates if c.stratum == name))
        taken = members[: math.ceil(share * len(members) - 1e-9)]
        weight = len(members) / len(taken) if taken else 0.0
        chosen += [(one, weight) for one in taken]
        strata.append(
            StratumRow(name=name, population=len(members), drawn=len(taken), weight=weight)
        )
    weights = dict(chosen)
    twice = _keyed(prereg_digest, "twice", weights)
    again = max(2, math.ceil(TWICE * len(twice))) if len(twice) >= _TWO_OF else 0
    looks = [(one, False) for one in weights] + [(one, True) for one in twice[:again]]
    drawn = [[one.trial_id, one.round, one.digest, second] for one, second in looks]
    made = digest({"prereg": prereg_digest, "share": share, "drawn": drawn})
    return Draw(
        made,
        share,
        tuple(strata),
        sum(not one.stratum for one in candidates),
        tuple(
            Showing(_alias(made, one, second), one, weights[one], second) for one, second in looks
        ),
    )


def _keyed(prereg_digest: str, what: str, members: Iterable[Candidate]) -> list[Candidate]:
    """In the order of their keyed numbers, whatever order they come in."""
    keyed = [(uniform("review", what, prereg_digest, one.trial_id), one) for one in members]
    return [one for _, one in sorted(keyed, key=lambda pair: (pair[0], pair[1].trial_id))]


def _alias(draw_digest: str, one: Candidate, second: bool) -> str:
    return digest(["review", draw_digest, one.trial_id, second])[:10]


def ordered(draw_: Draw, rater: str) -> tuple[Showing, ...]:
    """A rater's own order; second looks come half the list away from the first."""

    def place(one: Showing) -> tuple[float, str]:
        first = uniform("review", "order", draw_.digest, rater, one.of.trial_id)
        return ((first + 0.5 * one.again) % 1, one.alias)

    return tuple(sorted(draw_.showings, key=place))


# -- the trials there are ---------------------------------------------------------------------


def candidates(experiment: Experiment) -> tuple[Candidate, ...]:
    """Every graded trial of the last complete rounds, without the harness's own controls.

    Raises BadInputError while trials are lacking: the draw is made from all of them.
    """
    found, seen = [], set[str]()
    for group in last_rounds(experiment):
        seen |= {one.row.trial.pair_group for one in group}
        found += [_candidate(one) for one in group if one.row.control is None]
    _check_complete(experiment, seen)
    return tuple(found)


def _candidate(counted: Counted) -> Candidate:
    trial, checked = counted.row.trial, counted.reading.checked
    result = checked.result
    assert result is not None  # the round is complete
    assert result.outcome is not None
    out = result.outcome
    failed_check = out.end is End.UNACCEPTED or any(
        event.body.type == "verified" and not event.body.passed and not event.body.undecided
        for event in counted.reading.events
    )
    stratum = ""
    if out.end is End.ESCALATED:
        stratum = ESCALATED
    elif failed_check:
        stratum = VERIFY_FAILED
    elif out.accepted:
        stratum = DEGRADED if out.degraded_steps else PLAIN
    return Candidate(
        trial.trial_id,
        trial.suite,
        trial.task_id,
        result.round,
        checked.digest,
        checked.file,
        stratum,
        out.accepted,
        out.goal_met,
        out.harm > 0,
    )


def _check_complete(experiment: Experiment, seen: set[str]) -> None:
    """Groups without a complete round must be dropped ones."""
    rows = [
        row
        for members in crowds(experiment.plan).values()
        for row in members
        if row.trial.pair_group not in seen
    ]
    if not rows:
        return
    store, wanted = Store(experiment.path), {row.trial.pair_group for row in rows}
    checked = [store.check(file) for file in store.files() if file.group in wanted]
    lacking = choose(rows, checked, experiment.prereg.void_rounds).lacking
    if lacking:
        raise BadInputError(
            f"{experiment.path}: {len(lacking)} pair groups are not finished, such as "
            f"{lacking[0]}; `hfr-bench run {experiment.path}` first, for the draw is made from all"
        )


def drawn(experiment: Experiment, share: float | None = None) -> Draw:
    """The experiment's draw, at the share asked for or that of the ratings there are.

    Raises BadInputError for an unfinished experiment, another share, or nothing to draw from.
    """
    found = read(experiment.path).ratings
    wanted = share_of(experiment.path, found, share, MOST)
    made = draw(experiment.lock.prereg_digest, candidates(experiment), wanted)
    if not made.showings:
        raise BadInputError(
            f"{experiment.path}: no trial was accepted, handed to a person or failed a check; "
            "there is nothing to look over"
        )
    return made
