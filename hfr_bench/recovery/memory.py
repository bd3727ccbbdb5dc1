"""What the controller keeps: a JSON-serialisable state, never changed in place.

A step that nothing has happened to has no entry of its own: the ordinary road copies nothing.
"""

from enum import StrEnum
from typing import Any, Final

from hfr_bench.model.attempt import Decision, LedgerMove, StepView, Verdict
from hfr_bench.model.terms import Action, CheckLevel, LedgerState, Rung
from hfr_bench.recovery.acceptance import reasons_digest
from hfr_bench.recovery.retry import FRESH, Standing, after_rejection

State = dict[str, Any]

# Decisions are values: the commonest are made once.
DISPATCH = Decision(Action.DISPATCH)
ACCEPT = Decision(Action.ACCEPT)
OVER = Decision(Action.FAIL, "the task is over; a changed goal is a new version")

_SEEN, _RETRIES = map(Standing._fields.index, ("seen", "retries"))
# Looked up once: a member of an enum costs ten times a global.
_PREPARED, _UNKNOWN = LedgerState.PREPARED, LedgerState.UNKNOWN
_OPEN = (_UNKNOWN, _PREPARED)


class Ended(StrEnum):
    """Why a task stopped, told apart (second seed): being done is one of five."""

    DONE = "done"
    BUDGET = "budget"
    CANCELLED = "cancelled"
    UNRECOVERABLE = "unrecoverable"
    WAITING = "waiting for input"


def begun(left: list[int | None] | None) -> State:
    """The state at the start of a task.

    `ledger`: by key [step-less key, state, goal, when it was prepared (us), side-effect level].
    `ahead`: keys that the store had in, and the checkpoint had not. `shut`: some breaker is not
    closed. `used`: retries of the task; `moves`: rungs that were not charged. `left`: resources
    (steps, tokens, us, micro-dollars), or None where none are limited; `need`: what is set aside
    of them. `wrote`: the last thing that happened was a write.
    """
    return {
        "goal": 1,
        "stop": "",
        "step": None,
        "ledger": {},
        "ahead": [],
        "breakers": {},
        "shut": False,
        "bucket": None,
        "used": 0,
        "moves": 0,
        "left": left,
        "need": None,
        "wrote": False,
        "degraded": 0,
    }


def step_of(state: State, view: StepView) -> State:
    """What is known of the step at hand; made anew for a step that is heard of first.

    `retries` charged to it, `key` it writes under, `before`: the before-read was made, `targets`
    tried, `standing` (see `retry.Standing`), `fault` of its last failed attempt and `until` when
    no attempt is wanted before, `asked`: reads of the world that failed, `absent_at`: since when
    the world says no, `twice`: sent again before it was known what became of the first, `waited`:
    one wait for an overloaded target with nothing to turn to.
    """
    step: State | None = state["step"]
    if step is not None and step["n"] == view.step:
        return step
    step = _NEW_STEP.copy()
    step["n"], step["key"] = view.step, key_of(state, view)
    return step


_NEW_STEP: Final[State] = {
    "n": 0,
    "retries": 0,
    "key": "",
    "before": False,
    "targets": [],
    "standing": None,
    "fault": None,
    "until": 0,
    "rung": Rung.NORMAL,
    "asked": 0,
    "absent_at": None,
    "twice": False,
    "confirmed": False,
    "found": False,
    "compressed": False,
    "waited": False,
}
"""Copied, which is a third of the work of making it; nobody changes the list in it."""


def key_of(state: State, view: StepView) -> str:
    """The key to write under: a write asked for anew keeps the one of its open or found entry."""
    intent, ahead = view.intent, state["ahead"]
    name = intent.stepless_key
    for key, entry in state["ledger"].items():
        if entry[0] == name and (entry[1] in _OPEN or key in ahead):
            return str(key)
    return intent.key


def with_step(state: State, step: State, **changes: Any) -> State:
    """The state with this step at hand."""
    new = state.copy()
    new["step"] = {**step, **changes} if changes else step
    return new


def standing_of(step: State) -> Standing:
    """What the step has been through."""
    kept = step["standing"]
    return FRESH if kept is None else Standing(*kept)


def kept(standing: Standing) -> list[Any]:
    """A standing as JSON has it."""
    plain = list(standing)
    plain[_SEEN] = list(standing.seen)
    return plain


def retried(step: State) -> list[Any]:
    """The step's standing once a retry was decided (`retry.after_retry`), as JSON has it."""
    known = step["standing"]
    plain: list[Any] = kept(FRESH) if known is None else known.copy()
    plain[_RETRIES] += 1
    return plain


def entry_of(state: State, key: str) -> list[Any] | None:
    """The ledger entry under a key, or None."""
    entry: list[Any] | None = state["ledger"].get(key)
    return entry


def is_open(entry: list[Any]) -> bool:
    """Is it not known whether this write is in?"""
    return entry[1] in _OPEN


def moved(
    state: State,
    view: StepView,
    step: State,
    to: LedgerState,
    action: Action,
    reason: str = "",
    check: CheckLevel | None = None,
) -> tuple[State, Decision]:
    """The write at hand moves in the ledger, and this is done about it.

    The state is the caller's own: nobody else has seen it yet.
    """
    intent, key, ledger = view.intent, step["key"], state["ledger"].copy()
    old, name = ledger.get(key), intent.stepless_key
    if old is None or to is _PREPARED:
        goal, at_us = view.goal_version, view.now_us
    else:  # a write stays of the goal that it was sent for, whatever is wanted by now
        goal, at_us = old[2], old[3]
    ledger[key] = [name, to, goal, at_us, intent.level]
    new = state.copy()
    new["step"], new["ledger"] = step, ledger
    move = LedgerMove(key, name, to, view.target, reason)
    # Names of arguments would cost as much again.
    return new, Decision(action, reason, 0, False, None, None, check, None, (move,))


def rejected(step: State, verdict: Verdict) -> State:
    """The step after a verdict that did not accept its answer."""
    digest = reasons_digest(verdict.reasons) if verdict.reasons else ""
    return {**step, "standing": kept(after_rejection(standing_of(step), digest))}


def given_before(step: State) -> list[str]:
    """Digests of what this step's answers were rejected for, and other evidence."""
    return [] if step["standing"] is None else step["standing"][_SEEN]


def ended(state: State, why: Ended) -> State:
    """The state of a task that stops here."""
    new = state.copy()
    new["stop"] = why
    return new


def hand_over(
    state: State, reason: str, moves: tuple[LedgerMove, ...] = ()
) -> tuple[State, Decision]:
    """A person is called, and waited for."""
    return ended(state, Ended.WAITING), Decision(Action.ESCALATE, reason, moves=moves)
