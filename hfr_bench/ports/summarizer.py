"""Context compression (rung L1)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from hfr_bench.model.attempt import Observation

# Calls the step's model at the point `model:compress`: a request -> what was seen. Charged, and
# can be faulted.
Ask = Callable[[Mapping[str, Any]], Observation]


class Summarizer(Protocol):
    """Makes a shorter conversation that should still do; may ask a model."""

    def compress(
        self, messages: Sequence[Mapping[str, Any]], ask: Ask
    ) -> list[Mapping[str, Any]]: ...
