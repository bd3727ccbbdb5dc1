"""The second seed's traces, replayed on the whole controller: what is heard, decided, written down.

Each file of `golden/` is one list. An entry says what is `heard` (with `step`, and what the event
needs), what is `decided`, the `moves` (key, state), and the `ledger` afterwards (key: state, goal);
`left` are the retries of step and task. The same stories of the loop alone: `test_loop.py`.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.model.attempt import (
    Attempted,
    Decision,
    Finishing,
    GoalChanged,
    Intent,
    Known,
    Proposed,
    Receipt,
    Reconciled,
    Restored,
    StepView,
    StrategyEvent,
    Verdict,
    Verified,
)
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.terms import Channel, CheckLevel, Landed, SideEffect
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.ledger import check_move
from hfr_bench.testing.fakes import fine, lost

GOLDEN = Path(__file__).parent / "golden"
STORIES = sorted(GOLDEN.glob("*.json"))
DEADLINE_US = 600_000_000
SEEN = {"answer": fine(), "no answer": lost()}
R2 = SideEffect.QUERYABLE


class Desk:
    """One task that saves a draft. The ledger's store and the checkpoint outlive a crash."""

    def __init__(self) -> None:
        equipment = Equipment(ledger=True, query=True)
        self.strategy = Hfr({}, Kit(equipment=equipment, chance_key=("golden",)))
        self.state = self.strategy.begin()
        self.saved = json.dumps(self.state)
        self.goal, self.attempts, self.now_us = 1, 0, 0
        self.store: dict[str, Known] = {}

    def play(self, act: dict[str, Any]) -> dict[str, Any]:
        """The act as it came out: what was heard, and what became of it."""
        heard = act["heard"]
        if heard == "checkpoint":
            self.saved = json.dumps(self.state)
            return {"heard": heard}
        self.now_us += 1_000_000
        if heard == "proposed":
            self.attempts = 0
        if heard == "attempted":
            self.attempts += 1
        if heard == "crashed":
            self.state = json.loads(self.saved)
        if heard == "goal changed":
            self.goal = act["goal"]
        self.state, decision = self.strategy.decide(self.state, self._event(act))
        return {**{name: act[name] for name in act if name not in OUT}, **self._out(decision)}

    def _event(self, act: dict[str, Any]) -> StrategyEvent:
        match act["heard"]:
            case "proposed":
                return Proposed(self._view(act))
            case "attempted":
                return Attempted(self._view(act), SEEN[act["seen"]])
            case "reconciled":
                return Reconciled(self._view(act), fine(), Landed(act["landed"]))
            case "verified":
                verdict = Verdict(CheckLevel(act["level"]), act["passed"])
                return Verified(self._view(act), verdict)
            case "receipt":
                return Receipt(self.now_us, act["key"], Landed(act["landed"]), act["goal"])
            case "goal changed":
                return GoalChanged(self.now_us, act["goal"])
            case "crashed":
                return Restored(self.now_us, DEADLINE_US, tuple(self.store.values()))
        return Finishing(self.now_us, DEADLINE_US)

    def _view(self, act: dict[str, Any]) -> StepView:
        draft, step = act["draft"], act["step"]
        key = f"{draft}-{step}"
        intent = Intent(key, Channel.TOOL, "save_draft", R2, draft, key, draft)
        levels = tuple(CheckLevel)[:2] if act.get("seen") == "answer" else ()
        return StepView(
            step, intent, "tool:save_draft", "save_draft", self.attempts, self.now_us, DEADLINE_US,
            can_reconcile=True, goal_version=self.goal, can_verify=levels,
        )  # fmt: skip

    def _out(self, decision: Decision) -> dict[str, Any]:
        for move in decision.moves:
            old = self.store.get(move.key)
            check_move(old.state if old else None, move.to)
            goal = old.goal_version if old else self.goal
            name, tool = move.stepless_key, move.tool
            self.store[move.key] = Known(move.key, name, move.to, tool, R2, goal)
        ledger = {key: f"{entry[1]} {entry[2]}" for key, entry in self.state["ledger"].items()}
        assert ledger == {key: f"{k.state} {k.goal_version}" for key, k in self.store.items()}
        out: dict[str, Any] = {"decided": str(decision.action)}
        if decision.check:
            out["check"] = str(decision.check)
        if decision.moves:
            out["moves"] = [[move.key, str(move.to)] for move in decision.moves]
        if decision.budget.step_left is not None:
            out["left"] = [decision.budget.step_left, decision.budget.task_left]
        return {**out, "ledger": ledger, "stop": str(self.state["stop"])}


OUT = ("decided", "check", "moves", "left", "ledger", "stop")


def test_all_five_stories_are_told() -> None:
    assert [path.stem for path in STORIES] == [
        "changed_goal",
        "lost_response_not_saved",
        "lost_response_saved",
        "normal_save",
        "repeated_trigger",
        "stale_checkpoint_commit_not_written",
        "stale_checkpoint_commit_written",
    ]


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_controller_tells_the_story_as_it_is_written(path: Path) -> None:
    story = json.loads(path.read_text(encoding="utf-8"))
    desk = Desk()
    assert [desk.play(act) for act in story] == story


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_no_story_sends_a_draft_twice_without_having_heard_that_it_is_not_in(path: Path) -> None:
    """Read off the file alone: the golden data could be wrong themselves."""
    maybe: set[str] = set()
    for act in json.loads(path.read_text(encoding="utf-8")):
        if act.get("landed") == "absent":
            maybe.discard(act["draft"])
        if act.get("decided") == "DISPATCH":
            assert act["draft"] not in maybe
            maybe.add(act["draft"])
    assert act["decided"] in ("ACCEPT", "FAIL")
    assert act["stop"] == "done"
