"""What `suites/synthetic/*.yaml` says: the model world, the arms, the rules (paper §6.2, app. B).

Shares are 0..1, costs relative (a call of the main model = 1), times seconds.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from hfr_bench import content
from hfr_bench.model.prereg import Equipment
from hfr_bench.model.record import Record
from hfr_bench.model.terms import FaultClass

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]
Rules = Literal["literal", "paper"]

MODEL, READ, WRITE = range(3)
"""Kinds of step."""
FAULTS = (*(cls for cls in FaultClass if cls is not FaultClass.SEMANTIC), FaultClass.SEMANTIC)
"""Class n of a draw is FAULTS[n - 1]; 0 is no fault."""
V1 = len(FAULTS)


class ByCriticality(Record):
    """A share for each criticality."""

    low: Share
    medium: Share
    high: Share

    def all(self) -> tuple[float, float, float]:
        return self.low, self.medium, self.high


class Kinds(Record):
    """How often a step is which."""

    model: Share
    read: Share
    write: Share


class Level(Record):
    """A model or tool on the ladder (table B1)."""

    quality: Share
    cost: Amount
    seconds: Amount


class Verifier(Record):
    """How often a wrong answer is found, by what gave it, and a right one rejected."""

    finds_model: Share
    finds_tool: Share
    false_reject: Share


class Person(Record):
    """What an escalation adds to a task."""

    cost: Amount
    seconds: Amount


class Channels(Record):
    """A share for models and one for tools."""

    model: Share
    tool: Share


Three = tuple[Share, Share, Share]


class Hits(Record):
    """How often an incident hits an attempt, by level."""

    model: Three
    tool: Three


class Printed(Record):
    """What the paper prints."""

    fault_rate: Share
    criticality: ByCriticality
    kinds: Kinds
    model: tuple[Level, Level, Level]
    tool: tuple[Level, Level, Level]
    stickiness: Share
    verifier: Verifier
    person: Person


class Calibrated(Record):
    """What it does not print, fitted to its tables."""

    steps: dict[int, Share]
    model_faults: dict[FaultClass, Share]
    tool_faults: dict[FaultClass, Share]
    lands: Share
    incident: Channels
    incident_hits: Hits
    penalty: ByCriticality
    person_for_permanent: ByCriticality
    person_for_exhausted: ByCriticality

    @model_validator(mode="after")
    def _whole(self) -> "Calibrated":
        for name in ("steps", "model_faults", "tool_faults"):
            if abs(sum(getattr(self, name).values()) - 1) > 1e-9:
                raise ValueError(f"the shares of {name} add up to 1")
        return self


class Rule(Record):
    """What is charged, and how chance treats later attempts.

    `charged`: the share of an attempt that is charged when it is retried after such a fault; all
    of it for the other classes. `later_faults`: the fault rate of later attempts, over that of
    the first. `stickiness`: of an arm, where it is not the world's.
    """

    charged: dict[FaultClass, Share] = {}
    later_faults: Share = 1.0
    stickiness: dict[str, Share] = {}


class World(Record):
    """The whole of `world.yaml`, and what only the studies vary.

    `keys`: the write tool knows a write again by its key. `false_absent`: how often the world,
    asked for a write that is in, says that it is not.
    """

    paper: Printed
    calibrated: Calibrated
    rules: dict[Rules, Rule]
    keys: bool = True
    false_absent: Share = 0.0

    def changed(self, **values: Any) -> "World":
        """Another world: any of its values by name (`fault_rate`, `incident`, `keys`).

        Raises ValueError for a name that it does not have, and for a bad value.
        """
        told = self.model_dump(mode="json")
        for name, value in values.items():
            owner = next(
                (of for of in (told, told["paper"], told["calibrated"]) if name in of), None
            )
            if owner is None:
                raise ValueError(f"the world has no {name!r}")
            owner[name] = value.model_dump(mode="json") if isinstance(value, Record) else value
        return World.model_validate(told)


class SyntheticArm(Record):
    """A registered strategy in the model world; see `arms.yaml`."""

    strategy: str
    checks: Literal["none", "call", "port"]
    keyed: bool = False
    config: dict[str, Any] = {}
    equipment: Equipment = Equipment()


class _Arms(Record):
    hfr: dict[str, Any] = {}
    equipment: Equipment = Equipment()
    arms: dict[str, SyntheticArm]


@cache
def world() -> World:
    """The shipped world. Raises BadInputError for a file that says something else."""
    return content.read_record(content.root() / "suites" / "synthetic" / "world.yaml", World)


@cache
def arms() -> Mapping[str, SyntheticArm]:
    """The shipped arms by the paper's names."""
    path = content.root() / "suites" / "synthetic" / "arms.yaml"
    return content.read_record(path, _Arms).arms
