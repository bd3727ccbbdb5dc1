"""Rehearsal: a stand-in model that follows the suite's own solution, and errs by keyed draws.

No number made with it is a model's result; its origin says so everywhere.
"""

from hfr_bench.llms.rehearsal.backend import Rehearsal

__all__ = ["Rehearsal"]
