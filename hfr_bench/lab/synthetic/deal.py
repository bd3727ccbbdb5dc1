"""Chance in the model world: keyed by (seed, task, step, attempt), whoever asks and in what order.

A block of tasks is drawn at once by a counter-based generator keyed by (seed, block): everything
about a task that no strategy can change, and each step's first attempt. What only some strategies
get to, the later attempts, is drawn from a keyed hash when it is asked for.
"""

from bisect import bisect_right
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate
from struct import Struct
from typing import Any

import numpy as np

from hfr_bench.lab.synthetic.params import FAULTS, MODEL, World

BLOCK = 500
"""Tasks drawn at once."""
STEPS = 8
"""The most steps of a task."""

_KEY, _DRAWN = Struct("<4q"), Struct("<5Q")
_SCALE = 2.0**-53
_TASK = 7  # draws of a task that belong to no step


def uniforms(seed: int, task: int, step: int, attempt: int) -> tuple[float, ...]:
    """Five numbers in [0, 1): stickiness, incident, fault, outcome, whether it landed."""
    head = blake2b(_KEY.pack(seed, task, step, attempt), digest_size=40).digest()
    a, b, c, d, e = _DRAWN.unpack(head)
    return (
        (a >> 11) * _SCALE,
        (b >> 11) * _SCALE,
        (c >> 11) * _SCALE,
        (d >> 11) * _SCALE,
        (e >> 11) * _SCALE,
    )


@dataclass(frozen=True, slots=True)
class Odds:
    """The world as lists that are fast to look things up in; kinds and levels are indices.

    `faults`: by kind, cumulative shares and their classes. `right`: by criticality, kind and
    level. `found`: by kind, wrong answers that are found; `rejected`: right ones that are, too.
    """

    rate: float
    kinds: tuple[float, ...]
    criticality: tuple[float, ...]
    steps: tuple[tuple[float, ...], tuple[int, ...]]
    faults: tuple[tuple[tuple[float, ...], tuple[int, ...]], ...]
    right: tuple[tuple[tuple[float, ...], ...], ...]
    found: tuple[float, ...]
    rejected: float
    incident: tuple[float, float, float]
    hits: tuple[tuple[float, ...], ...]
    permanent: tuple[float, ...]
    exhausted: tuple[float, ...]
    lands: float

    def fault(self, kind: int, share: float) -> int:
        """The class at a place in [0, 1) of the kind's faults."""
        bounds, classes = self.faults[kind]
        return classes[min(bisect_right(bounds, share), len(classes) - 1)]

    def outcome(self, criticality: int, kind: int, level: int, u: float) -> int:
        """0 right and accepted, 1 right and rejected, 2 wrong and found, 3 wrong and not."""
        right = self.right[criticality][kind][level]
        if u < right:
            return 0 if u < right * (1 - self.rejected) else 1
        return 2 if u < right + (1 - right) * self.found[kind] else 3


def odds(world: World) -> Odds:
    """The world's odds."""
    printed, fitted = world.paper, world.calibrated
    levels = printed.model, printed.tool, printed.tool
    shares = fitted.model_faults, fitted.tool_faults, fitted.tool_faults
    kinds = printed.kinds
    check, incident, hits = printed.verifier, fitted.incident, fitted.incident_hits
    return Odds(
        rate=printed.fault_rate,
        kinds=(kinds.model, kinds.read, kinds.write),
        criticality=printed.criticality.all(),
        steps=(tuple(accumulate(fitted.steps.values())), tuple(fitted.steps)),
        faults=tuple(
            (tuple(accumulate(of.values())), tuple(FAULTS.index(cls) + 1 for cls in of))
            for of in shares
        ),
        right=tuple(
            tuple(
                tuple(
                    max(0.0, at.quality - (lost * down if kind == MODEL else 0.0))
                    for down, at in enumerate(of)
                )
                for kind, of in enumerate(levels)
            )
            for lost in fitted.penalty.all()
        ),
        found=(check.finds_model, check.finds_tool, check.finds_tool),
        rejected=check.false_reject,
        incident=(incident.model, incident.tool, incident.tool),
        hits=(hits.model, hits.tool, hits.tool),
        permanent=fitted.person_for_permanent.all(),
        exhausted=fitted.person_for_exhausted.all(),
        lands=fitted.lands,
    )


@dataclass(frozen=True, slots=True)
class Deal:
    """A block of tasks as lists by task: what every strategy meets alike.

    `kinds`: of each step. `incident`: by kind, whether one lasts throughout. `permanent`,
    `exhausted`: is there a person for that? `faults`, `outcomes`: of each step's first attempt.
    """

    first: int
    criticality: list[int]
    kinds: list[list[int]]
    incident: list[tuple[bool, bool, bool]]
    permanent: list[bool]
    exhausted: list[bool]
    faults: list[list[int]]
    outcomes: list[list[int]]


def deal(odds: Odds, seed: int, block: int) -> Deal:
    """The block's tasks: numbers block * BLOCK and on."""
    chance = np.random.Generator(np.random.Philox(key=[seed, block]))
    task = chance.random((BLOCK, _TASK))
    step = chance.random((BLOCK, STEPS, 3))
    counts = _pick(task[:, 0], odds.steps[0], odds.steps[1])
    criticality = _pick(task[:, 1], np.cumsum(odds.criticality), (0, 1, 2))
    kinds = _pick(step[:, :, 0], np.cumsum(odds.kinds), (0, 1, 2))
    provider, tool = task[:, 2] < odds.incident[0], task[:, 3] < odds.incident[1]
    return Deal(
        block * BLOCK,
        criticality.tolist(),
        [row[:n] for row, n in zip(kinds.tolist(), counts.tolist(), strict=True)],
        [(p, t, t) for p, t in zip(provider.tolist(), tool.tolist(), strict=True)],
        (task[:, 4] < np.take(odds.permanent, criticality)).tolist(),
        (task[:, 5] < np.take(odds.exhausted, criticality)).tolist(),
        _first_faults(odds, kinds, step[:, :, 1]).tolist(),
        _first_outcomes(odds, kinds, step[:, :, 2]).tolist(),
    )


def _pick(u: Any, bounds: Any, values: Any) -> Any:
    index = np.searchsorted(np.asarray(bounds), u, side="right")
    return np.take(values, np.minimum(index, len(values) - 1))


def _first_faults(odds: Odds, kinds: Any, u: Any) -> Any:
    found = np.zeros(kinds.shape, dtype=np.int64)
    for kind, (bounds, classes) in enumerate(odds.faults):
        if odds.rate > 0:
            drawn = np.where(u < odds.rate, _pick(u / odds.rate, bounds, classes), 0)
            found = np.where(kinds == kind, drawn, found)
    return found


def _first_outcomes(odds: Odds, kinds: Any, u: Any) -> Any:
    """Like `Odds.outcome`; at the first level no criticality pays a penalty."""
    right = np.take([levels[0] for levels in odds.right[0]], kinds)
    found = np.take(odds.found, kinds)
    good = np.where(u < right * (1 - odds.rejected), 0, 1)
    wrong = np.where(u < right + (1 - right) * found, 2, 3)
    return np.where(u < right, good, wrong)
