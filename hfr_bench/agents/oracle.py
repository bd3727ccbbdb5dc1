"""The oracle: carries out the suite's own solution without a model; success must be 1."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from hfr_bench.model.task import TaskSpec
from hfr_bench.ports.agent import Oracle, Runtime, ToolRequest


class OracleAgent:
    """Follows the oracle block by block, handing over to the user where the user must act.

    What the task wants said, it says at the end.
    """

    needs_oracle = True

    def __init__(self) -> None:
        self._behind = 0  # steps of the oracle, the user's included
        self._over: bool | None = None  # None: the user has not opened yet
        self._resumed = False

    def state(self) -> dict[str, Any]:
        return {"behind": self._behind, "over": self._over}

    def resume(self, state: Mapping[str, Any]) -> None:
        self._behind, self._over = state.get("behind", 0), state.get("over")
        self._resumed = True

    def run(self, task: TaskSpec, runtime: Runtime, oracle: Oracle) -> None:
        if not self._resumed:
            self._behind, self._over = 0, None
        self._resumed = False
        if self._over is None:
            self._over = runtime.user_opens().over
        for actor, grouped in groupby(enumerate(oracle.steps), key=lambda one: one[1].actor):
            block = [(at, step) for at, step in grouped if at >= self._behind]
            if actor == "user" and block:
                self._over = runtime.user_replies("Please go on with your part.").over
                self._behind += len(block)
                continue
            for at, step in block:
                runtime.tool(ToolRequest(f"oracle_{at}", step.tool, step.arguments))
                self._behind += 1
        if not self._over:
            runtime.user_replies(" ".join(("Done.", *oracle.say)))
