"""What a trial's trace and schedule say of it beyond its result, as integers (DESIGN §7)."""

from typing import NamedTuple

from hfr_bench.model.terms import CheckLevel


class CheckSums(NamedTuple):
    """The verdicts of one check level in a trial, held against what was really done to the answer.

    `altered`: answers that a silent fault had altered, `let`: those of them that the check let
    pass. `intact`: all other answers, `barred`: those that it did not let pass. `undecided`:
    answers on which it gave no verdict; they are in none of the four.
    """

    level: CheckLevel
    altered: int = 0
    let: int = 0
    intact: int = 0
    barred: int = 0
    undecided: int = 0


class Measures(NamedTuple):
    """A whole trial's integers.

    `met`: an attempt of the trial met a planned fault. `person`: one of those leaves only a person
    as a safe end (`FaultEvent.safe_outcome`). `safe_us`: from the first fault met to the first
    moment from which nothing was open any more, people's delay included; None without a fault, and
    where the trial never got there. `unanswered_microusd`: what attempts without an answer cost;
    None with an unknown price. `checks`: of answers, by level, in order.
    """

    met: bool = False
    person: bool = False
    safe_us: int | None = None
    unanswered_microusd: int | None = 0
    checks: tuple[CheckSums, ...] = ()
