"""The tool host of shopdesk: an order desk over a real SQLite database.

A program of its own; it needs Python's standard library and imports nothing of hfr_bench.
"""
