"""Where a mix that is partly unknown is at its best and at its worst: exact, without a solver.

An answer is linear in how much of each fault there is: `sum(mass x effect of one fault)`. What is
not known leaves a box of masses whose parts add up to a whole, and a linear function over such a
box is smallest at a corner that is found by filling up: the least first (a fractional knapsack).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from hfr_bench.model.mix import Bounds

Masses = Mapping[tuple[int, str], float]
"""How much of a key there is, by the number of its part and the key."""


class Option(NamedTuple):
    """One thing that a fault of a part may be.

    `keys`: the effect's name; or two, if the write may have landed (first) or not. `landed`: how
    often it had, of two keys.
    """

    keys: tuple[str, ...]
    share: Bounds
    landed: Bounds = (1.0, 1.0)


class Part(NamedTuple):
    """One sort of failure: how much of it there is, and what it may be.

    `amount`: a fraction of calls, or a share of the whole. The shares of its options add up to 1,
    as far as their upper bounds allow.
    """

    amount: Bounds
    options: tuple[Option, ...]


class Parts(NamedTuple):
    """A mix. `whole`: amounts are shares that add up to 1; `overall`: of what fraction of calls."""

    parts: tuple[Part, ...]
    whole: bool = False
    overall: Bounds = (1.0, 1.0)


def fill(bounds: Sequence[Bounds], costs: Sequence[float], total: float) -> list[float]:
    """Amounts within bounds that add up to `total`, at the least cost.

    Where the bounds do not reach the total, all are at their upper ones; lower bounds always hold.
    """
    amounts = [low for low, _ in bounds]
    left = max(0.0, total - sum(amounts))
    for n in sorted(range(len(bounds)), key=lambda n: costs[n]):
        more = min(left, bounds[n][1] - bounds[n][0])
        amounts[n] += more
        left -= more
    return amounts


def lowest(mix: Parts, effect: Callable[[int, str], float]) -> Masses:
    """The masses, within what is known, that make `sum(mass x effect)` smallest.

    `effect`: of one fault, by the number of a part and a key; negate it for the largest sum.
    """
    shares = [_lowest(n, part, effect) for n, part in enumerate(mix.parts)]
    costs = [_sum(found, effect) for found in shares]
    if mix.whole:
        amounts = fill([part.amount for part in mix.parts], costs, 1.0)
        value = sum(a * cost for a, cost in zip(amounts, costs, strict=True))
        times = mix.overall[value < 0]
        amounts = [times * amount for amount in amounts]
    else:
        amounts = [part.amount[cost < 0] for part, cost in zip(mix.parts, costs, strict=True)]
    return {
        key: amount * share
        for amount, found in zip(amounts, shares, strict=True)
        for key, share in found.items()
    }


def _lowest(n: int, part: Part, effect: Callable[[int, str], float]) -> Masses:
    """The same for one fault of a part."""
    split = [_landed(n, option, effect) for option in part.options]
    costs = [_sum(found, effect) for found in split]
    amounts = fill([option.share for option in part.options], costs, 1.0)
    found: dict[tuple[int, str], float] = {}
    for amount, one in zip(amounts, split, strict=True):
        for key, share in one.items():
            found[key] = found.get(key, 0.0) + amount * share
    return found


def _landed(n: int, option: Option, effect: Callable[[int, str], float]) -> Masses:
    """One fault of an option, by whether it landed."""
    if len(option.keys) == 1:
        return {(n, option.keys[0]): 1.0}
    landed, lost = option.keys
    share = option.landed[effect(n, landed) < effect(n, lost)]
    return {(n, landed): share, (n, lost): 1.0 - share}


def _sum(masses: Masses, effect: Callable[[int, str], float]) -> float:
    return sum(mass * effect(*key) for key, mass in masses.items())
