"""Recoverers over one ledger and a tool that lands when told: for tests of what may go wrong.

A recoverer is a generator that yields before every single thing it does, so that a test can let
time pass, another recoverer act, or a request land, in between.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hfr_bench.model.ledger import LedgerEntry, Reservation
from hfr_bench.model.terms import Landed, LedgerState, SideEffect
from hfr_bench.ports.ledger import Ledger
from hfr_bench.recovery.ledger import LedgerConflictError, Next, is_settled, protocol

_S = LedgerState


@dataclass(eq=False)
class Request:
    """One sent write. `answer`: what its sender has heard; None = nothing yet."""

    key: str
    sent_us: int
    answer: Landed | None = None
    over: bool = False


@dataclass
class SlowTool:
    """Executes a request when told to, and within `flight_us` of its being sent, or never.

    R1 knows keys: a second request under one changes nothing. R2 can be asked. R3 does neither.
    `effects`: the key of every execution that changed the world.
    """

    level: SideEffect
    now_us: Callable[[], int]
    flight_us: int = 1000
    effects: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    def send(self, key: str) -> Request:
        request = Request(key, self.now_us())
        self.requests.append(request)
        return request

    def under_way(self) -> list[Request]:
        for request in self.requests:
            request.over |= self.now_us() - request.sent_us >= self.flight_us
        return [request for request in self.requests if not request.over]

    def land(self, request: Request, *, answered: bool = True) -> None:
        """The request reaches the world; its answer reaches the sender, or does not."""
        if request not in self.under_way():
            return
        request.over = True
        if self.level is not SideEffect.IDEMPOTENT or request.key not in self.effects:
            self.effects.append(request.key)
        request.answer = Landed.COMMITTED if answered else None

    def lose(self, request: Request) -> None:
        """The request never reaches the world, and nobody hears of it."""
        request.over = True

    def query(self, key: str) -> Landed:
        if self.level is SideEffect.IRREVERSIBLE:
            return Landed.UNKNOWN
        return Landed.COMMITTED if key in self.effects else Landed.ABSENT


@dataclass
class Recoverer:
    """Brings one write to its end by the reconcile protocol (paper §4.5), under leases.

    `settle_us` must not be less than the tool's `flight_us`, or a late landing is overlooked.
    """

    owner: str
    ledger: Ledger
    tool: SlowTool
    ttl_us: int = 500
    settle_us: int = 1000
    timeout_us: int = 300
    key: str = "k"
    end: str = ""
    fenced: int = 0
    _until_us: int = 0
    _token: int = 0
    _absent_since_us: int | None = None
    _absent: bool = False

    def work(self) -> Iterator[str]:
        """Yields what it is about to do; `end` says how it came out: committed or escalated."""
        while not self.end:
            yield "lease"
            now_us = self.tool.now_us()
            token = self.ledger.lease(self.key, self.owner, now_us, self.ttl_us)
            if token is None:
                continue
            if token != self._token:  # somebody else may have been at it in between
                self._absent_since_us, self._absent = None, False
            self._token, self._until_us = token, now_us + self.ttl_us
            try:
                yield from self._take_up()
            except LedgerConflictError:
                self.fenced += 1

    def _take_up(self) -> Iterator[str]:
        yield "look"
        known = self.ledger.get(self.key)
        state = known.state if known else None
        # The ledger is written before anything is sent: what it never heard of was never sent.
        absent = known is None or self._absent
        chosen = protocol(state, True, absent, held=False)
        if chosen is Next.VERIFY:
            self.end = "committed"
        elif chosen is Next.DISPATCH:
            yield from self._move(_S.PREPARED)
            yield from self._send()
        elif state is _S.PREPARED and self.tool.level is SideEffect.IDEMPOTENT:
            yield from self._send()
        else:
            yield from self._ask(state)

    def _ask(self, state: LedgerState | None) -> Iterator[str]:
        if state is _S.PREPARED:
            yield from self._move(_S.UNKNOWN)
        if self.tool.level is SideEffect.IRREVERSIBLE:
            self.end = "escalated"
            return
        yield "query"
        now_us, landed = self.tool.now_us(), self.tool.query(self.key)
        if landed is Landed.COMMITTED:
            yield from self._move(_S.RECONCILED_COMMITTED)
            return
        if self._absent_since_us is None:
            self._absent_since_us = now_us
        if is_settled(self._absent_since_us, now_us, self.settle_us):
            yield from self._move(_S.RECONCILED_ABSENT)
            self._absent = True

    def _send(self) -> Iterator[str]:
        """Send while the lease still runs, and wait for the answer for as long as is usual."""
        yield "send"
        if self.tool.now_us() >= self._until_us:
            return
        self._absent_since_us, self._absent = None, False
        request = self.tool.send(self.key)
        while request.answer is None:
            yield "wait"
            if self.tool.now_us() - request.sent_us >= self.timeout_us:
                return
        yield from self._move(_S.COMMITTED)

    def _move(self, to: LedgerState) -> Iterator[str]:
        yield f"write {to}"
        entry = LedgerEntry(
            key=self.key,
            stepless_key="payload",
            tenant="tenant",
            task_id="task",
            step=1,
            tool="pay",
            level=self.tool.level,
            state=to,
            fencing=self._token,
            updated_us=self.tool.now_us(),
        )
        self.ledger.apply(Reservation(step=1), [entry])
