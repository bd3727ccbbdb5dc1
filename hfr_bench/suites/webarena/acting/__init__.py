"""Acting in a browser for a strategy: what tools answer, levels of calls, read-backs, checks.

Shared by the suites of this package. Sites are known here by their buttons and routes alone.
"""
