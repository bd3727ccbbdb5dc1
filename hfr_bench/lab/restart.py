"""A crash of the runtime under test, and its way back (DESIGN §6 "Two different deaths").

The fault kind `runtime_crash` hits a tool's call: the tool may run, its answer reaches nobody, and
agent and strategy lose all that they know. What is left is the last checkpoint, the ledger's store
and the living world. The strategy is asked first (`Restored`); then an agent made anew goes on
from its saved state and asks for the lost call again, which is a new step.
"""

from collections.abc import Callable

from hfr_bench.lab.guard import Guard
from hfr_bench.lab.step import RuntimeCrashed
from hfr_bench.model.task import TaskSpec
from hfr_bench.ports.agent import Agent, Oracle, Resumable, Runtime


def lead(
    agent: Agent,
    anew: Callable[[], Agent],
    task: TaskSpec,
    runtime: Runtime,
    oracle: Oracle,
    guard: Guard,
) -> None:
    """Let an agent work to its accepted end, through every crash of its runtime.

    `anew`: makes another one, as it is born. One that is not `Resumable` starts its task over.
    Raises TrialStopped as the guard does.
    """
    guard.begin(agent)
    while True:
        try:
            agent.run(task, runtime, oracle)
            guard.finish()
        except RuntimeCrashed:
            agent = anew()
            state = guard.restart(agent)
            if isinstance(agent, Resumable):
                agent.resume(state)
        else:
            return
