"""The agent that does nothing; success must be 0 wherever there is something to do."""

from hfr_bench.model.task import TaskSpec
from hfr_bench.ports.agent import Oracle, Runtime


class NopAgent:
    """Hears the user out and leaves."""

    def run(self, task: TaskSpec, runtime: Runtime, oracle: Oracle) -> None:
        runtime.user_opens()
