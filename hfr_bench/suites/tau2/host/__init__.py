"""The tool host of tau2: a program of its own, in an environment of its own.

It never imports `hfr_bench` (which is not installed beside it) and `hfr_bench` never imports it:
the two speak JSON lines over stdin and stdout. Started by path: `<host python> .../host/main.py`.
"""
