"""Where a trial's ledger comes from: a store by name, by the road of every plug.

A trial's own is in memory: its journal is the durable copy.
"""

from hfr_bench import plugins
from hfr_bench.ports.ledger import Ledger, LedgerStore


def open_ledger(
    tenant: str = "", scope: str = "", store: str = "memory", where: str = ""
) -> Ledger:
    """A ledger of `tenant` and `scope` for the calling thread.

    `where`: what the store is made with (a file, a database's address). Raises BadInputError for
    a name that nothing offers, and where there is no such ledger.
    """
    made: LedgerStore = plugins.find("stores", store)(where)
    return made.open(tenant, scope)
