"""One call of `hfr-bench run`: what run.jsonl keeps of it. No result rests on it."""

from typing import Literal

from hfr_bench.model.record import Record


class Invocation(Record):
    """A line of run.jsonl: appended at the start (`end` None) and again at the end.

    A start without an end is a run that was killed. `stopped`: why it stopped early, if it did.
    """

    at: str
    owner: str
    harness_version: str
    sandbox: str
    workers: int
    durability: str
    max_cost_usd: float | None = None
    end: Literal["done", "stopped", "interrupted", "error"] | None = None
    stopped: str = ""
    ran: int = 0
    voids: int = 0
