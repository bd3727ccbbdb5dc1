"""The scripted user of our suites: says why it came, does its part when asked, ends the talk."""

import json
from collections.abc import Sequence
from itertools import groupby

from hfr_bench.model.task import OracleStep
from hfr_bench.ports.suite import UserAct
from hfr_bench.ports.user import UserTurn


class ScriptedUser:
    """Follows the user's side of the oracle, one block of its own calls per turn.

    Some users act themselves (telecom's hold a device, the order desk's shift lead decides): their
    calls are part of the solution. They go through `act`, which no strategy guards and no fault
    touches. `told`: what precedes what was done; `bye`: the last words.
    """

    def __init__(
        self, opening: str, oracle: Sequence[OracleStep], act: UserAct, *, told: str, bye: str
    ) -> None:
        self._opening, self._told, self._bye = opening, told, bye
        self._act = act
        grouped = groupby(oracle, key=lambda step: step.actor)
        self._blocks = [list(steps) for actor, steps in grouped if actor == "user"]

    def open(self) -> UserTurn:
        return UserTurn(self._opening)

    def reply(self, text: str) -> UserTurn:
        if not self._blocks:
            return UserTurn(self._bye, over=True)
        done = [
            {step.tool: self._act(step.tool, step.arguments).body} for step in self._blocks.pop(0)
        ]
        return UserTurn(f"{self._told}: {json.dumps(done)}")
