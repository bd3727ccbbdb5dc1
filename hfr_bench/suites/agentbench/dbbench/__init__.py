"""AgentBench's databases.

A **row** is a task as upstream writes it. The world is a database of its own for every trial; how
dangerous a statement is to repeat is read from its text, and whether it took hold from the rows.
"""

from hfr_bench.suites.agentbench.dbbench.adapter import DbBenchSuite, DbMiniSuite

__all__ = ["DbBenchSuite", "DbMiniSuite"]
