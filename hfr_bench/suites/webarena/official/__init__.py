"""WebArena itself: its records, on sites that somebody runs, before a relay that sees all.

docs/webarena.md shows how the parts fit together.
"""

from hfr_bench.suites.webarena.official.adapter import WebArenaSuite

__all__ = ["WebArenaSuite"]
