"""AgentBench's shells.

A **row** is a task as upstream writes it. The world is a sandbox of its own for every trial: our
own pack's is a home folder, upstream's a whole system. How dangerous a script is to repeat is read
from its text, and whether it has run from what the shell host has written down.
"""

from hfr_bench.suites.agentbench.os_interaction.adapter import OsInteractionSuite, OsMiniSuite

__all__ = ["OsInteractionSuite", "OsMiniSuite"]
