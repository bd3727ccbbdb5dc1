"""Where a trial's ledger comes from: a store by name, by the road of every plug.

A trial's own is in memory: its journal is the durable copy.
"""

from collections import Counter
from collections.abc import Sequence

from hfr_bench import plugins
from hfr_bench.faults.ledgers import DIALECT, DOWN, PREFIX
from hfr_bench.model.attempt import Decision
from hfr_bench.model.ledger import LedgerEntry, Reservation
from hfr_bench.model.terms import Action, LedgerState
from hfr_bench.model.trace import Decided, FaultInjected
from hfr_bench.ports.injector import Scene
from hfr_bench.ports.ledger import Ledger, LedgerStore, LedgerUnavailableError

FAILED_CLOSED = "fail-closed: the ledger cannot be written, and nothing may be sent without it"


class LedgerDownError(LedgerUnavailableError):
    """An injected failure of the ledger: the arm's trouble, not ours. `tool`: of the write."""

    def __init__(self, tool: str) -> None:
        super().__init__(f"the ledger is down for a write of {tool}")
        self.decision = Decision(Action.ESCALATE, FAILED_CLOSED)
        self.body = Decided(on=DOWN, action=Action.ESCALATE, reason=FAILED_CLOSED, evidence=tool)


class FaultyLedger:
    """A ledger that fails where the schedule says so: when a step first announces a write.

    Everything else goes to the real one (`faults.ledgers` has the coordinates).
    """

    def __init__(self, inner: Ledger, scene: Scene) -> None:
        self._inner, self._scene = inner, scene
        self._seen: set[tuple[str, int]] = set()
        self._steps: Counter[str] = Counter()
        self.get, self.entries, self.debited = inner.get, inner.entries, inner.debited
        self.lease, self.close = inner.lease, inner.close

    def apply(self, debit: Reservation, entries: Sequence[LedgerEntry]) -> None:
        """As the real one. Raises LedgerDownError where an event is live."""
        new = [(e.tool, e.step) for e in entries if e.state is LedgerState.PREPARED]
        for tool, step in new:
            if (tool, step) not in self._seen:
                self._seen.add((tool, step))
                self._steps[tool] += 1
                self._meet(tool)
        self._inner.apply(debit, entries)

    def _meet(self, tool: str) -> None:
        now_us = self._scene.clock.now_us()
        where = (f"{PREFIX}{tool}", self._steps[tool], 1)
        event = self._scene.cursor.at(*where, target=tool, now_us=now_us)
        if event is not None and DIALECT in self._scene.kinds[event.kind].wire:
            told = FaultInjected(injection_id=event.injection_id, kind=event.kind)
            self._scene.tell(told)
            raise LedgerDownError(tool)


def open_ledger(
    tenant: str = "", scope: str = "", store: str = "memory", where: str = ""
) -> Ledger:
    """A ledger of `tenant` and `scope` for the calling thread.

    `where`: what the store is made with (a file, a database's address). Raises BadInputError for
    a name that nothing offers, and where there is no such ledger.
    """
    made: LedgerStore = plugins.find("stores", store)(where)
    return made.open(tenant, scope)
