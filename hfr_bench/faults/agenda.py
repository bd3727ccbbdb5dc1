"""A schedule as the audit reads it: sorted by step, and the fate of each event that was reached."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hfr_bench.faults.expect import Place
from hfr_bench.faults.ledgers import PREFIX
from hfr_bench.model.prereg import FORK
from hfr_bench.model.schedule import FaultEvent, FaultSchedule
from hfr_bench.model.terms import Layer
from hfr_bench.model.web import PREFIX as WEB
from hfr_bench.model.web import SITE


class Delivery(NamedTuple):
    """One planned event that was reached: an attempt of the trial met it.

    `mismatch`: what was seen instead; "" if every attempt that met it saw it as declared.
    `masked`: an attempt that met it was answered, in an arm that declares what may hide faults.
    """

    event: FaultEvent
    mismatch: str = ""
    masked: bool = False

    @property
    def delivered(self) -> bool:
        return not self.mismatch and not self.masked


class Agenda:
    """A schedule sorted by step, once for all trials that run under it.

    An event begins at its own step or never, so a trial meets only events of steps it came to.
    `fork`: the event that all others wait for; "" in other designs.
    """

    def __init__(self, schedule: FaultSchedule) -> None:
        counts = Counter([(event.layer, event.kind) for event in schedule.events])
        self.counts = {(layer.value, kind): n for (layer, kind), n in counts.items()}
        points = {event.point for event in schedule.events}
        self.of_the_ledger = any(point.startswith(PREFIX) for point in points)
        self.of_the_web = any(point.startswith((WEB, SITE)) for point in points)
        first = schedule.events[0] if schedule.design == FORK and schedule.events else None
        self.fork = first.injection_id if first else ""
        self._fork_layer = first.layer if first else None
        self._order = {event.injection_id: n for n, event in enumerate(schedule.events)}
        self._steps: dict[tuple[Layer, str, int], list[FaultEvent]] = {}
        for event in schedule.events:
            step = (event.layer, event.point, event.occurrence)
            self._steps.setdefault(step, []).append(event)

    def forks_in(self, layers: Sequence[Layer]) -> bool:
        """Whether the fork is a fault of one of these layers."""
        return self._fork_layer in layers

    def within(self, layer: Layer, places: Iterable[Place]) -> list[FaultEvent]:
        """The events of a layer that some attempts may meet."""
        steps = dict.fromkeys((layer, place.point, place.occurrence) for place in places)
        return [event for step in steps for event in self._steps.get(step, ())]

    def ordered(self, deliveries: Iterable[Delivery]) -> tuple[Delivery, ...]:
        """In the order of the schedule."""
        return tuple(sorted(deliveries, key=lambda one: self._order[one.event.injection_id]))
