"""What the ledger costs: CPU of a write's two transactions, and of a checkpoint; prints JSON.

`python tests/benchmarks/ledger.py [WRITES] [DATABASE]`: microseconds of this process per PREPARED
and COMMITTED in memory, in a SQLite file (`_debited`: with a retry taken from the budget as well),
and, where a database's address is given, in PostgreSQL, whose server works beside. Medians of nine
rounds, and the best one: on a machine that others use as well, the best is the nearer to the truth.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hfr_bench import plugins
from hfr_bench.model.ledger import Checkpoint, LedgerEntry, Reservation
from hfr_bench.model.record import text_digest
from hfr_bench.model.terms import LedgerState, SideEffect
from hfr_bench.ports.ledger import Ledger
from hfr_bench.recovery.checkpoint import open_sealed, seal
from hfr_bench.stores.checkpoints import CheckpointFiles
from hfr_bench.stores.memory import MemoryLedger
from hfr_bench.stores.sqlite import SqliteLedger

ROUNDS = 9
DEBIT, NOTHING = Reservation(step=1, retries=1), Reservation(step=1)
STATE = {"task_left": 9, "ledger": {text_digest(str(n)): ["k" * 64, "COMMITTED"] for n in range(6)}}


def entries(round_: int, writes: int) -> list[tuple[LedgerEntry, LedgerEntry]]:
    """Both entries of each write, made before the clock runs."""
    made = []
    for n in range(writes):
        first = LedgerEntry(
            key=text_digest(f"{round_}/{n}"),
            stepless_key=text_digest(str(n)),
            tenant="tenant",
            task_id="task",
            step=1,
            tool="pay",
            level=SideEffect.IDEMPOTENT,
            state=LedgerState.PREPARED,
            operation_id="0123456789abcdef.7",
        )
        made.append((first, first.model_copy(update={"state": LedgerState.COMMITTED})))
    return made


def cpu_us(work: Callable[[], object], times: int) -> float:
    begun = time.process_time_ns()
    work()
    return (time.process_time_ns() - begun) / 1000 / times


def write_us(ledger: Ledger, round_: int, writes: int, debit: Reservation = NOTHING) -> float:
    made = entries(round_, writes)

    def work() -> None:
        for prepared, committed in made:
            ledger.apply(debit, [prepared])
            ledger.apply(NOTHING, [committed])

    return cpu_us(work, writes)


def checkpoint_us(folder: Path, saves: int) -> dict[str, float]:
    made = [Checkpoint(trial_id="t", seq=n, at_us=n, strategy_state=STATE) for n in range(saves)]
    lines = [seal(one) for one in made]
    store = CheckpointFiles(folder)
    return {
        "seal": cpu_us(lambda: [seal(one) for one in made], saves),
        "open": cpu_us(lambda: [open_sealed(line) for line in lines], saves),
        "save": cpu_us(lambda: [store.save(one) for one in made], saves),
    }


def main() -> None:
    writes = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    told: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        ledgers: dict[str, Ledger] = {
            "memory": MemoryLedger("tenant"),
            "sqlite": SqliteLedger(Path(folder, "l.db"), "tenant"),
            "sqlite_debited": SqliteLedger(Path(folder, "d.db"), "tenant"),
            "sqlite_power": SqliteLedger(Path(folder, "p.db"), "tenant", durability="power"),
        }
        if len(sys.argv) > 2:
            store = plugins.find("stores", "postgres")(sys.argv[2])
            ledgers["postgres"] = store.open("tenant", str(os.getpid()))
        for round_ in range(ROUNDS):
            for name, ledger in ledgers.items():
                debit = DEBIT if name.endswith("_debited") else NOTHING
                told.setdefault(name, []).append(write_us(ledger, round_, writes, debit))
            for name, us in checkpoint_us(Path(folder, "kept"), writes // 10).items():
                told.setdefault(f"checkpoint_{name}", []).append(us)
        for ledger in ledgers.values():
            ledger.close()
    shown: dict[str, object] = {
        f"{name}_us": {"median": round(statistics.median(us), 1), "best": round(min(us), 1)}
        for name, us in told.items()
    }
    print(json.dumps(shown | {"load": os.getloadavg()[0]}))


if __name__ == "__main__":
    main()
