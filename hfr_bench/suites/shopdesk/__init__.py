"""shopdesk: our own suite, an order desk over a real SQLite database, and the template for others.

The tools and their database run in a tool host (`host/`); this side holds the generator of tasks,
the adapter, the scripted user, the recovery predicates and the strategy-side checks.
"""

from hfr_bench.suites.shopdesk.adapter import ShopdeskSuite

__all__ = ["ShopdeskSuite"]
