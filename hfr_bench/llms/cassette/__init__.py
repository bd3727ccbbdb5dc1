"""Recorded responses in a live model's place: plays what an earlier live run has recorded."""

from hfr_bench.llms.cassette.backend import Cassette

__all__ = ["Cassette"]
