"""What the calm trial of a live fork was answered, played to another trial of its task and seed.

The key is point, occurrence and request digest. A request of the agent that is not recorded is a
miss: it is said, the live model answers it, and nothing is played from there on, for what comes
after is another conversation. Calls that an arm makes for itself are no part of the prefix.
"""

import threading
from collections import deque
from collections.abc import Iterable

from hfr_bench.model.cassette import Taped
from hfr_bench.ports.tape import Mark

OWN = frozenset({"model:compress"})
"""Points at which models are asked for the strategy."""

_Place = tuple[str, int, int]


class Played:
    """A cassette as a prefix (`ports.tape.Prefix`). `digest`: of its bytes.

    `parted`: where the trial asked for what is not recorded, as `point #occurrence`; "" = nowhere.
    """

    def __init__(self, lines: Iterable[Taped], digest: str) -> None:
        self.digest = digest
        self.parted = ""
        self._lock = threading.Lock()
        self._left: dict[tuple[str, int, str], deque[Taped]] = {}
        self._charges: dict[_Place, int | None] = {}
        for line in lines:
            if line.response is not None:
                key = (line.point, line.occurrence, line.request_digest)
                self._left.setdefault(key, deque()).append(line)

    def seek(self, at: _Place, request_digest: str) -> tuple[Mark, Taped | None]:
        """The next recorded answer to that request, and how it stands to the prefix."""
        point, occurrence, _ = at
        with self._lock:
            if self.parted:
                return "", None
            found = self._left.get((point, occurrence, request_digest))
            if found:
                line = found.popleft()
                self._charges[at] = line.cost_microusd
                return "played", line
            if point in OWN:
                return "", None
            self.parted = f"{point} #{occurrence}"
            return "missed", None

    def charge(self, at: _Place, cost_microusd: int | None) -> int | None:
        """What an attempt that is over costs: as recorded if it was played, else as it was told."""
        with self._lock:
            return self._charges.pop(at, cost_microusd)
