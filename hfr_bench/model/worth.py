"""What an arm is worth at registered prices, and how its risk grows with what it finishes."""

from pydantic import Field

from hfr_bench.model.record import Record


class PriceRatios(Record):
    """What a person and a harmful effect cost, in successes: registered, never fitted.

    `human`: of one escalation; `harm`: of one harmful effect. All pairs of them are reported.
    """

    human: tuple[float, ...] = Field(default=(0.0, 0.2, 0.5), min_length=1, max_length=8)
    harm: tuple[float, ...] = Field(default=(0.0, 1.0, 5.0), min_length=1, max_length=8)


class UtilityRow(Record):
    """An arm's utility a trial, over all rates above 0, in successes: 1 each, less what it cost.

    `difference`: minus the baseline's; `regret`: what the arm that sees the truth has more, None
    without one. `even_harm`: the price of harm at which it is worth as much as the baseline, at
    this price of people; `even_human`: the other way round; None where no price of 0 or more does.
    Bounds are None where too few tasks differ for an interval.
    """

    arm: str
    human: float
    harm: float
    n: int
    value: float | None
    low: float | None = None
    high: float | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    regret: float | None = None
    regret_low: float | None = None
    regret_high: float | None = None
    even_harm: float | None = None
    even_human: float | None = None


class CoverageRow(Record):
    """A point of an arm's risk-coverage curve, over all rates above 0.

    Of `n` trials, `covered` were accepted after at most `extra` attempts beyond one a step (None:
    however many); `wrong` of those missed the goal or did harm. `low`, `high` bound wrong/covered.
    """

    arm: str
    extra: int | None
    n: int
    covered: int
    wrong: int
    low: float | None = None
    high: float | None = None
