"""What a strategy is built with: its configuration, its equipment, and what it may turn to."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Criticality, FaultClass


@dataclass(frozen=True, slots=True)
class Kit:
    """Given once, when the trial is wired.

    `substitutes`: equal targets by target, in order of preference (rung L2), `lower`: smaller ones
    (L3); both empty for arms without a ladder. `quality_floor`: the task owner's. `provider`,
    `breaker_tenant`: whose breakers a call concerns beside its target's; "" = none.
    `weights`: w_i = c_i * rho_i of each step to come (paper §4.8), where the plan is known; they
    share the task's retries out. Else each step has its own budget, and the task's is first come.
    `escalates_permanent`, `escalates_exhausted`: is there a person for what no repeat repairs (T7),
    and for what no rung is left for? Where not, such a task fails; a refusal always has one.
    `chance_key`: keys the strategy's own draws (jitter), so that they are the same on every run
    and shared with no fault. Estimates are what a runtime would assume.
    """

    equipment: Equipment = Equipment()
    substitutes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    chance_key: Sequence[str | int] = ()
    criticality: Criticality = Criticality.MEDIUM
    estimate_us: int = 1_200_000
    estimate_microusd: int = 0
    lower: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    quality_floor: float = 0.0
    tenant: str = "default"
    task_id: str = ""
    provider: str = ""
    breaker_tenant: str = ""
    weights: tuple[float, ...] = ()
    escalates_permanent: bool = True
    escalates_exhausted: bool = True

    def has_person_for(self, fault_class: FaultClass) -> bool:
        """Is a person called once nothing else is left to do about such a fault?"""
        if fault_class is FaultClass.PERMANENT:
            return self.escalates_permanent
        return fault_class is FaultClass.REFUSAL or self.escalates_exhausted


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
