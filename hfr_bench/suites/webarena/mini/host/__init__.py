"""The tool host of web_mini: four small web sites over one SQLite database, and their control.

A program of its own; it needs Python's standard library and imports nothing of hfr_bench.
"""
