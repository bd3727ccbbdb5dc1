"""The controller's fifteen states and their moves (paper §4.9, table 9), as one table.

A decision is a short walk through it: what was heard, what was made of it, what is done next. The
controller does not keep the walk, only where it rests; `route` says what the walk was, for traces
of it and for the test that walks every one of them.
"""

from collections.abc import Mapping
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType

from hfr_bench.model.attempt import (
    Attempted,
    Compressed,
    Decision,
    Finishing,
    GoalChanged,
    Prepared,
    Proposed,
    Receipt,
    Reconciled,
    Restored,
    StrategyEvent,
    Verified,
)
from hfr_bench.model.terms import Action


class Phase(StrEnum):
    """Where the controller is. DONE is the end of a task, not one of the fifteen: it absorbs."""

    INIT = "INIT"
    RUN_STEP = "RUN_STEP"
    OBSERVE = "OBSERVE"
    CLASSIFY = "CLASSIFY"
    CHECK = "CHECK"
    DECIDE = "DECIDE"
    RETRY_WAIT = "RETRY_WAIT"
    RECONCILE = "RECONCILE"
    COMPRESS = "COMPRESS"
    DEGRADE = "DEGRADE"
    REPLAN = "REPLAN"
    VERIFY = "VERIFY"
    ACCEPT = "ACCEPT"
    ESCALATE = "ESCALATE"
    FAIL = "FAIL"
    DONE = "DONE"


_P = Phase
_CHOICES = frozenset(
    {_P.RETRY_WAIT, _P.RECONCILE, _P.COMPRESS, _P.DEGRADE, _P.REPLAN, _P.ESCALATE, _P.FAIL}
)

MOVES: Mapping[Phase, frozenset[Phase]] = MappingProxyType(
    {
        _P.INIT: frozenset({_P.RUN_STEP}),
        # A guard before the act: what may not go out is decided on as if it had failed.
        _P.RUN_STEP: frozenset({_P.OBSERVE, _P.CHECK}),
        # An answer that nothing is wrong with has no class to be found.
        _P.OBSERVE: frozenset({_P.CLASSIFY, _P.VERIFY}),
        _P.CLASSIFY: frozenset({_P.CHECK}),
        _P.CHECK: frozenset({_P.DECIDE}),
        _P.DECIDE: _CHOICES,
        _P.RETRY_WAIT: frozenset({_P.RUN_STEP}),
        # The table's COMMIT is what ACCEPT does: the step is in.
        _P.RECONCILE: frozenset({_P.RETRY_WAIT, _P.ACCEPT, _P.ESCALATE, _P.RECONCILE, _P.CHECK}),
        _P.COMPRESS: frozenset({_P.RUN_STEP, _P.CHECK}),
        _P.DEGRADE: frozenset({_P.RUN_STEP, _P.ACCEPT, _P.ESCALATE}),
        _P.REPLAN: frozenset({_P.RUN_STEP, _P.ESCALATE}),
        # Before a write that cannot be undone, a person is asked: then it runs.
        _P.VERIFY: frozenset({_P.ACCEPT, _P.DECIDE, _P.RUN_STEP}),
        _P.ACCEPT: frozenset({_P.RUN_STEP, _P.DONE}),
        _P.ESCALATE: frozenset({_P.DONE}),
        _P.FAIL: frozenset({_P.DONE}),
        _P.DONE: frozenset(),
    }
)
"""Table 9. Beyond the table's rows: what comments say, and DONE."""

_OF_ACTION: Mapping[Action, Phase] = MappingProxyType(
    {
        Action.RETRY: _P.RETRY_WAIT,
        Action.RECONCILE: _P.RECONCILE,
        Action.COMPRESS: _P.COMPRESS,
        Action.DEGRADE_MODEL: _P.DEGRADE,
        Action.DEGRADE_TOOL: _P.DEGRADE,
        Action.DEGRADE_SCOPE: _P.DEGRADE,
        Action.REPLAN: _P.REPLAN,
        Action.ESCALATE: _P.ESCALATE,
        Action.FAIL: _P.FAIL,
        Action.VERIFY: _P.VERIFY,
        Action.ACCEPT: _P.ACCEPT,
        Action.DISPATCH: _P.RUN_STEP,
    }
)
_WEIGHED = (_P.CHECK, _P.DECIDE)
_ENDS = frozenset({_P.ESCALATE, _P.FAIL})


def check(path: tuple[Phase, ...]) -> None:
    """Raises ValueError at the first move that the table does not have."""
    for here, there in pairwise(path):
        if there not in MOVES[here]:
            allowed = ", ".join(sorted(MOVES[here])) or "nothing"
            raise ValueError(f"controller: {here} -> {there} is illegal; allowed: {allowed}")


def route(event: StrategyEvent, decision: Decision) -> tuple[Phase, ...]:
    """The walk through table 9 that answers `event` with `decision`, ends included."""
    if isinstance(event, Restored | Receipt | GoalChanged):
        # Between steps: nothing was run, and only a person can be called.
        return () if decision.action is Action.ACCEPT else (_P.ESCALATE, _P.DONE)
    if isinstance(event, Finishing):
        return _OF_ACTION[decision.action], _P.DONE
    to = _OF_ACTION[decision.action]
    ahead = _before(event, to)
    path = (*ahead, to)
    if isinstance(event, Prepared) and to is _P.RUN_STEP:
        return path
    if to in _ENDS:
        return (*path, _P.DONE)
    if to in (_P.ACCEPT, _P.REPLAN):
        return (*path, _P.RUN_STEP)  # the next step
    return path


def _before(event: StrategyEvent, to: Phase) -> tuple[Phase, ...]:
    """What is passed through between hearing the event and what is done about it."""
    match event:
        case Proposed():
            if to is _P.RUN_STEP:
                return ()
            if to is _P.ACCEPT:  # in already, before a crash: the ledger answers for the world
                return (_P.RUN_STEP, *_WEIGHED, _P.RECONCILE)
            return (_P.RUN_STEP, *_WEIGHED) if to is not _P.VERIFY else (_P.RUN_STEP, _P.OBSERVE)
        case Prepared():
            return () if to is _P.RUN_STEP else (_P.RUN_STEP, _P.OBSERVE, _P.CLASSIFY, *_WEIGHED)
        case Attempted():
            if to is _P.VERIFY:
                return (_P.RUN_STEP, _P.OBSERVE)
            if to is _P.ACCEPT:  # V0, which answering is, was all the check that was wanted
                return (_P.RUN_STEP, _P.OBSERVE, _P.VERIFY)
            return (_P.RUN_STEP, _P.OBSERVE, _P.CLASSIFY, *_WEIGHED)
        case Reconciled():
            direct = (_P.RETRY_WAIT, _P.ACCEPT, _P.ESCALATE, _P.RECONCILE)
            return (_P.RECONCILE,) if to in direct else (_P.RECONCILE, *_WEIGHED)
        case Verified():
            return (_P.VERIFY,) if to in (_P.ACCEPT, _P.RUN_STEP) else (_P.VERIFY, _P.DECIDE)
        case Compressed():
            return (_P.COMPRESS,) if to is _P.RUN_STEP else (_P.COMPRESS, *_WEIGHED)
    raise AssertionError(f"no step hears {type(event).__name__}")
