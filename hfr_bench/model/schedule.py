"""Faults as data: what a kind is, and what will happen where, written down before the run."""

from typing import Annotated, Any, Literal

from pydantic import Field

from hfr_bench.model.breakage import Break
from hfr_bench.model.effects import Altered, Boundary
from hfr_bench.model.record import Record
from hfr_bench.model.terms import Layer, SafeOutcome, SideEffect
from hfr_bench.model.web import WebEffect

Point = str


class Lasts(Record):
    """How long an event lasts once reached.

    `attempts`: n attempts of its step. `target`: until the step goes to another target (paper
    §6.2: sticky within the same logical step, unless a degradation changed model or tool).
    `request`: until the step sends a smaller request, wherever it goes (models only). `trial`:
    until the trial ends. `seconds`: n seconds of trial clock since its coordinate was reached.
    `over`: whom the last two hit: `all` targets, or only the `one` at which they began, to which
    they are still there when the caller comes back.
    """

    unit: Literal["attempts", "target", "request", "trial", "seconds"] = "attempts"
    n: int = Field(default=1, ge=1)
    over: Literal["all", "one"] = Field(default="all", exclude_if=lambda over: over == "all")


class Respond(Record):
    """The client gets an HTTP answer (model layer) or an error answer (tool layer)."""

    type: Literal["respond"] = "respond"
    status: int = Field(ge=100, le=599)
    headers: dict[str, str] = {}
    body: str = ""


class Close(Record):
    """The connection ends without an answer. `forward`: the upstream got the request first."""

    type: Literal["close"] = "close"
    forward: bool = False


class Stall(Record):
    """No answer for `stall_s` seconds, then the connection ends. Longer than any timeout = hang."""

    type: Literal["stall"] = "stall"
    stall_s: float = Field(ge=0)
    forward: bool = False


class Drip(Record):
    """The real answer, a byte each `every_s`; after `stall_s` in all the connection ends.

    A client that limits the wait between two bytes, and not the whole, waits for all of it.
    """

    type: Literal["drip"] = "drip"
    stall_s: float = Field(ge=0)
    every_s: float = Field(default=1.0, gt=0)
    forward: Literal[True] = True


class Cut(Record):
    """The real answer breaks off, and the connection with it.

    `at`: in the middle of the body (`half`), or of the first tool call's JSON (`tool_call`; of an
    answer without one, as `half`).
    """

    type: Literal["cut"] = "cut"
    at: Literal["half", "tool_call"] = "half"
    forward: Literal[True] = True


class Rewrite(Record):
    """The real answer, altered by named `edits`, one after the other; all else in it stays real.

    `answered`: a client can take it for an answer.
    """

    type: Literal["rewrite"] = "rewrite"
    edits: tuple[str, ...] = Field(min_length=1)
    answered: bool = True
    forward: Literal[True] = True


class Own(Record):
    """An effect at the tool boundary that only a plugin's injector knows.

    `injector`: its name among the plugs. `settings`: for it alone. `looks`: what its client must
    meet each time, declared here, so that the audit need not believe the injector.
    """

    type: Literal["own"] = "own"
    injector: str
    settings: dict[str, Any] = {}
    looks: Annotated[Respond | Close | Stall | Altered, Field(discriminator="type")]


Wire = Annotated[
    Respond | Close | Stall | Drip | Cut | Rewrite | Boundary | Break | Own | WebEffect,
    Field(discriminator="type"),
]


class KindSpec(Record):
    """A fault kind (`injectors/kinds/*.yaml`).

    `wire` is keyed by dialect (`openai_chat`, `tool`, `host`, `web`). `levels`: side-effect levels
    of the points it may hit. `lands`: for lost outcomes, the chance that the write lands, or null.
    `lasts`: weighted choices. `params`: name -> equally likely values, filled into wire texts as
    `{name}`. `latency_ms`: how long the failing answer takes. `observe`: names of observation
    points (`faults.observe`), told of in the report. `provider`: it is an outage of the model's
    provider; whether it takes the backup model along is drawn (`FaultPlan.takes_backup`).
    `clears_by`: what really ends it, where that is not told by how long it lasts.
    """

    kind: str
    layer: Layer
    title: str = ""
    silent: bool = False
    transient: bool = True
    points: tuple[str, ...] = ()
    levels: tuple[SideEffect, ...] = tuple(SideEffect)
    wire: dict[str, Wire] = {}
    lands: float | None = Field(default=None, ge=0, le=1)
    lasts: tuple[tuple[float, Lasts], ...] = ((1.0, Lasts()),)
    params: dict[str, tuple[int | str, ...]] = {}
    latency_ms: int = Field(default=0, ge=0)
    safe_outcome: SafeOutcome = SafeOutcome.COMPLETE
    safe_outcome_when: dict[SideEffect, SafeOutcome] = {}
    observation_points: tuple[str, ...] = ()
    observe: tuple[str, ...] = ()
    provider: bool = False
    clears_by: str = Field(default="", exclude_if=lambda by: not by)


class FaultEvent(Record):
    """One planned fault: from `attempt` of the `occurrence`-th logical step at `point` on.

    `occurrence` and `attempt` count from 1. `effect_lands`: for lost outcomes, whether the write
    reaches the world. `clears_by`: what ends it. `safe_outcome`: the best end still reachable.
    `after`: the injection_id of an event that must have been met before this one can be.
    """

    injection_id: str
    layer: Layer
    kind: str
    point: Point
    occurrence: int
    attempt: int = 1
    lasts: Lasts = Lasts()
    effect_lands: bool | None = None
    params: dict[str, int | str] = {}
    clears_by: str = "retry"
    safe_outcome: SafeOutcome = SafeOutcome.COMPLETE
    after: str = Field(default="", exclude_if=lambda after: not after)


class FaultSchedule(Record):
    """Everything that will be injected into the trials of one pair group.

    Keyed by (suite, task, seed, profile), never by arm. `horizon`: occurrences covered.
    """

    schedule_id: str
    suite: str
    task_id: str
    seed: int
    profile: str
    rate: float
    design: str = "sampled"
    coupling: str = "nested"
    generator: str
    horizon: int
    events: tuple[FaultEvent, ...] = ()
