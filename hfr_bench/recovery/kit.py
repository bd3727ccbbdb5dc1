"""What a strategy is built with: its configuration, its equipment, and what it may turn to."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Criticality


@dataclass(frozen=True, slots=True)
class Kit:
    """Given once, when the trial is wired.

    `substitutes`: equal targets by target, in order of preference (rung L2); empty for arms
    without a ladder. `chance_key`: keys the strategy's own draws (jitter), so that they are the
    same on every run and shared with no fault. Estimates are what a runtime would assume.
    """

    equipment: Equipment = Equipment()
    substitutes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    chance_key: tuple[str | int, ...] = ()
    criticality: Criticality = Criticality.MEDIUM
    estimate_us: int = 1_200_000


def take(config: Mapping[str, Any], defaults: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """The defaults, overridden by `config`.

    Raises ValueError for a key that the strategy does not know, listing those it does, and for
    a value of another kind than the default's, or a number that is negative or not finite.
    """
    unknown = sorted(set(config) - set(defaults))
    if unknown:
        known = ", ".join(sorted(defaults)) or "none"
        raise ValueError(f"strategy {owner!r} has no setting {unknown[0]!r}; it knows: {known}")
    for name, value in config.items():
        wanted = type(defaults[name])
        numeric = wanted in (int, float) and not isinstance(value, bool)
        accepted = (int, float) if wanted is float else wanted
        if not isinstance(value, accepted) or (isinstance(value, bool) and wanted is not bool):
            raise ValueError(f"strategy {owner!r}: {name} must be {wanted.__name__}, got {value!r}")
        if numeric and not (math.isfinite(value) and value >= 0):
            raise ValueError(f"strategy {owner!r}: {name} must be 0 or more, got {value!r}")
    return {**defaults, **config}
