"""What was injected, and what the arm took it for: FaultKind by FaultClass.

Truth is what was delivered (`faults.audit`), belief the class that the strategy names. No class is
called right here: what a kind should be taken for depends on what a runtime can do about it, and
the observation points say whether it did that.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from hfr_bench.faults.audit import Meeting
from hfr_bench.lab.divergence import AGENT
from hfr_bench.model.findings import BeliefRow
from hfr_bench.model.trace import TraceEvent

Believed = tuple[tuple[str, str, str, int], ...]
"""Layer, kind, class ("" = none named), attempts; layer and kind "" where nothing was injected."""

_NOTHING = ("", "")


def believed(events: Iterable[TraceEvent], meetings: Iterable[Meeting]) -> Believed:
    """What a trial's strategy took each delivered fault for, from its trace, in order."""
    live = {meeting.last: (meeting.event.layer.value, meeting.event.kind) for meeting in meetings}
    found: Counter[tuple[tuple[str, str], str]] = Counter()
    met, told, agents = _NOTHING, False, False

    def close() -> None:
        if met != _NOTHING and not told:
            found[met, ""] += 1

    for line, event in enumerate(events):
        body: Any = event.body
        kind = body.type
        if kind == "attempt_started":
            agents = body.purpose == AGENT
            if agents:
                close()
                met, told = _NOTHING, False
        elif kind == "attempt_ended":
            if agents and line in live:
                met = live[line]
            elif line in live:  # a call made for the strategy: what it says next is about that
                close()
                met, told = _NOTHING, True
        elif kind == "decided" and not told and body.fault_class is not None:
            found[met, str(body.fault_class)] += 1
            told = True
    close()
    return tuple((*key, name, n) for (key, name), n in sorted(found.items()))


def belief_rows(
    arms: Sequence[str], trials: Iterable[tuple[str, Believed]]
) -> tuple[BeliefRow, ...]:
    """Sums by kind, arm and class; arms that never name a class are left out.

    `trials`: arm, and what its trial believed; controls left out.
    """
    sums: Counter[tuple[str, str, str, str]] = Counter()
    for arm, told in trials:
        for layer, kind, name, n in told:
            sums[layer, kind, arm, name] += n
    naming = {arm for _, _, arm, name in sums if name}
    order = {arm: n for n, arm in enumerate(arms)}
    keys = sorted((k for k in sums if k[2] in naming), key=lambda k: (*k[:2], order[k[2]], k[3]))
    return tuple(
        BeliefRow(kind=kind, layer=layer, arm=arm, believed=name, n=sums[layer, kind, arm, name])
        for layer, kind, arm, name in keys
    )
