"""swe_mini: twelve small tasks of our own on real hosts, by SWE-bench's own rule.

It lives in the plug package of SWE-bench because the two share the grader, the classifier of shell
commands and the task format, and plugs do not import each other. What it measures is called
swe_mini, never SWE-bench.
"""

from hfr_bench.suites.swe_bench.mini.adapter import SweMiniSuite

__all__ = ["SweMiniSuite"]
