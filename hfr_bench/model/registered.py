"""What a registration says beyond the experiment itself, and what freezing works out from it.

How it is to be judged (`Method`), how tasks are drawn (`Sample`), what variances its size rests on
(`Powering`), what it changes of an earlier one (`Amendment`). Enumerated words where a reader would
otherwise have to interpret: structured formats leave less freedom than prose (Bakker et al. 2020).
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from hfr_bench.model.record import Record
from hfr_bench.model.review import LEAST, MOST

Share = Annotated[float, Field(ge=0, le=1)]
Said = Annotated[str, Field(min_length=1)]

PENDING = "pending"
"""Stands for what nobody has decided, or measured, yet; it cannot be frozen."""

Stratum = Literal["difficulty", "tools", "level", "domain"]


class Sample(Record):
    """Draw `n` tasks of the selection instead of taking all.

    `strata`: difficulty = steps of the suite's own solution, in thirds of the pool; tools = how
    many different ones it calls, in thirds; level = the highest side-effect level among them;
    domain = the suite's own stratum. Every draw is keyed by `seed`, suite and task.
    """

    n: int = Field(ge=1)
    seed: int = Field(ge=0, lt=2**53)
    strata: tuple[Stratum, ...] = ("difficulty", "tools", "level")


class StratumDrawn(Record):
    """A stratum: `drawn` of its `of` tasks."""

    stratum: str
    of: int
    drawn: int


class SampleDrawn(Record):
    """A sample as it was drawn: enough to draw it again. `pool`: every task's stratum, in order."""

    suite: str
    n: int
    seed: int
    strata: tuple[StratumDrawn, ...]
    pool: dict[str, str]


class Variance(Record):
    """What is expected of a metric's paired differences, and where that comes from.

    One of `sd` (of one pair's difference, in the unit of the record), `discordant` (shares of pairs
    in which only the arm, only the other has it) or `chances` (of an event in a trial of the arm,
    of the other: a rare count). `icc`: how alike pairs of one task are.
    """

    metric: str
    sd: float | None = Field(default=None, ge=0)
    discordant: tuple[Share, Share] | None = None
    chances: tuple[Share, Share] | None = None
    icc: Share = 0.3
    source: Said

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if sum(one is not None for one in (self.sd, self.discordant, self.chances)) != 1:
            raise ValueError("say one of sd, discordant, chances")
        if self.discordant is not None and sum(self.discordant) > 1:
            raise ValueError("discordant: the shares are more than 1 together")
        if self.sd == 0 or self.discordant == (0, 0):
            raise ValueError("no spread at all: one task would show any effect")
        return self


class Powering(Record):
    """What the detectable effects of the hypotheses are worked out with."""

    target: float = Field(default=0.8, ge=0.5, le=0.999)
    variances: tuple[Variance, ...] = ()


class ModelFacts(Record):
    """A model as its provider tells it (paper §6.7): what its name alone does not say.

    `name`: as under `model:`. `snapshot`: what the provider returns as the model's name, held
    against every answer; "" = it does not pin one. `training_cutoff`: a date, or `unknown`.
    """

    name: str
    provider: Said
    snapshot: str = ""
    training_cutoff: Said
    params: dict[str, Any] = {}


class SpotCheck(Record):
    """Which share of each stratum people look over (`hfr-bench review`), and how many of them.

    Drawn by a key made of the registration's digest; raters do not see arms.
    """

    share: float = Field(default=LEAST, ge=LEAST, le=MOST)
    raters: int = Field(default=2, ge=1)


class HarmPrice(Record):
    """What a harmful effect is taken to cost, for whoever weighs harm against success."""

    duplicate_usd: float = Field(ge=0)
    unwanted_usd: float = Field(ge=0)
    partial_usd: float = Field(ge=0)


class Method(Record):
    """How the experiment is carried out and judged, where the other parts do not say it.

    What the harness does in one way only is an enumerated word with a default; the registration
    repeats it, so that a reader need not know the harness.

    `data_seen`: what of these tasks, arms or traces was seen before. `sample_size`: why so many.
    `exploratory`: what will be looked at beyond the hypotheses. `exclusions`: rules by which trials
    are left out of the numbers; none but voids can be. `cost_basis`: what money means here.
    `tools`: versions of what acts beside the suites' pinned tools.
    """

    study: Literal["confirmatory", "exploratory"]
    data_seen: Said
    sample_size: Said
    data_collection: str = ""
    exploratory: tuple[str, ...] = ()
    design: Literal["paired: every arm meets every task, seed and schedule"] = (
        "paired: every arm meets every task, seed and schedule"
    )
    randomisation: Literal["keyed draws, written down before the run"] = (
        "keyed draws, written down before the run"
    )
    blinding: Literal["progress and review hide arms and outcomes"] = (
        "progress and review hide arms and outcomes"
    )
    transformations: Literal["none"] = "none"
    exclusions: tuple[Literal["void pair groups"], ...] = ("void pair groups",)
    missing: Literal["drop the whole pair group, report bounds"] = (
        "drop the whole pair group, report bounds"
    )
    rerun: Literal["the whole pair group, at most void_rounds times"] = (
        "the whole pair group, at most void_rounds times"
    )
    multiplicity: Literal["Holm in each family, families in order"] = (
        "Holm in each family, families in order"
    )
    weights: Literal["every task counts once, suites are strata"] = (
        "every task counts once, suites are strata"
    )
    inference: Literal["docs/statistics.md"] = "docs/statistics.md"
    latency_point: Literal["trial clock, at the strategy's side of the call"] = (
        "trial clock, at the strategy's side of the call"
    )
    cost_basis: Said
    harm: HarmPrice | None = None
    models: tuple[ModelFacts, ...] = ()
    tools: dict[str, str] = {}
    spot_check: SpotCheck | None = None


class Amendment(Record):
    """Why a registration follows an earlier one (`amends`), and what had been seen by then.

    `trials_seen`: finished trials under the earlier one and those before it.
    """

    reason: Said
    trials_seen: int = Field(ge=0)
    parent_frozen_at: str = ""


class ClaimPower(Record):
    """What so many tasks can show of a hypothesis, as it was known at freezing.

    `detectable`: the smallest difference found with `power`, in the unit of the record; None where
    it cannot be told, and `note` says why. `pairs`: of one task. `alpha`: two-sided, Holm's
    strictest step. `basis`: where the variance is from. `underpowered`: the margin is smaller.
    """

    id: str
    metric: str
    unit: str
    tasks: int
    pairs: int
    power: float
    alpha: float
    basis: str = ""
    sd: float | None = None
    icc: float | None = None
    detectable: float | None = None
    method: Literal["exact", "normal", "none"] = "none"
    margin: float = 0.0
    underpowered: bool = False
    note: str = ""
