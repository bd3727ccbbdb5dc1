"""The scripted user: says why it came, does its own part when asked, then ends the talk."""

import json
from collections.abc import Sequence
from itertools import groupby

from hfr_bench.model.task import OracleStep
from hfr_bench.ports.suite import UserAct
from hfr_bench.ports.user import UserTurn


class ScriptedUser:
    """Follows the user's side of the oracle, one block of its own calls per turn.

    Here the user's side is the shift lead, who decides what is pending.
    """

    def __init__(self, opening: str, oracle: Sequence[OracleStep], act: UserAct) -> None:
        self._opening = opening
        self._act = act
        grouped = groupby(oracle, key=lambda step: step.actor)
        self._blocks = [list(steps) for actor, steps in grouped if actor == "user"]

    def open(self) -> UserTurn:
        return UserTurn(self._opening)

    def reply(self, text: str) -> UserTurn:
        if not self._blocks:
            return UserTurn("That is all, thank you.", over=True)
        done = [
            {step.tool: self._act(step.tool, step.arguments).body} for step in self._blocks.pop(0)
        ]
        return UserTurn(f"Decided: {json.dumps(done)}")
