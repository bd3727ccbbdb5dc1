"""Faults of the ledger: points that follow from a task's writes, and their audit.

A ledger point is `ledger:<tool>`; its n-th occurrence is the n-th step in which the strategy
announces a write of that tool in its ledger. Arms without a ledger never come there.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hfr_bench.faults.expect import Place
from hfr_bench.model.task import FaultPoint
from hfr_bench.model.terms import Layer, LedgerState
from hfr_bench.model.trace import TraceEvent

DIALECT = "ledger"
PREFIX = "ledger:"
DOWN = "LedgerDown"
"""`on` of the decision that the guard writes down where the ledger could not be written."""


class Announced(NamedTuple):
    """The first transaction of a step about a tool: where, in which line, and whether it failed."""

    place: Place
    line: int
    failed: bool


def ledger_points(points: Iterable[FaultPoint]) -> Iterator[FaultPoint]:
    """A ledger point for every tool that writes."""
    for point in points:
        kind, _, tool = point.point.partition(":")
        if kind == "tool" and point.level.writes:
            yield FaultPoint(
                point=f"{PREFIX}{tool}", layer=Layer.TOOL, target=tool, level=point.level
            )


def announced(events: Sequence[TraceEvent]) -> list[Announced]:
    """Every announcement of a trial, in order."""
    seen: set[tuple[str, int]] = set()
    steps: Counter[str] = Counter()
    found = []
    for line, event in enumerate(events):
        body = event.body
        if body.type == "ledger_moved" and body.after == LedgerState.PREPARED:
            tool, failed = body.tool, False
        elif body.type == "decided" and body.on == DOWN:
            tool, failed = body.evidence, True
        else:
            continue
        if (tool, event.step) in seen:
            continue
        seen.add((tool, event.step))
        steps[tool] += 1
        place = Place(f"{PREFIX}{tool}", steps[tool], 1, tool, event.t_us)
        found.append(Announced(place, line, failed))
    return found
