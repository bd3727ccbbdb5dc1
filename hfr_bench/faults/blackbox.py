"""What a program met whose inside is closed: told from its requests alone (pure).

There is no outer recorder here. That a fault went out is the gateway's own word; that the program
met it, and what it made of it, follows from what it asked for next. Which event must have been
live at each request is `expect`'s word, not the gateway's.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hfr_bench.faults.expect import Place, expected
from hfr_bench.model.gateway import EventFate, Fate, GatewaySummary
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, KindSpec
from hfr_bench.model.terms import Layer
from hfr_bench.model.trace import UpstreamHit

OTHER = "wire:"
"""Points of requests that are no model calls begin with it."""


class Seen(NamedTuple):
    """A request that reached the gateway, and when its line was written."""

    hit: UpstreamHit
    t_us: int


def summed(
    requests: Sequence[Seen],
    schedule: FaultSchedule,
    kinds: Mapping[str, KindSpec],
    *,
    switched_off: bool = False,
) -> GatewaySummary:
    """The summary of all requests in order; how it ended is for the caller to add.

    `switched_off`: some events were not played on purpose.
    """
    calls = [one for one in requests if not one.hit.point.startswith(OTHER)]
    planned = [event for event in schedule.events if event.layer is Layer.MODEL]
    hits = [one.hit for one in calls]
    return GatewaySummary(
        requests=len(requests),
        steps=len({(hit.point, hit.occurrence) for hit in hits}),
        attempts=len(hits),
        told=sum(hit.told for hit in hits),
        forwarded=sum(hit.forwarded for hit in hits),
        repeated=sum(_repeats(hits, at) for at in range(len(hits))),
        organic=sum(hit.organic for hit in hits),
        unplanned=0 if switched_off else _unplanned(calls, planned),
        elsewhere=len(schedule.events) - len(planned),
        fates=tuple(_fate(event, calls, kinds) for event in planned),
        switched_off=switched_off,
    )


def _repeats(hits: Sequence[UpstreamHit], at: int) -> bool:
    """Whether an attempt repeats, byte for byte, the one before it in its step."""
    one = hits[at]
    before = [hit for hit in hits[:at] if _step(hit) == _step(one)]
    return bool(before) and before[-1].request_digest == one.request_digest


def _unplanned(calls: Sequence[Seen], planned: Sequence[FaultEvent]) -> int:
    places = [
        Place(hit.point, hit.occurrence, hit.attempt, hit.target, t_us) for hit, t_us in calls
    ]
    wanted = [event and event.injection_id for event in expected(planned, places)]
    return sum(one.hit.injection_id != name for one, name in zip(calls, wanted, strict=True))


def _fate(event: FaultEvent, calls: Sequence[Seen], kinds: Mapping[str, KindSpec]) -> EventFate:
    met = [at for at, one in enumerate(calls) if one.hit.injection_id == event.injection_id]
    fate: Fate = "not_reached"
    waited_us = 0
    if met:
        last = calls[met[-1]]
        later = [one for one in calls[met[-1] + 1 :] if _step(one.hit) == _step(last.hit)]
        waited_us = later[0].t_us - last.t_us if later else 0
        same = (one.hit for one in later if one.hit.request_digest == last.hit.request_digest)
        silent = kinds[event.kind].silent
        masked = not silent and any(_answered(hit, kinds) for hit in same)
        fate = "masked" if masked else "surfaced"
    return EventFate(
        injection_id=event.injection_id,
        kind=event.kind,
        point=event.point,
        occurrence=event.occurrence,
        attempt=event.attempt,
        fate=fate,
        attempts=len(met),
        waited_us=waited_us,
    )


def _answered(hit: UpstreamHit, kinds: Mapping[str, KindSpec]) -> bool:
    """Whether what went out is an answer to the program: the model's, or a silent fault's."""
    if hit.kind is not None:
        return kinds[hit.kind].silent
    return hit.upstream_status is not None and hit.upstream_status < 400


def _step(hit: UpstreamHit) -> tuple[str, int]:
    return hit.point, hit.occurrence
