"""The controller between steps, and at the end: acceptance, restarts, late news (paper §5.4)."""

from hfr_bench.model.attempt import Decision, Finishing, GoalChanged, LedgerMove, Receipt, Restored
from hfr_bench.model.terms import Action, LedgerState, SideEffect
from hfr_bench.recovery.ledger import LedgerConflictError, settle
from hfr_bench.recovery.memory import ACCEPT, OVER, Ended, State, ended, hand_over, is_open

_S = LedgerState
_R3, _DONE = SideEffect.IRREVERSIBLE, Ended.DONE
_IN = (_S.COMMITTED, _S.RECONCILED_COMMITTED)


def finishing(state: State, _: Finishing) -> tuple[State, Decision]:
    """Final acceptance (paper §5.4): its five checks, as far as a runtime can make them.

    Nothing UNKNOWN is left; every step that took a rung is counted, and said; no write is in twice
    under one key, which table 6 sees to; a person who is waited for has ended the task already;
    that the goal is reached is the agent's word and that of every step's check.
    """
    if state["stop"]:
        return state, OVER
    for entry in state["ledger"].values():
        if is_open(entry):
            return hand_over(state, "a write is unresolved at the end")
    steps = state["degraded"]
    done = Decision(Action.ACCEPT, f"{steps} step(s) degraded") if steps else ACCEPT
    return ended(state, _DONE), done


def restored(state: State, event: Restored) -> tuple[State, Decision]:
    """Back from a crash: the ledger is replayed first (§5.4), and knows more than we do."""
    ledger, ahead, moves = dict(state["ledger"]), list(state["ahead"]), []
    for known in event.ledger:
        was = ledger.get(known.key)
        entry = [known.stepless_key, known.state, known.goal_version, event.now_us, known.level]
        if known.state is _S.PREPARED:
            # Written down, and nobody knows whether it was sent.
            entry[1] = _S.UNKNOWN
            moves.append(
                LedgerMove(known.key, known.stepless_key, _S.UNKNOWN, known.tool, "a crash")
            )
        if known.state in _IN and (was is None or was[1] not in _IN):
            ahead.append(known.key)
        ledger[known.key] = entry
    state = {**state, "ledger": ledger, "ahead": ahead, "step": None}
    lost = any(e[4] == _R3 and e[1] == _S.UNKNOWN for e in ledger.values())
    if lost:
        return hand_over(state, "irreversible and unknown, after a crash", tuple(moves))
    if event.drifted and any(is_open(e) for e in ledger.values()):
        return hand_over(state, "the configuration is another one now", tuple(moves))
    return state, Decision(Action.ACCEPT, "the ledger was replayed", moves=tuple(moves))


def receipt(state: State, event: Receipt) -> tuple[State, Decision]:
    """A late answer settles its own entry, under its own goal, and nothing else."""
    entry = state["ledger"].get(event.key)
    if entry is None:
        return state, Decision(Action.ACCEPT, "a receipt of nothing that was sent")
    try:
        to = settle(LedgerState(entry[1]), event.landed)
    except LedgerConflictError as error:
        return hand_over(state, str(error))
    if to is None:
        return state, Decision(Action.ACCEPT, "a receipt that says nothing new")
    move = LedgerMove(event.key, entry[0], to, "", "a late receipt")
    ledger = {**state["ledger"], event.key: [entry[0], to, *entry[2:]]}
    return {**state, "ledger": ledger}, Decision(
        Action.ACCEPT, f"a late receipt, of goal {entry[2]}", moves=(move,)
    )


def goal_changed(state: State, event: GoalChanged) -> tuple[State, Decision]:
    """Done stays done; another goal is another version. Its old writes stay its old writes."""
    if event.goal_version <= state["goal"]:
        return state, Decision(Action.ACCEPT, "this goal is known")
    fresh = {"goal": event.goal_version, "stop": "", "step": None}
    return {**state, **fresh}, Decision(Action.ACCEPT, f"goal {event.goal_version}")
