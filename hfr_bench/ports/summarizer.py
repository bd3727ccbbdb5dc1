"""Context compression (rung L1)."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Summarizer(Protocol):
    """Makes a shorter conversation that should still do; may call a model (`model:compress`)."""

    def compress(self, messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]: ...
