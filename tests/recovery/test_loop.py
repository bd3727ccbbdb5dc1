"""The second seed's loop: eight edges, one story with the ledger, and its golden traces."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.model.ledger import Checkpoint, LedgerEntry, Reservation
from hfr_bench.model.terms import Landed, LedgerState
from hfr_bench.recovery.checkpoint import open_sealed, seal
from hfr_bench.recovery.ledger import (
    LEGAL,
    LedgerConflictError,
    Next,
    protocol,
    replay,
    settle,
)
from hfr_bench.recovery.loop import EDGES, Occasion, Phase, occasion_of, phase_of, transition
from hfr_bench.stores.memory import MemoryLedger

S = LedgerState
GOLDEN = Path(__file__).parent / "golden" / "second_seed.jsonl"
SEED = {  # word for word
    ("ready", "dispatch"): "pending",
    ("pending", "ok"): "verifying",
    ("pending", "timeout"): "unknown",
    ("pending", "rejected"): "ready",
    ("unknown", "found"): "verifying",
    ("unknown", "absent"): "ready",
    ("verifying", "accepted"): "done",
    ("verifying", "mismatch"): "ready",
}


@pytest.mark.parametrize(("phase", "occasion"), list(product(Phase, Occasion)))
def test_eight_edges_and_no_others(phase: Phase, occasion: Occasion) -> None:
    if phase is Phase.DONE:
        assert transition(phase, occasion) is Phase.DONE
    elif (phase, occasion) in SEED:
        assert transition(phase, occasion) == SEED[phase, occasion]
    else:
        with pytest.raises(ValueError, match=f"loop: {phase} hears {occasion}; allowed: "):
            transition(phase, occasion)


@pytest.mark.parametrize(("phase", "occasion"), [("lost", "ok"), ("ready", "again"), ("", "")])
def test_what_is_no_phase_or_occasion_is_an_error(phase: Any, occasion: Any) -> None:
    with pytest.raises(ValueError, match=r"allowed|is not a valid Phase"):
        transition(phase, occasion)


def test_nothing_is_sent_again_straight_from_a_timeout_and_only_acceptance_ends() -> None:
    assert {to for (at, _), to in EDGES.items() if at is Phase.UNKNOWN} == {
        Phase.VERIFYING,
        Phase.READY,
    }
    assert [edge for edge, to in EDGES.items() if to is Phase.DONE] == [
        (Phase.VERIFYING, Occasion.ACCEPTED)
    ]


MOVES = [(before, after) for before, allowed in LEGAL.items() for after in sorted(allowed)]


@pytest.mark.parametrize(("before", "after"), MOVES)
def test_every_move_of_table_6_is_an_edge_of_the_loop(before: S | None, after: S) -> None:
    assert transition(phase_of(before), occasion_of(before, after)) is phase_of(after)


def test_every_edge_but_acceptance_is_some_move_of_table_6() -> None:
    told = {(phase_of(before), occasion_of(before, after)) for before, after in MOVES}
    assert EDGES.keys() - told == {(Phase.VERIFYING, Occasion.ACCEPTED)}
    with pytest.raises(LedgerConflictError):
        occasion_of(S.UNKNOWN, S.PREPARED)


@pytest.mark.parametrize("state", [None, *S])
def test_the_protocol_speaks_of_the_same_phases(state: S | None) -> None:
    """COMPENSATED alone is READY and not to be sent: its key is spent."""
    says = {protocol(state, True, absent, held=held) for absent in (0, 1) for held in (0, 1)}
    wanted = {
        Phase.READY: {Next.QUERY, Next.DISPATCH} if state is None else {Next.DISPATCH},
        Phase.PENDING: {Next.WAIT, Next.QUERY},
        Phase.UNKNOWN: {Next.QUERY},
        Phase.VERIFYING: {Next.VERIFY},
    }[phase_of(state)]
    assert says == ({Next.VERIFY} if state is S.COMPENSATED else wanted)


class Desk:
    """Plays a golden trace: one action at a time, a ledger, checkpoints."""

    def __init__(self) -> None:
        self.ledger = MemoryLedger()
        self.key, self.goal, self.phase = "draft-1", 1, Phase.READY
        self.payload = "the text"
        self.saved = ""

    def entry(self) -> LedgerEntry | None:
        return self.ledger.get(self.key)

    def write(self, key: str, state: S, goal: int) -> None:
        made = LedgerEntry(
            key=key,
            stepless_key=self.payload,
            tenant="t",
            task_id="t",
            step=1,
            tool="save_draft",
            state=state,
            goal_version=goal,
        )
        self.ledger.apply(Reservation(step=1), [made])

    def play(self, act: dict[str, Any]) -> None:
        getattr(self, act["act"])(**{name: value for name, value in act.items() if name != "act"})

    def ask(self, then: str, payload: str | None = None, absent: bool = False, **how: bool) -> None:
        known = self.entry()
        same = known is None or known.stepless_key == (payload or self.payload)
        assert protocol(known.state if known else None, same, absent, **how) == then

    def hear(self, occasion: str, phase: str, ledger: str | None = None) -> None:
        if ledger is not None:
            known = self.entry()
            assert occasion_of(known.state if known else None, S(ledger)) == occasion
            self.write(self.key, S(ledger), self.goal)
        self.phase = transition(self.phase, Occasion(occasion))
        assert self.phase == phase

    def refused(self, occasion: str, ledger: str) -> None:
        with pytest.raises(ValueError, match="loop: "):
            transition(self.phase, Occasion(occasion))
        with pytest.raises(LedgerConflictError):
            self.write(self.key, S(ledger), self.goal)

    def goal_changes(self, version: int, key: str, phase: str) -> None:
        self.goal, self.key = version, key
        known = self.entry()
        self.phase = phase_of(known.state if known else None)
        assert self.phase == phase

    def receipt(self, key: str, landed: str, ledger: str | None, goal_version: int) -> None:
        known, mine = self.ledger.get(key), self.entry()
        assert known is not None
        assert known.goal_version == goal_version
        assert settle(known.state, Landed(landed)) == ledger
        if ledger is not None:
            with pytest.raises(LedgerConflictError, match="goal"):
                self.write(key, S(ledger), self.goal)
            self.write(key, S(ledger), known.goal_version)
        assert self.entry() == mine

    def checkpoint(self) -> None:
        state = {"phase": self.phase}
        self.saved = seal(Checkpoint(trial_id="t", seq=1, at_us=0, strategy_state=state))

    def crash(self, saved: str, phase: str) -> None:
        """The checkpoint is old; the ledger is replayed first, and knows more."""
        assert open_sealed(self.saved).strategy_state["phase"] == saved
        (known,) = replay(self.ledger.entries())
        self.phase = phase_of(known.state)
        assert self.phase == phase != saved


TRACES = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("trace", TRACES, ids=[trace["trace"] for trace in TRACES])
def test_the_golden_traces_of_the_second_seed(trace: dict[str, Any]) -> None:
    desk = Desk()
    for act in trace["acts"]:
        if act["act"] == "goal":
            desk.goal_changes(act["version"], act["key"], act["phase"])
        else:
            desk.play(act)
