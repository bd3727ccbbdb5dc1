"""web_mini: our own tasks on four small sites, by WebArena's actions, schemas and evaluators.

It lives in the plug package of WebArena because the two share drivers and evaluators, and plugs do
not import each other. What it measures is called web_mini, never WebArena.
"""

from hfr_bench.suites.webarena.mini.adapter import WebMiniSuite

__all__ = ["WebMiniSuite"]
