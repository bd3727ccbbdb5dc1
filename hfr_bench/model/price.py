"""What a model's tokens cost by a row of litellm's price table.

Here, so that whoever verifies a bundle works it out as the relay did that charged it. Uncached: a
cache's discount would depend on the order of the arms.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

_IN, _OUT, _ABOVE = "input_cost_per_token", "output_cost_per_token", "_above_"

Row = Mapping[str, Any]
"""A model's row of the table, as litellm writes it; dollars a token."""


@dataclass(frozen=True, slots=True)
class Price:
    """A row of the table. `tiers`: (above so many prompt tokens, micro-dollars in, out), rising."""

    row: Row
    tiers: tuple[tuple[int, Fraction, Fraction], ...]

    def microusd(self, tokens_in: int, tokens_out: int) -> int:
        """Of one completion."""
        _, per_in, per_out = [tier for tier in self.tiers if tokens_in >= tier[0]][-1]
        return round(tokens_in * per_in + tokens_out * per_out)


def priced(row: Row | None) -> Price | None:
    """The price that a row tells; None for no row, and for one without a price of either token."""
    if row is None or not all(_is_price(row.get(key)) for key in (_IN, _OUT)):
        return None
    tiers = {0: (_micro(row[_IN]), _micro(row[_OUT]))}
    for key, value in row.items():
        bound = key.removeprefix(_IN + _ABOVE).removesuffix("k_tokens")
        if bound.isdigit() and key.startswith(_IN) and _is_price(value):
            out = row.get(f"{_OUT}{_ABOVE}{bound}k_tokens", row[_OUT])
            tiers[int(bound) * 1000 + 1] = (_micro(value), _micro(out))
    return Price(row, tuple((at, *tiers[at]) for at in sorted(tiers)))


def tokens(prompt: Any, completion: Any) -> tuple[int, int] | None:
    """Tokens of a prompt and its completion; None = not said, which litellm writes as zeros."""
    said = isinstance(prompt, int) and isinstance(completion, int) and prompt > 0
    return (prompt, completion) if said else None


def charged(price: Price | None, said: tuple[int, int] | None) -> int | None:
    """Micro-dollars of an answer; None where its price is not known, or its tokens are not."""
    return None if price is None or said is None else price.microusd(*said)


def _is_price(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _micro(usd: float) -> Fraction:
    """Dollars as written, not as the nearest float: every reader gets the same cents."""
    return Fraction(repr(usd)) * 1_000_000
