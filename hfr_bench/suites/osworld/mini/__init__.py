"""desk_mini: tasks of our own on a desk of our own, in OSWorld's JSON and by its rules.

It lives in the plug package of OSWorld because the two share actions, steps and evaluators, and
plugs do not import each other. What it measures is called desk_mini, never OSWorld.
"""

from hfr_bench.suites.osworld.mini.adapter import DeskMiniSuite

__all__ = ["DeskMiniSuite"]
