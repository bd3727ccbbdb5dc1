"""The oracle: carries out the suite's own solution without a model; success must be 1."""

from itertools import groupby

from hfr_bench.model.task import TaskSpec
from hfr_bench.ports.agent import Oracle, Runtime, ToolRequest


class OracleAgent:
    """Follows the oracle block by block, handing over to the user where the user must act.

    What the task wants said, it says at the end.
    """

    needs_oracle = True

    def run(self, task: TaskSpec, runtime: Runtime, oracle: Oracle) -> None:
        turn = runtime.user_opens()
        for actor, steps in groupby(oracle.steps, key=lambda step: step.actor):
            if actor == "user":
                turn = runtime.user_replies("Please go on with your part.")
                continue
            for n, step in enumerate(steps):
                runtime.tool(ToolRequest(f"oracle_{n}", step.tool, step.arguments))
        if not turn.over:
            runtime.user_replies(" ".join(("Done.", *oracle.say)))
