"""Shadow mode (paper §5.6, step 1): what another strategy would have done, and does not do."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from hfr_bench.model.attempt import Decision, StrategyEvent
from hfr_bench.recovery.guarded import WORDS, Decides, State, check_decision, told, view_of

KEPT: Final = 32
"""So many differences are kept word for word; all are counted."""

DEPTH: Final = 50
"""A state that is nested deeper is not taken."""


class Shadow:
    """Acts by `active` and records what `shadow` would have decided.

    The shadow hears every event, as `active` brings them about. Once the two differ in a step, what
    follows there no longer follows from the shadow's own choice: it is heard, but not compared.
    A shadow that raises, or whose decision or state is none, is counted and asked again at the
    next event; the active strategy never notices. (A shadow that changes the state it is given
    changes only its own; one that does not return cannot be helped here.)

    State: both inner ones and the record (`shadow_record`).
    """

    def __init__(self, active: Decides, shadow: Decides) -> None:
        self._active = active
        self._shadow = shadow

    def begin(self) -> State:
        record: State = {"asked": 0, "agreed": 0, "pairs": {}, "last": [], "failures": 0}
        record["error"] = ""
        try:
            shadow: State | None = self._shadow.begin()
            _check_plain(shadow)
        except Exception as error:  # noqa: BLE001 - a defect of the shadow touches nobody
            shadow, record = None, {**record, "failures": 1, "error": told(error)}
        return {"active": self._active.begin(), "shadow": shadow, "parted": 0, "record": record}

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        """The active strategy's decision; its errors pass through."""
        active, decision = self._active.decide(state["active"], event)
        try:
            shadow, would = self._shadow.decide(state["shadow"], event)
            check_decision(would)
            if shadow is not state["shadow"]:
                _check_plain(shadow)
            after = _compared(state, event, decision, would)
        except Exception as error:  # noqa: BLE001 - a defect of the shadow touches nobody
            record = state["record"]
            record = {**record, "failures": record["failures"] + 1, "error": told(error)}
            return {**state, "active": active, "record": record}, decision
        return {**after, "active": active, "shadow": shadow}, decision


def shadow_record(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a `Shadow`'s state says of the two.

    `asked`: decisions that can be compared, `agreed` of them. `pairs`: how often "ACTIVE>SHADOW"
    differed. `last`: the newest KEPT differences. `failures`: defects of the shadow, and `error`
    the last one.
    """
    record: Mapping[str, Any] = state["record"]
    return record


def _compared(state: State, event: StrategyEvent, did: Decision, would: Decision) -> State:
    """The state with one more comparison, unless the two have already parted in this step."""
    view = view_of(event)
    step = view.step if view is not None else 0
    if step and state["parted"] == step:
        return state
    record = state["record"]
    asked = record["asked"] + 1
    if (did.action, did.substitute, did.prepare) == (would.action, would.substitute, would.prepare):
        return {**state, "record": {**record, "asked": asked, "agreed": record["agreed"] + 1}}
    pair = f"{did.action}>{would.action}"
    one = {
        "step": step,
        "attempts": view.attempts if view is not None else 0,
        "on": type(event).__name__,
        "active": did.action,
        "active_reason": did.reason[:WORDS],
        "shadow": would.action,
        "shadow_reason": would.reason[:WORDS],
        "shadow_class": would.fault.fault_class if would.fault is not None else None,
    }
    pairs = {**record["pairs"], pair: record["pairs"].get(pair, 0) + 1}
    last = [*record["last"], one][-KEPT:]
    compared = {**record, "asked": asked, "pairs": pairs, "last": last}
    return {**state, "parted": step, "record": compared}


def _check_plain(value: Any, depth: int = 0) -> None:
    """Raises TypeError unless the value is JSON: a checkpoint holds the shadow's state, too."""
    if value is None or isinstance(value, str | int):
        return
    if isinstance(value, float) and isfinite(value):
        return
    if depth < DEPTH and isinstance(value, list | tuple):
        for inner in value:
            _check_plain(inner, depth + 1)
        return
    if depth < DEPTH and isinstance(value, dict) and all(isinstance(key, str) for key in value):
        for inner in value.values():
            _check_plain(inner, depth + 1)
        return
    raise TypeError(f"a state with a {type(value).__name__} in it is not JSON, or too deep")
