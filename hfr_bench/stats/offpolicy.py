"""What a policy would have earned, from episodes in which chance chose with known probabilities.

An episode is a trial: choices (context, options, how likely the one taken was) and what it earned.
Under another policy it counts with the product over its choices of how likely that policy makes
them, over how likely they were: importance weights, normalised by their sum (Hájek's estimator).
Episodes of a task are resampled together.

A table is fitted choice by choice: the mean earned after each action in each context, with the
inverse probabilities as weights. What later choices of the same episode did is part of that mean,
as chance made them: exact where an episode has one choice, an approximation elsewhere. That is why
a table is evaluated on other tasks, by the whole product.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np


class Choice(NamedTuple):
    """One choice. `p`: how likely it was to be made; `rules`: what the rules would have done."""

    context: str
    action: str
    options: tuple[str, ...]
    rules: str
    p: float


class Episode(NamedTuple):
    """A trial: the task it is of, its choices in order, and what it earned."""

    task: str
    choices: tuple[Choice, ...]
    earned: float


Policy = Callable[[Choice], str]
"""What it would do where the choice is to be made; one of its options."""


class Value(NamedTuple):
    """What a policy earns an episode.

    Attributes:
        mean: None where no episode is what the policy would have done.
        low, high: percentile interval over tasks drawn again; None as `mean`.
        effective: episodes' worth of evidence, (Σw)²/Σw².
        matched: episodes that the policy would have gone through as they went.
        episodes, tasks: all there are.
    """

    mean: float | None
    low: float | None
    high: float | None
    effective: float
    matched: int
    episodes: int
    tasks: int


def by_rules(choice: Choice) -> str:
    """The policy that leaves everything to the rules."""
    return choice.rules


def by_table(table: Mapping[str, Mapping[str, float]]) -> Policy:
    """The policy that takes the best option that the table knows, else the rules'."""

    def policy(choice: Choice) -> str:
        known = table.get(choice.context, {})
        options = [one for one in choice.options if one in known]
        return max(options, key=lambda one: known[one], default=choice.rules)

    return policy


def fit(episodes: Iterable[Episode], least: int = 10) -> dict[str, dict[str, float]]:
    """Context -> action -> mean earned; actions with fewer than `least` choices are left out.

    A context in which only one action is known says nothing, and is left out, too.
    """
    sums: dict[tuple[str, str], list[float]] = {}
    for episode in episodes:
        for one in episode.choices:
            cell = sums.setdefault((one.context, one.action), [0.0, 0.0, 0.0])
            cell[0] += episode.earned / one.p
            cell[1] += 1 / one.p
            cell[2] += 1
    table: dict[str, dict[str, float]] = {}
    for (context, action), (earned, weight, count) in sorted(sums.items()):
        if count >= least:
            table.setdefault(context, {})[action] = earned / weight
    return {context: worths for context, worths in table.items() if len(worths) > 1}


def weight(episode: Episode, policy: Policy) -> float:
    """The episode's importance under the policy; 0 where the policy leaves its path."""
    product = 1.0
    for one in episode.choices:
        if policy(one) != one.action:
            return 0.0
        product /= one.p
    return product


def evaluate(
    episodes: Sequence[Episode],
    policy: Policy,
    *,
    seed: int = 0,
    resamples: int = 2000,
    level: float = 0.95,
) -> Value:
    """What the policy earns an episode, with an interval over tasks.

    Args:
        episodes: made by chance with known probabilities.
        policy: the one in question.
        seed: of the resampling.
        resamples: how often the tasks are drawn again.
        level: of the interval.
    """
    tasks = {task: n for n, task in enumerate(dict.fromkeys(one.task for one in episodes))}
    weights = np.array([weight(one, policy) for one in episodes])
    earned = np.array([one.earned for one in episodes])
    total = float(weights.sum())
    if total <= 0:
        return Value(None, None, None, 0.0, 0, len(episodes), len(tasks))
    place = np.array([tasks[one.task] for one in episodes])
    upper = np.bincount(place, weights * earned, len(tasks))
    lower = np.bincount(place, weights, len(tasks))
    low: float | None = None
    high: float | None = None
    if len(tasks) > 1:
        chance = np.random.Generator(np.random.Philox(key=seed))
        drawn = chance.multinomial(len(tasks), np.full(len(tasks), 1 / len(tasks)), resamples)
        below = drawn @ lower
        means = (drawn @ upper)[below > 0] / below[below > 0]
        tail = (1 - level) / 2
        low, high = (float(one) for one in np.quantile(means, [tail, 1 - tail]))
    effective = total**2 / float((weights**2).sum())
    mean = float(upper.sum()) / total
    return Value(mean, low, high, effective, int((weights > 0).sum()), len(episodes), len(tasks))
