"""What a gateway of its own writes down: a log of JSON lines, each with the hash of the one before.

The requests of a foreign agent are the only thing that is known of it from outside. Nothing of
their text is kept, only digests.
"""

from typing import Annotated, Literal

from pydantic import Field

from hfr_bench.model.record import Record
from hfr_bench.model.trace import UpstreamHit

Fate = Literal["not_reached", "masked", "surfaced"]
Ending = Literal["asked", "command", "timeout", "failed"]


class EventFate(Record):
    """What became of a planned event. `attempts`: requests that met it.

    `masked`: the program sent the very same request again, and that one was answered; nothing
    above its retries need have noticed. `surfaced`: met, and not masked: the program gave up, asked
    for something else, or took an altered answer for a good one. `waited_us`: from the last request
    that met it to the next one of its step, its service included; 0 where none came.
    """

    injection_id: str
    kind: str
    point: str
    occurrence: int
    attempt: int
    fate: Fate
    attempts: int = 0
    waited_us: int = 0


class GatewaySummary(Record):
    """What a foreign agent did, and met. `steps`: logical ones, as told or inferred.

    `attempts`: its model calls; `requests` also counts what is no model call. `forwarded`: model
    calls that the model server got. `repeated`: attempts with the same bytes as the one before
    them in their step. `unplanned`: calls at which another event was played than was planned.
    `elsewhere`: planned events of other layers, which have no place on this wire. `exit_code`: the
    command's, null where there is none or it did not end by itself.
    """

    requests: int = 0
    steps: int = 0
    attempts: int = 0
    told: int = 0
    forwarded: int = 0
    repeated: int = 0
    organic: int = 0
    unplanned: int = 0
    elsewhere: int = 0
    fates: tuple[EventFate, ...] = ()
    ended: Ending = "asked"
    switched_off: bool = False
    exit_code: int | None = None
    lasted_us: int = 0

    def count(self, *fates: Fate) -> int:
        """How many planned events had one of these fates."""
        return sum(one.fate in fates for one in self.fates)

    @property
    def reached(self) -> int:
        return self.count("masked", "surfaced")

    @property
    def valid(self) -> bool:
        """Whether the agent met what was planned, and nothing else."""
        return not (self.organic or self.unplanned or self.switched_off or self.ended == "failed")


class GatewayOpened(Record):
    """First line: what the gateway stands in front of, and what it plays.

    `origin`: `rehearsal` in front of the scripted stand-in, else `unknown`: nobody can tell from
    here what answers. `program`: the command's name, `command_digest` of all its words.
    """

    type: Literal["opened"] = "opened"
    harness_version: str
    upstream: str
    origin: Literal["rehearsal", "unknown"]
    suite: str
    task_id: str
    seed: int
    schedule_id: str
    schedule_digest: str
    kinds_digest: str
    program: str = ""
    command_digest: str = ""


class GatewayClosed(Record):
    """Last line: what it came to. It follows from the lines before and the schedule."""

    type: Literal["closed"] = "closed"
    summary: GatewaySummary


class SwitchedOff(Record):
    """The kill switch was pulled: from here on nothing is injected any more."""

    type: Literal["switched_off"] = "switched_off"


class GatewayLine(Record):
    """A line of the log. `t_us`: since the gateway began, on the wall clock."""

    seq: int
    t_us: int
    prev: str = ""
    body: Annotated[
        GatewayOpened | UpstreamHit | SwitchedOff | GatewayClosed, Field(discriminator="type")
    ]
