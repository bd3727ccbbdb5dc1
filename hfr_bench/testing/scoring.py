"""Put a policy of one's own under every fault there is, and assert on what it did to the world.

    def test_our_retries_never_charge_twice():
        found = score(wraps(lambda call: our_retrying_client(call)))
        assert found.harm == 0, found

Runs the design `exhaustive-1` on the order desk: every write and read of some tasks, times every
fault kind at the tool boundary, the answer lost before and after the commit: one fault a trial.
Nothing is sampled, so the counts are the policy's and have no error. It is a rehearsal: tools,
database and faults are real, the agent plays the task's known solution.
"""

import inspect
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hfr_bench import content
from hfr_bench.errors import InfrastructureError
from hfr_bench.lab.book import ScheduleBook
from hfr_bench.lab.plan import Cell, cells, plan_rows
from hfr_bench.lab.trial import run_trial
from hfr_bench.lab.wire import Bench, Place, WorkerScope
from hfr_bench.model.prereg import EXHAUSTIVE, Equipment, Preregistration
from hfr_bench.model.task import OracleStep, TaskSpec
from hfr_bench.model.trial import Outcome, PlanRow, TrialResult
from hfr_bench.ports.strategy import Strategy

MINE = "mine"
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class OneFault:
    """What a policy did under one fault. `fault`: where, which kind, and whether it landed."""

    task: str
    fault: str
    outcome: Outcome
    attempts: int
    cost_microusd: int | None

    @property
    def harm(self) -> int:
        return self.outcome.harm

    def __str__(self) -> str:
        """One line on it."""
        done = "done" if self.outcome.succeeded else self.outcome.end.value
        bad = f"{self.harm} harmful effects, " if self.harm else ""
        return f"{self.task}, {self.fault or 'no fault'}: {bad}{done}, {self.attempts} attempts"


@dataclass(frozen=True, slots=True)
class Score:
    """What a policy did under all of them; printed, it says the worst. Costs are modelled.

    `harm`: duplicate, unwanted and half-done effects; `duplicates` of them; `succeeded`,
    `escalated` and `failed` trials; `attempts` and `cost_usd` of all (None: a price is unknown).
    """

    trials: tuple[OneFault, ...]

    @property
    def harm(self) -> int:
        return sum(one.harm for one in self.trials)

    @property
    def duplicates(self) -> int:
        return sum(one.outcome.duplicates for one in self.trials)

    @property
    def succeeded(self) -> int:
        return sum(one.outcome.succeeded for one in self.trials)

    @property
    def escalated(self) -> int:
        return sum(one.outcome.end.value == "escalated" for one in self.trials)

    @property
    def failed(self) -> int:
        return len(self.trials) - self.succeeded - self.escalated

    @property
    def attempts(self) -> int:
        return sum(one.attempts for one in self.trials)

    @property
    def cost_usd(self) -> float | None:
        costs = [one.cost_microusd for one in self.trials]
        return None if None in costs else sum(cost or 0 for cost in costs) / 1_000_000

    def worst(self) -> tuple[OneFault, ...]:
        """The trials that harmed, then those that did not succeed."""
        harmed = [one for one in self.trials if one.harm]
        lost = [one for one in self.trials if not one.harm and not one.outcome.succeeded]
        return (*harmed, *lost)

    def __str__(self) -> str:
        """The figures, and the first of the worst trials."""
        head = (
            f"{len(self.trials)} trials: {self.succeeded} succeeded, {self.escalated} escalated, "
            f"{self.failed} failed; harm {self.harm} ({self.duplicates} duplicates); "
            f"{self.attempts} attempts"
        )
        worst = self.worst()
        more = [f"  and {len(worst) - _SHOWN} more"] if len(worst) > _SHOWN else []
        return "\n".join([head, *(f"  {one}" for one in worst[:_SHOWN]), *more])


def score(
    policy: Callable[..., Strategy],
    *,
    tasks: int = 2,
    matrix: str = "stress",
    equipment: Equipment | None = None,
    suite: str = "shopdesk",
    config: Mapping[str, Any] | None = None,
) -> Score:
    """Run a policy under every single fault of `tasks` tasks; a few seconds.

    Args:
        policy: makes a strategy a trial: `wraps(...)`, `decides(...)` of `testing.policies`, a
            class without arguments, or one that takes config and kit as registered ones do.
        tasks: how many tasks of the suite.
        matrix: the fault kinds; those of the tool boundary are met.
        equipment: what the policy may use (ledger, query, ...); by default nothing.
        suite: where the tasks come from.
        config: that suite's settings.

    Raises BadInputError for unknown names, InfrastructureError if a trial measured nothing.
    """
    prereg = Preregistration.model_validate(
        {
            "name": "score",
            "title": "A policy under every single fault",
            "origin": "rehearsal",
            "suites": [{"suite": suite, "pool": "base", "config": dict(config or {})}],
            "agent": "oracle",
            "faults": {"matrix": matrix, "design": EXHAUSTIVE},
            "arms": [{"name": MINE, "strategy": MINE, "equipment": equipment or Equipment()}],
            "controls": {"injector_removed": False, "a_a": False},
            "analysis": {"baseline": MINE},
        }
    )
    own = {MINE: _taking_two(policy)}
    with tempfile.TemporaryDirectory(prefix="hfr-score-") as name:
        folder = Path(name)
        with Bench(prereg, place=Place(folder), strategies=own) as bench:
            planned = _planned(bench, matrix, tasks)
        book = ScheduleBook(cell.schedule.dumps() for cell in planned)
        rows = plan_rows(prereg, prereg.digest(), planned)
        with Bench(prereg, book, Place(folder), own).serve() as bench, WorkerScope(bench) as scope:
            return Score(tuple(_run(scope, row, folder) for row in rows))


def _planned(bench: Bench, matrix: str, tasks: int) -> list[Cell]:
    """The first tasks, each under nothing and under every fault."""

    def oracle(task: TaskSpec) -> Sequence[OracleStep]:
        return bench.sealed(task.suite, task.task_id).oracle

    chosen = tuple(bench.tasks.values())[:tasks]
    return list(cells(bench.prereg, chosen, content.matrix(matrix), bench.kinds, oracle))


def _run(scope: WorkerScope, row: PlanRow, folder: Path) -> OneFault:
    result: TrialResult = run_trial(scope, row, 1, folder / f"{row.order}.jsonl")
    if result.outcome is None:
        raise InfrastructureError(f"{result.task_id} measured nothing: {result.void_reason}")
    fault = row.trial.profile.removeprefix(EXHAUSTIVE).strip("/")
    return OneFault(
        task=result.task_id,
        fault="" if fault == "none" else fault,
        outcome=result.outcome,
        attempts=result.attempts,
        cost_microusd=result.cost_microusd,
    )


def _taking_two(policy: Callable[..., Strategy]) -> Callable[..., Strategy]:
    """A policy made of nothing is made like one that takes config and kit."""
    if len(inspect.signature(policy).parameters) >= 2:
        return policy
    return lambda _config, _kit: policy()
