"""One recorded trial, played again: which recorded response answers which request."""

import threading
from collections import Counter, deque
from collections.abc import Iterable

from hfr_bench.model.cassette import Heard, Taped

_Place = tuple[str, int]
_SHOWN = 12


class Player:
    """The responses of one trial, each given once, by point, occurrence and request digest.

    What was asked for more than once in the same words is answered in the recorded order. `miss`:
    why a request found no answer, or "". One request at a time; safe from any thread.
    """

    def __init__(self, lines: Iterable[Taped]) -> None:
        self.miss = ""
        self._lock = threading.Lock()
        self._left: dict[tuple[_Place, str], deque[Taped]] = {}
        self._costs: dict[tuple[_Place, int, str], int | None] = {}
        self._played: Counter[tuple[_Place, str]] = Counter()
        self._cost: int | None = None
        for line in lines:
            place = (line.point, line.occurrence)
            self._costs[place, line.attempt, line.request_digest] = line.cost_microusd
            if line.response is not None:
                self._left.setdefault((place, line.request_digest), deque()).append(line)

    def play(self, point: str, occurrence: int, request_digest: str) -> Heard | None:
        """The next recorded answer to that request; None if there is none, and `miss` says why."""
        place = (point, occurrence)
        with self._lock:
            found = self._left.get((place, request_digest))
            if not found:
                self.miss = self._why(place, request_digest)
                return None
            line = found.popleft()
            self._played[place, request_digest] += 1
            self._cost = line.cost_microusd
            return line.response

    def cost(self, point: str, occurrence: int, attempt: int, request_digest: str) -> int | None:
        """What the attempt that has just ended was charged when it was recorded; None = unknown.

        That of the answer that it was played, else of the same attempt, which got none.
        """
        with self._lock:
            cost, self._cost = self._cost, None
            if cost is not None:
                return cost
            return self._costs.get(((point, occurrence), attempt, request_digest))

    def _why(self, place: _Place, request_digest: str) -> str:
        where = f"{place[0]} #{place[1]}"
        if times := self._played[place, request_digest]:
            return f"{where}: asked again, and only {times} answer(s) to this request are recorded"
        others = sorted({digest for at, digest in self._left if at == place})
        if others:
            return (
                f"{where}: another request ({request_digest[:_SHOWN]}) than was recorded there "
                f"({', '.join(digest[:_SHOWN] for digest in others)})"
            )
        return f"{where}: nothing is recorded there"
