"""The paper's tables 12 to 15 and C1, beside what the simulator finds (paper §6.3-6.5, app. C)."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Literal, get_args

from hfr_bench.lab.synthetic.jobs import Run, Said, tallies
from hfr_bench.lab.synthetic.params import Channels, Rules, World, world
from hfr_bench.lab.synthetic.tally import Tally
from hfr_bench.lab.synthetic.targets import Targets, targets
from hfr_bench.model.record import Record

Table = Literal["12", "13", "14", "15", "C1"]
TABLES: tuple[Table, ...] = get_args(Table)
COLUMNS: Mapping[Table, tuple[str, ...]] = {
    "12": ("SR", "CSR", "SCR", "CPS", "DUP", "ESC", "DEG"),
    "13": ("cost", "p95", "p95n", "att"),
    "14": ("SR", "CSR", "SCR", "CPS", "DUP"),
    "15": ("SR",),
    "C1": ("SR", "cost", "CPS", "att"),
}
_ABLATED = ("HFR-verifier", "HFR-idempotency", "HFR-budget")
SENSITIVITY_SEED = 42


class Size(Record):
    """How much is simulated; the defaults are the paper's (§6.2, app. C)."""

    seeds: int = 10
    tasks: int = 20_000
    rate_tasks: int = 12_000
    incident_seeds: int = 5

    @classmethod
    def of(cls, seeds: int | None, tasks: int | None) -> "Size":
        """The paper's, or smaller throughout."""
        full = cls()
        return cls(
            seeds=seeds or full.seeds,
            tasks=tasks or full.tasks,
            rate_tasks=min(tasks or full.rate_tasks, full.rate_tasks),
            incident_seeds=min(seeds or full.incident_seeds, full.incident_seeds),
        )


class Cell(Record):
    """One number of a table: the paper's and ours. `sd`: over seeds; None with one.

    `at`: the fault rate (15) or incident rate (C1). `known`: why it is known not to fit; "" for
    the rest. `beside`: ours under the other rules, where they were played too.
    """

    table: Table
    arm: str
    at: float | None = None
    metric: str
    paper: float
    ours: float
    sd: float | None = None
    band: float
    known: str = ""
    beside: float | None = None

    @property
    def difference(self) -> float:
        return self.ours - self.paper

    @property
    def inside(self) -> bool:
        return abs(self.difference) <= self.band


class Relation(Record):
    """A statement about the order of the arms, and whether it holds."""

    says: str
    holds: bool


class Study(Record):
    """What `simulate` found."""

    rules: Rules
    size: Size
    made_with: str
    cells: tuple[Cell, ...]
    relations: tuple[Relation, ...]

    @property
    def outside(self) -> tuple[Cell, ...]:
        return tuple(cell for cell in self.cells if not cell.inside)


Key = tuple[str, float | None]
"""An arm, and where: a fault rate, an incident rate, or None."""
Found = Mapping[Key, list[dict[str, float]]]
"""Metrics of every seed."""


def study(
    wanted: Sequence[Table],
    rules: Rules,
    size: Size,
    made_with: str,
    *,
    workers: int = 1,
    said: Said | None = None,
    base: World | None = None,
    beside: Rules | None = None,
) -> Study:
    """Play what the wanted tables need, and hold it against the paper.

    `base`: another world than the shipped one. `beside`: rules that are played too.
    """
    here = base or world()
    cells = _cells(wanted, _played(wanted, here, rules, size, workers, said))
    if beside is not None:
        second = _cells(wanted, _played(wanted, here, beside, size, workers, said))
        cells = [
            a.model_copy(update={"beside": b.ours}) for a, b in zip(cells, second, strict=True)
        ]
    return Study(
        rules=rules, size=size, made_with=made_with, cells=tuple(cells),
        relations=tuple(_relations(cells)),
    )  # fmt: skip


def _played(
    wanted: Sequence[Table], here: World, rules: Rules, size: Size, workers: int, said: Said | None
) -> dict[Table, Found]:
    """The metrics of every run, by the table that shows them; 12 to 14 show the same runs."""
    plan: list[tuple[Table, Key, Run]] = []
    main = [table for table in ("12", "13", "14") if table in wanted]
    if main:
        only = None if main != ["14"] else ("HFR", *_ABLATED)
        plan += [("12", key, run) for key, run in _main(here, rules, size, only)]
    if "15" in wanted:
        plan += [("15", key, run) for key, run in _rates(here, rules, size)]
    if "C1" in wanted:
        plan += [("C1", key, run) for key, run in _incidents(here, rules, size)]
    results: list[Tally] = tallies([run for _, _, run in plan], workers, said)
    found: dict[Table, dict[Key, list[dict[str, float]]]] = {}
    for (table, key, _), tally in zip(plan, results, strict=True):
        found.setdefault(table, {}).setdefault(key, []).append(tally.metrics())
    return {table: found.get(table if table not in main else "12", {}) for table in wanted}


def _main(
    here: World, rules: Rules, size: Size, only: Sequence[str] | None
) -> list[tuple[Key, Run]]:
    told = here.dumps()
    return [
        ((arm, None), Run(arm, told, rules, seed, size.tasks))
        for arm in only or targets().main
        for seed in range(1, size.seeds + 1)
    ]


def _rates(here: World, rules: Rules, size: Size) -> list[tuple[Key, Run]]:
    plan: list[tuple[Key, Run]] = []
    for arm, points in targets().rates.items():
        for rate in points:
            told = here.changed(fault_rate=rate).dumps()
            plan.append(((arm, rate), Run(arm, told, rules, SENSITIVITY_SEED, size.rate_tasks)))
    return plan


def _incidents(here: World, rules: Rules, size: Size) -> list[tuple[Key, Run]]:
    table = targets().incidents
    plan: list[tuple[Key, Run]] = []
    for arm, points in table.rows().items():
        for rate in points:
            hit = Channels(model=rate, tool=rate * table.tool_ratio)
            told = here.changed(fault_rate=table.fault_rate, incident=hit).dumps()
            plan += [
                ((arm, rate), Run(arm, told, rules, seed, size.rate_tasks))
                for seed in range(1, size.incident_seeds + 1)
            ]
    return plan


def _cells(wanted: Sequence[Table], played: Mapping[Table, Found]) -> list[Cell]:
    goal = targets()
    cells: list[Cell] = []
    for table in wanted:
        found = played[table]
        for arm, at, metric, paper in _printed(table, goal):
            values = [one[metric] for one in found[arm, at]]
            if table == "14":
                values = [
                    own - whole[metric]
                    for own, whole in zip(values, found["HFR", None], strict=True)
                ]
            cells.append(_cell(goal, table, (arm, at), metric, paper, values))
    return cells


def _printed(table: Table, goal: Targets) -> list[tuple[str, float | None, str, float]]:
    """(arm, where, metric, the paper's number) of a table, in its order."""
    if table == "15":
        return [(arm, at, "SR", sr) for arm, row in goal.rates.items() for at, sr in row.items()]
    if table == "C1":
        return [
            (arm, at, metric, row[metric])
            for arm, rows in goal.incidents.rows().items()
            for at, row in rows.items()
            for metric in COLUMNS[table]
        ]
    rows = goal.ablations if table == "14" else goal.main
    return [(arm, None, metric, row[metric]) for arm, row in rows.items()
            for metric in COLUMNS[table]]  # fmt: skip


def _cell(
    goal: Targets, table: Table, key: Key, metric: str, paper: float, values: list[float]
) -> Cell:
    arm, at = key
    # A difference is judged by the band of what it is a difference of.
    scale = goal.main[arm][metric] if table == "14" else paper
    known = goal.exception(table, arm, at, metric)
    return Cell(
        table=table, arm=arm, at=at, metric=metric, paper=paper, ours=fmean(values),
        sd=stdev(values) if len(values) > 1 else None,
        band=goal.band(table, arm, at, metric, scale), known=known.why if known else "",
    )  # fmt: skip


# -- the order of the arms -------------------------------------------------------------------------


def _relations(cells: Sequence[Cell]) -> list[Relation]:
    """Orders that hold in the paper, of those tables that were played."""
    found: list[Relation] = []
    main = {(c.arm, c.metric): c.ours for c in cells if c.table == "12"}
    if main:
        found += [Relation(says=says, holds=holds(main)) for says, holds in _MAIN]
    rates = {c.at: c.ours for c in cells if (c.table, c.arm, c.metric) == ("C1", "HFR", "SR")}
    if rates:
        lost = (rates[0.10] - rates[0.40]) / 3
        holds = 4.5 <= lost <= 6.5
        found.append(Relation(says="HFR loses about 5.5 pp of SR a +.10 of incidents", holds=holds))
    return found


Main = Mapping[tuple[str, str], float]


def _of(metric: str) -> Callable[[Main, str], float]:
    return lambda cells, arm: cells[arm, metric]


_sr, _dup = _of("SR"), _of("DUP")
_IDEMPOTENT = ("NoRetry", "RetryOnly", "DegradeOnly", "HFR", "HFR-verifier", "HFR-budget")
_MAIN: tuple[tuple[str, Callable[[Main], bool]], ...] = (
    ("SR: HFR and FixedRetry3 within 1 pp",
     lambda c: abs(_sr(c, "HFR") - _sr(c, "FixedRetry3")) <= 1),
    ("SR: HFR > RetryOnly > DegradeOnly > NoRetry",
     lambda c: _sr(c, "HFR") > _sr(c, "RetryOnly") > _sr(c, "DegradeOnly") > _sr(c, "NoRetry")),
    ("CSR and SCR: HFR > FixedRetry3",
     lambda c: all(c["HFR", m] > c["FixedRetry3", m] for m in ("CSR", "SCR"))),
    ("SR: HFR-verifier 20 to 25 pp below HFR",
     lambda c: 20 <= _sr(c, "HFR") - _sr(c, "HFR-verifier") <= 25),
    ("SR: HFR-idempotency within .1 pp of HFR",
     lambda c: abs(_sr(c, "HFR-idempotency") - _sr(c, "HFR")) <= 0.1),
    ("DUP: HFR-idempotency 16 to 19", lambda c: 16 <= _dup(c, "HFR-idempotency") <= 19),
    ("SR: HFR-budget within .1 pp of HFR",
     lambda c: abs(_sr(c, "HFR-budget") - _sr(c, "HFR")) <= 0.1),
    ("DUP: none of any idempotent arm", lambda c: not any(_dup(c, arm) for arm in _IDEMPOTENT)),
)  # fmt: skip
