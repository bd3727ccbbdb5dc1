"""Fakes for every port, the conformance kit, and `score`: a policy under every single fault.

from hfr_bench.testing import decides, score, wraps
"""

from importlib import import_module
from typing import Any

_OFFERED = {
    "Score": "scoring",
    "score": "scoring",
    "CallFailedError": "policies",
    "decides": "policies",
    "wraps": "policies",
}


def __getattr__(name: str) -> Any:
    """Loaded when asked for: whoever needs a fake shall not pay for a laboratory."""
    if name not in _OFFERED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_OFFERED[name]}"), name)
