"""Tasks that run at the same time on one virtual clock, and share what they share (DESIGN §3).

A heap of events: the earliest is next, ties go by the order of the tasks. Breakers and the
tenants' buckets are one state for all tasks of a cohort; everything else is each task's own. The
upstream is a queue: a call is work that waits its turn, whoever still wants the answer, so calls
that time out use up capacity for nothing. That is how a retry storm outlives its cause.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import log
from typing import Any, NamedTuple

from hfr_bench.lab.synthetic.crew import Crew
from hfr_bench.lab.synthetic.deal import BLOCK, Deal, Odds, deal, uniforms
from hfr_bench.lab.synthetic.params import MODEL
from hfr_bench.lab.synthetic.play import Play
from hfr_bench.lab.synthetic.stage import TimedStage
from hfr_bench.model.attempt import StrategyEvent

MICRO = 1_000_000
_ARRIVAL = -(2**31)  # a step that no task has: when the next task of a tenant comes
_T3, _T4, _T5 = 3, 4, 5


class Window(NamedTuple):
    """Between two times (us), so many of the calls (0..1) of a kind and level meet an incident."""

    from_us: int
    to_us: int
    kind: int
    level: int
    share: float


@dataclass
class Upstream:
    """The main model's queue and its incidents; all else has room for everybody.

    `per_s`: calls that it works off in a second; None = any number. `timeout_us`: callers wait no
    longer; the work is done all the same. `slow`: from, to, and by what it is slower between.
    """

    seed: int
    per_s: float | None = None
    timeout_us: int = 5 * MICRO
    slow: tuple[int, int, float] = (0, 0, 1.0)
    windows: Sequence[Window] = ()
    free_us: float = 0.0
    calls: int = 0
    late: int = 0

    def meets(self, kind: int, level: int, now_us: int, drawn: int, us: int) -> tuple[int, int]:
        """See `play.Weather`."""
        self.calls += 1
        for window in self.windows:
            if (kind, level) == (window.kind, window.level) and (
                window.from_us <= now_us < window.to_us
                and uniforms(self.seed, now_us, kind, self.calls)[0] < window.share
            ):
                return (_T4 if kind == MODEL else _T5), us
        if self.per_s is None or (kind, level) != (MODEL, 0):
            return drawn, us
        slower = self.slow[2] if self.slow[0] <= now_us < self.slow[1] else 1.0
        begun = max(self.free_us, float(now_us))
        self.free_us = begun + MICRO * slower / self.per_s
        waited = round(begun - now_us) + us
        if waited > self.timeout_us:
            self.late += 1
            return _T3, self.timeout_us
        return drawn, waited


class Tenant(NamedTuple):
    """So many tasks a second, from a time on (us), up to another; at random, keyed by `number`."""

    number: int
    per_s: float
    to_us: int
    from_us: int = 0


class Ended(NamedTuple):
    """How a task of a cohort ended."""

    tenant: int
    began_us: int
    us: int
    good: bool
    escalated: bool
    attempts: int
    steps: int
    duplicates: int
    cost: int


_SHARED = ("breakers", "shut")
_OF_TENANT = ("bucket",)


@dataclass
class Cohort:
    """One arm's tasks in one shared world."""

    crew: Crew
    odds: Odds
    seed: int
    upstream: Upstream
    ended: list[Ended] = field(default_factory=list)
    _heap: list[tuple[int, int, StrategyEvent, Play, int]] = field(default_factory=list)
    _common: dict[str, Any] = field(default_factory=dict)
    _of_tenant: dict[int, dict[str, Any]] = field(default_factory=dict)

    def run(self, tenants: Sequence[Tenant]) -> list[Ended]:
        """Play all tasks of all tenants; how each ended, in the order of ending."""
        stage, block = TimedStage(), Blocks(self.odds, self.seed)
        arrivals = sorted((at, t.number) for t in tenants for at in _arrivals(self.seed, t))
        for number, (at_us, tenant) in enumerate(arrivals):
            play = Play(self.crew, self.odds, self.seed, stage)
            play.weather, play.start_us = self.upstream, at_us
            event = play.begin(*block.task(number))
            heappush(self._heap, (at_us, number, event, play, tenant))
        while self._heap:
            _, number, event, play, tenant = heappop(self._heap)
            following = self._turn(play, event, tenant, number)
            if following is None:
                self.ended.append(_ended(play, tenant))
            else:
                at_us = play.start_us + play.us
                heappush(self._heap, (at_us, number, following, play, tenant))
        return self.ended

    def _turn(
        self, play: Play, event: StrategyEvent, tenant: int, number: int
    ) -> StrategyEvent | None:
        """One decision, with what the others have left in the shared state."""
        self.crew.key[2] = number
        mine = self._of_tenant.setdefault(tenant, {})
        if "breakers" in play.state:
            play.state = {**play.state, **self._common, **mine}
        following = play.turn(event)
        if "breakers" in play.state:
            self._common = {name: play.state[name] for name in _SHARED}
            self._of_tenant[tenant] = {name: play.state[name] for name in _OF_TENANT}
        return following


class Blocks:
    """Tasks by their number, dealt block by block."""

    def __init__(self, odds: Odds, seed: int) -> None:
        self._odds, self._seed = odds, seed
        self._known: dict[int, Deal] = {}

    def task(self, number: int) -> tuple[Deal, int]:
        block, at = divmod(number, BLOCK)
        known = self._known.get(block)
        if known is None:
            known = self._known[block] = deal(self._odds, self._seed, block)
        return known, at


def _arrivals(seed: int, tenant: Tenant) -> list[int]:
    """When the tenant's tasks come (us): at random, at its rate."""
    found: list[int] = []
    at_us = float(tenant.from_us)
    while True:
        u = uniforms(seed, tenant.number, _ARRIVAL, len(found))[0]
        at_us -= log(1 - u) * MICRO / tenant.per_s
        if at_us >= tenant.to_us:
            return found
        found.append(round(at_us))


def _ended(play: Play, tenant: int) -> Ended:
    good = play.finished and not play.bad and not play.escalated
    return Ended(
        tenant, play.start_us, play.us, good, play.escalated, play.attempts // 1000, play.steps,
        play.duplicates, play.cost,
    )  # fmt: skip
