"""What the paper's tables say, and whether a cell of ours is near enough (`targets.yaml`)."""

from functools import cache

from pydantic import Field

from hfr_bench import content
from hfr_bench.model.record import Record

PERCENTAGES = ("SR", "CSR", "SCR", "ESC", "DEG")
Cells = dict[str, float]


class Bands(Record):
    """How far off is still inside; `points` and `duplicates` absolute, `percent` of the paper's."""

    points: float
    percent: float
    duplicates: float


class Named(Record):
    """A cell that is known not to fit, with a band of its own."""

    table: str
    arm: str
    at: float | None = None
    metric: str
    band: float
    why: str


class Incidents(Record):
    """Table C1: by arm and incident rate."""

    fault_rate: float
    tool_ratio: float
    hfr: dict[float, Cells] = Field(alias="HFR")
    without_budget: dict[float, Cells] = Field(alias="HFR-budget")

    def rows(self) -> dict[str, dict[float, Cells]]:
        return {"HFR": self.hfr, "HFR-budget": self.without_budget}


class Targets(Record):
    """The whole of `targets.yaml`."""

    bands: Bands
    named: tuple[Named, ...] = ()
    main: dict[str, Cells]
    ablations: dict[str, Cells]
    rates: dict[str, dict[float, float]]
    incidents: Incidents

    def band(self, table: str, arm: str, at: float | None, metric: str, paper: float) -> float:
        """How far from the paper's number ours may be."""
        own = self.exception(table, arm, at, metric)
        if own is not None:
            return own.band
        if metric in PERCENTAGES:
            return self.bands.points
        if metric == "DUP":
            return self.bands.duplicates
        return self.bands.percent / 100 * abs(paper)

    def exception(self, table: str, arm: str, at: float | None, metric: str) -> Named | None:
        """The named cell there, or None."""
        for one in self.named:
            if (one.table, one.arm, one.at, one.metric) == (table, arm, at, metric):
                return one
        return None


@cache
def targets() -> Targets:
    """The paper's tables. Raises BadInputError for a file that says something else."""
    return content.read_record(content.root() / "suites" / "synthetic" / "targets.yaml", Targets)
