"""What became of one attempt in the relay, told to its client in the same process.

Coordinates end at the gateway, so an attempt is known to the relay by a random request id alone.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

REQUEST_ID = "x-request-id"


@dataclass(slots=True)
class Passage:
    """One attempt on its way. `timeout_s` None: nobody told (a foreign agent's request).

    `reached`, `answered`: the relay got it; the provider's answer was there. `organic`: errors of
    the provider that were absorbed; `organic_us`: the time that they took. `cost_microusd`: of
    what the provider charges for, None = unknown. `why`: the last organic error.
    """

    id: str = ""
    timeout_s: float | None = None
    reached: bool = False
    answered: bool = False
    organic: int = 0
    organic_us: int = 0
    cost_microusd: int | None = 0
    why: str = ""


@dataclass(slots=True)
class Passages:
    """Those under way, by id. `organic`, `exhausted`: errors and lost attempts in all."""

    organic: int = 0
    exhausted: int = 0
    _under_way: dict[str, Passage] = field(default_factory=dict)

    @contextmanager
    def open(self, timeout_s: float) -> Iterator[Passage]:
        """Around one attempt of one of our clients."""
        passage = Passage(secrets.token_hex(16), timeout_s)
        self._under_way[passage.id] = passage
        try:
            yield passage
        finally:
            del self._under_way[passage.id]

    def find(self, request_id: str) -> Passage:
        """The passage of that id; a fresh one for a stranger."""
        return self._under_way.get(request_id) or Passage()
