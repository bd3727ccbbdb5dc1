"""The degradation ladder; of its rungs, L2 (an equal model) is built."""

from collections.abc import Mapping

from hfr_bench.model.terms import FaultClass


def next_equal(
    target: str, used: tuple[str, ...], substitutes: Mapping[str, tuple[str, ...]]
) -> str | None:
    """An equal target (rung L2) that the step has not used yet, or None."""
    for candidate in substitutes.get(target, ()):
        if candidate not in used:
            return candidate
    return None


def may_substitute(fault_class: FaultClass) -> bool:
    """Safety invariant (paper §4.4): no rung routes around a refusal or a missing permission."""
    return fault_class not in (FaultClass.REFUSAL, FaultClass.PERMANENT)
