"""Fault matrices (`injectors/matrices/*.yaml`): which kinds, in which mix, at which points."""

from typing import Annotated

from pydantic import Field

from hfr_bench.model.record import Record


class Mix(Record):
    """Kinds with weights for the points that match `points` (shell patterns, first match wins).

    `rate_scale` multiplies the experiment's rate at these points.
    """

    points: tuple[str, ...] = Field(min_length=1)
    kinds: dict[str, Annotated[float, Field(gt=0)]] = Field(min_length=1)
    rate_scale: float = Field(default=1.0, ge=0)


class FaultMatrix(Record):
    """A named mix; the rate itself is the preregistration's."""

    name: str
    title: str = ""
    mixes: tuple[Mix, ...]
