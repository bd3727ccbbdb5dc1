"""What a model's tokens cost, by the table that the installed litellm carries. Never fetched.

The table is read as a file: a freeze needs prices, and must not pay seconds for an import.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hfr_bench.errors import BadInputError

TABLE = "model_prices_and_context_window_backup.json"
_IN, _OUT, _ABOVE = "input_cost_per_token", "output_cost_per_token", "_above_"


@dataclass(frozen=True, slots=True)
class Price:
    """A row of the table. `tiers`: (above so many prompt tokens, micro-dollars in, out), rising."""

    row: Mapping[str, Any]
    tiers: tuple[tuple[int, Fraction, Fraction], ...]

    def microusd(self, tokens_in: int, tokens_out: int) -> int:
        """Of one completion, uncached (a cache's discount would depend on the arms' order)."""
        _, per_in, per_out = [tier for tier in self.tiers if tokens_in >= tier[0]][-1]
        return round(tokens_in * per_in + tokens_out * per_out)


def folder() -> Path | None:
    """Where litellm is installed, or None; it is not imported."""
    found = find_spec("litellm")
    return Path(found.origin).parent if found and found.origin else None


def load(models: Sequence[str]) -> dict[str, Price | None]:
    """The price of each model; None = unknown. Raises BadInputError without litellm."""
    where = folder()
    if where is None:
        raise BadInputError("llm litellm is not installed: pip install 'hfr-bench[litellm]'")
    path = where / TABLE
    try:
        table = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path}: litellm's price table cannot be read: {error}") from error
    return {model: _price(table, model) for model in models}


def _price(table: Mapping[str, Any], model: str) -> Price | None:
    """By the full name, or by the name without the provider where the row names the same one."""
    provider, _, name = model.partition("/")
    row = table.get(model)
    if row is None and table.get(name, {}).get("litellm_provider") == provider:
        row = table[name]
    if row is None or not all(_is_price(row.get(key)) for key in (_IN, _OUT)):
        return None
    tiers = {0: (_micro(row[_IN]), _micro(row[_OUT]))}
    for key, value in row.items():
        bound = key.removeprefix(_IN + _ABOVE).removesuffix("k_tokens")
        if bound.isdigit() and key.startswith(_IN) and _is_price(value):
            out = row.get(f"{_OUT}{_ABOVE}{bound}k_tokens", row[_OUT])
            tiers[int(bound) * 1000 + 1] = (_micro(value), _micro(out))
    return Price(row, tuple((at, *tiers[at]) for at in sorted(tiers)))


def _is_price(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _micro(usd: float) -> Fraction:
    """Dollars as written, not as the nearest float: every reader gets the same cents."""
    return Fraction(repr(usd)) * 1_000_000
