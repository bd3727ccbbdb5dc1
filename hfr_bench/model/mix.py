"""Fault mixes (`injectors/mixes/*.yaml`, `report --mix`): how often what fails, known or not.

A mix says how often each kind of fault occurs in somebody's production. It plans nothing; it
reweights what an experiment measured of single faults. What its source does not know is written
as `unknown` or as bounds, and the answer becomes a range.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from hfr_bench.model.record import Record

UNKNOWN = "unknown"
WHOLE = (0.0, 1.0)
_SLACK = 1e-9

Bounds = tuple[float, float]
Calls = Literal["model_calls", "tool_calls"]


def _pair(given: Any) -> Bounds | None:
    """A number, or two of them as bounds; None for anything else."""
    ends = given if isinstance(given, list | tuple) else (given, given)
    if len(ends) != 2 or any(isinstance(e, bool) or not isinstance(e, int | float) for e in ends):
        return None
    return float(ends[0]), float(ends[1])


def _share(given: Any) -> Any:
    """A share from 0 to 1, two of them as bounds, or `unknown`. Raises ValueError."""
    found = WHOLE if given == UNKNOWN else _pair(given)
    if found is None or not 0 <= found[0] <= found[1] <= 1:
        raise ValueError(f"a share is a number from 0 to 1, [low, high], or unknown; got {given!r}")
    return found


def _amount(given: Any) -> Any:
    """How many of 1,000 calls, or bounds of that. Raises ValueError."""
    if given == UNKNOWN:
        raise ValueError(
            "of how many calls is not known: give bounds [low, high], or use shares without "
            "`overall`, which ask about a trial with one fault"
        )
    found = _pair(given)
    if found is None or not 0 <= found[0] <= found[1] <= 1000:
        raise ValueError(f"per 1,000 calls: a number from 0 to 1000, or [low, high]; got {given!r}")
    return found


def _split(given: Any) -> Any:
    """Kinds with their shares; a plain list says that their shares are not known."""
    if isinstance(given, list | tuple) and all(isinstance(kind, str) for kind in given):
        if len(set(given)) != len(given):
            raise ValueError("a kind is listed twice")
        return dict.fromkeys(given, UNKNOWN if len(given) > 1 else 1.0)
    return given


_NUMBER = {"type": "number", "minimum": 0}
_BOTH = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}
Share = Annotated[
    Bounds,
    BeforeValidator(_share),
    WithJsonSchema({"anyOf": [_NUMBER | {"maximum": 1}, _BOTH, {"const": UNKNOWN}]}),
]
Per1000 = Annotated[
    Bounds,
    BeforeValidator(_amount),
    WithJsonSchema({"anyOf": [_NUMBER | {"maximum": 1000}, _BOTH]}),
]
_SHARES = {"type": "object", "additionalProperties": {}}
_KINDS = {"anyOf": [_SHARES, {"type": "array", "items": {"type": "string"}}]}


class Source(Record):
    """Where a mix comes from. `figures`: those that were taken from it, word for word.

    `where`: table, section or file. `read`: which text or file was really read.
    """

    title: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    id: str = ""
    where: str = ""
    read: str = ""
    figures: tuple[str, ...] = ()


class Category(Record):
    """One sort of failure of a mix, in the words of its source.

    `per_1000`: of 1,000 calls, or `share` of all faults of the mix; a number, bounds [low, high],
    of a share also `unknown`. `of`: which calls. `kinds`: our fault kinds that it may be, with
    shares; a list of several: shares unknown; none: nothing of ours is like it. `landed`: of a
    write whose answer was lost, how often it had landed.
    """

    what: str
    of: Calls
    per_1000: Per1000 | None = None
    share: Share | None = None
    kinds: Annotated[dict[str, Share], BeforeValidator(_split), WithJsonSchema(_KINDS)] = {}
    landed: Share = WHOLE
    note: str = ""

    @model_validator(mode="after")
    def _one_amount(self) -> Self:
        if (self.per_1000 is None) == (self.share is None):
            raise ValueError(f"{self.what}: give per_1000 or share, one of them")
        if (low := sum(share[0] for share in self.kinds.values())) > 1 + _SLACK:
            raise ValueError(f"{self.what}: the shares of its kinds add up to {low:.6g}, above 1")
        return self


class Overall(Record):
    """What shares are shares of: how many of 1,000 such calls fail."""

    of: Calls
    per_1000: Per1000


class FaultMix(Record):
    """A mix of faults.

    `calls`: calls of a task in the user's production; else those of the experiment's fault-free
    trials. `overall`: for shares; without it the question is about a trial with one fault.
    `not_known`: in words, what the source does not tell.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,63}$")
    title: str = ""
    source: Source | None = None
    calls: dict[Calls, Annotated[float, Field(ge=0)]] = {}
    overall: Overall | None = None
    faults: tuple[Category, ...] = Field(min_length=1)
    not_known: tuple[str, ...] = ()

    @property
    def of_shares(self) -> bool:
        """Whether it is told in shares (of all faults), not in rates (of calls)."""
        return self.faults[0].share is not None

    @model_validator(mode="after")
    def _rates_or_shares(self) -> Self:
        if len({one.share is None for one in self.faults}) > 1:
            raise ValueError("per_1000 and share are mixed; tell all faults in one of them")
        if not self.of_shares:
            if self.overall is not None:
                raise ValueError("overall is for shares; these faults are told per 1,000 calls")
            return self
        if (low := sum(one.share[0] for one in self.faults if one.share)) > 1 + _SLACK:
            raise ValueError(f"the shares add up to {low:.6g}, above 1")
        other = [o.what for o in self.faults if self.overall and o.of != self.overall.of]
        if self.overall is not None and other:
            raise ValueError(f"overall is of {self.overall.of}, but not {other[0]!r}")
        return self
