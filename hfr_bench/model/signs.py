"""The system errors that an answer speaks of, by name: what a trace keeps of a failed tool's words.

The words themselves are benchmark text, which stays out of traces.
"""

SIGNS: dict[str, tuple[str, ...]] = {
    "ENOSPC": ("No space left on device", "database or disk is full"),
    "ENOMEM": ("Cannot allocate memory", "MemoryError"),
    "ECONNREFUSED": ("Connection refused",),
    "EHOSTUNREACH": ("No route to host",),
    "ENETUNREACH": ("Network is unreachable",),
    "ETIMEDOUT": ("timed out", "Connection timeout"),
    "EACCES": ("Permission denied",),
    "EEXIST": ("index.lock': File exists",),
    "EAI_AGAIN": ("Temporary failure in name resolution",),
    "EAI_NONAME": ("Name or service not known", "Could not resolve host"),
}
"""By name: the words by which libc, Python and the usual tools tell of it."""

UNREACHED = frozenset(SIGNS) - {"ENOSPC", "ENOMEM", "EACCES", "EEXIST"}
"""Those that say that somebody was not reached."""


def signs(text: str) -> tuple[str, ...]:
    """The names of the system errors that a text speaks of, sorted."""
    return tuple(sorted(name for name, words in SIGNS.items() if any(w in text for w in words)))
