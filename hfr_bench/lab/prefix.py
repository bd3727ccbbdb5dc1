"""What the calm trial of a live fork was answered, played to another trial of its task and seed.

The key is point, occurrence and request digest. A request of the agent that is not recorded is a
miss: it is said, the live model answers it, and nothing is played from there on, for what comes
after is another conversation. Calls that an arm makes for itself are no part of the prefix.
"""

import threading
from collections import deque
from collections.abc import Iterable

from hfr_bench.model.cassette import Mark, Taped

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
        self._unsaid = False
        self._lock = threading.Lock()
        self._left: dict[tuple[str, int, str], deque[Taped]] = {}
        self._costs: dict[_Place, int | None] = {}
        self._marks: dict[_Place, Mark] = {}
        for line in lines:
            if line.response is not None:
                key = (line.point, line.occurrence, line.request_digest)
                self._left.setdefault(key, deque()).append(line)

    def seek(self, at: _Place, request_digest: str) -> tuple[Mark, Taped | None]:
        """The next recorded answer to that request, and how it stands to the prefix."""
        with self._lock:
            mark, line = self._seek(at, request_digest)
            self._marks[at] = mark
            if line is not None:
                self._costs[at] = line.cost_microusd
        return mark, line

    def _seek(self, at: _Place, request_digest: str) -> tuple[Mark, Taped | None]:
        point, occurrence, _ = at
        if self._unsaid and point not in OWN:
            self._unsaid = False
            return "missed", None
        if self.parted:
            return "", None
        if found := self._left.get((point, occurrence, request_digest)):
            return "played", found.popleft()
        if point in OWN:
            return "", None
        self.parted = f"{point} #{occurrence}"
        return "missed", None

    def seek_for_user(self, at: _Place, request_digest: str) -> tuple[Mark, Taped | None]:
        """As `seek`, for a user whom a model plays; no line of the trace tells of its calls.

        So a miss is said of the agent's next request, which holds what that user then says.
        """
        mark, line = self.seek(at, request_digest)
        if mark == "missed":
            with self._lock:
                self._unsaid = True
        return mark, line

    def mark(self, at: _Place, *, answered: bool) -> Mark:
        """How an attempt stood to the prefix. `answered`: the model server, or its recording, did.

        Where a fault was the answer, nothing was played.
        """
        with self._lock:
            mark = self._marks.get(at, "")
        return "" if mark == "played" and not answered else mark

    def cost(self, at: _Place) -> int | None:
        """What the answer that was found for an attempt had cost; None = unknown."""
        with self._lock:
            return self._costs.get(at)


class ForUser:
    """A prefix as the model that plays the user is held against it."""

    def __init__(self, whole: Played) -> None:
        self._whole = whole

    def seek(self, at: _Place, request_digest: str) -> tuple[Mark, Taped | None]:
        return self._whole.seek_for_user(at, request_digest)


class Marks:
    """In a replay, what the recording says of each answer; its player has them all."""

    def __init__(self, lines: Iterable[Taped]) -> None:
        self._marks = {(line.point, line.occurrence, line.attempt): line.prefix for line in lines}

    def seek(self, at: _Place, request_digest: str) -> tuple[Mark, Taped | None]:
        """The recorded mark; the request goes to the player, which holds it to its digest."""
        return self._marks.get(at, ""), None
