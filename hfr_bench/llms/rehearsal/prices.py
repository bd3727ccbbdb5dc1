"""The tiers of the stand-in model: how often it is right, what it costs, how long it takes."""

from collections.abc import Mapping
from pathlib import Path

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.record import Record


class Tier(Record):
    """One stand-in model. `latency_us`: the middle of its latency."""

    model: str
    success_rate: float
    cost_microusd: int
    latency_us: int


class PriceTable(Record):
    """All tiers, and where the figures come from."""

    source: str
    tiers: tuple[Tier, ...]

    def by_model(self) -> dict[str, Tier]:
        return {tier.model: tier for tier in self.tiers}


def load(rates: Mapping[str, float] | None = None) -> PriceTable:
    """The shipped table, with other success rates where `rates` names a model.

    Raises BadInputError for an unknown model.
    """
    table = content.read_record(Path(__file__).with_name("prices.yaml"), PriceTable)
    if not rates:
        return table
    known = table.by_model()
    if unknown := sorted(set(rates) - set(known)):
        raise BadInputError(
            f"unknown rehearsal model {', '.join(unknown)}; there are: {', '.join(known)}"
        )
    tiers = (
        tier.model_copy(update={"success_rate": rates.get(tier.model, tier.success_rate)})
        for tier in table.tiers
    )
    return table.model_copy(update={"tiers": tuple(tiers)})
