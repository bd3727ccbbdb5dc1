"""Where in its trial a call is: told by the caller, or inferred from what came before it. Pure."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Coordinate(NamedTuple):
    """Where in its trial a request is. `told`: the caller named it; else it was inferred."""

    point: str
    occurrence: int
    attempt: int
    told: bool


@dataclass(slots=True)
class Trails:
    """What a caller that names no coordinates did so far.

    A call after a failed one is the next attempt of the same step; any other is the next step of
    its point. `asked` tells calls of one point apart, where a caller may have several under way: a
    failed call is then followed by the next one that asks the same.
    """

    _occurrences: dict[str, int] = field(default_factory=dict)
    _failed: dict[tuple[str, str], Coordinate] = field(default_factory=dict)

    def next(self, point: str, asked: str = "") -> Coordinate:
        """The coordinate of a call that names none. Its failed predecessor is used up."""
        failed = self._failed.pop((point, asked), None)
        if failed is not None:
            return failed._replace(attempt=failed.attempt + 1)
        self._occurrences[point] = self._occurrences.get(point, 0) + 1
        return Coordinate(point, self._occurrences[point], 1, told=False)

    def settle(self, at: Coordinate, asked: str = "", *, failed: bool) -> None:
        """Remember how a call ended, for the inference of the next one."""
        if at.told:
            return
        if failed:
            self._failed[at.point, asked] = at
        else:
            self._failed.pop((at.point, asked), None)
