"""One call of `hfr-bench run`: what run.jsonl keeps of it. No result rests on it."""

from typing import Literal

from pydantic import Field

from hfr_bench.model.record import Record, is_unset


class Invocation(Record):
    """A line of run.jsonl: appended at the start (`end` None) and again at the end.

    A start without an end is a run that was killed. `stopped`: why it stopped early, if it did.
    `canary`: a fake key was in its environment (`lab.canary`). `end` looked: no run at all, but
    somebody was shown results while trials lacked, `ran` of which were in.
    """

    at: str
    owner: str
    harness_version: str
    sandbox: str
    workers: int
    durability: str
    max_cost_usd: float | None = None
    end: Literal["done", "stopped", "interrupted", "error", "looked"] | None = None
    stopped: str = ""
    ran: int = 0
    voids: int = 0
    canary: bool = Field(default=False, exclude_if=is_unset)
