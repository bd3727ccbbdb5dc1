"""What a test came to, in upstream's words, and what a parser of logs is."""

from collections.abc import Callable

PASSED, FAILED, SKIPPED, ERROR, XFAIL = "PASSED", "FAILED", "SKIPPED", "ERROR", "XFAIL"
STATUSES = (FAILED, PASSED, SKIPPED, ERROR, XFAIL)

Found = dict[str, str]
"""Test name -> status; almost always one of STATUSES."""
Parser = Callable[[str], Found]
