"""Canonical text and digests: the same rule as upstream's database hash.

Upstream hashes `json.dumps(model_dump(), sort_keys=True, default=str)`. Using the very same text
for a row makes "equal rows" here mean exactly "equal rows" there (5 and 5.0 differ, the order of a
dict's keys does not matter).
"""

import hashlib
import json
from typing import Any


def text_of(value: Any) -> str:
    """Canonical JSON text of plain data or of a pydantic model."""
    data = value.model_dump() if hasattr(value, "model_dump") else value
    return json.dumps(data, sort_keys=True, default=str)


def digest_of(value: Any) -> str:
    """sha256 (hex) of the canonical text."""
    return hashlib.sha256(text_of(value).encode()).hexdigest()
