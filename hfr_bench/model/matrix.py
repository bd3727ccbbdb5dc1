"""Fault matrices (`injectors/matrices/*.yaml`): which kinds, in which mix, at which points."""

from hfr_bench.model.record import Record


class Mix(Record):
    """Kinds with weights for the points that match `points` (shell patterns, first match wins).

    `rate_scale` multiplies the experiment's rate at these points.
    """

    points: tuple[str, ...]
    kinds: dict[str, float]
    rate_scale: float = 1.0


class FaultMatrix(Record):
    """A named mix; the rate itself is the preregistration's."""

    name: str
    title: str = ""
    mixes: tuple[Mix, ...]
