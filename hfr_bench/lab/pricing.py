"""prices.json: the rows of its price table that a live model is charged by, kept beside the lock.

Freezing writes it: its SHA-256 is the lock's `prices_digest`. A bundle carries it.
"""

import json
from pathlib import Path

from hfr_bench.errors import BadInputError
from hfr_bench.model.price import Price, priced
from hfr_bench.model.record import compact, text_digest
from hfr_bench.ports.llm import LlmBackend, Tabled

PRICES = "prices.json"


def table_of(backend: LlmBackend) -> str | None:
    """The text of prices.json; None for a backend that does not charge by a table's rows.

    It is the very text that `prices_digest` is the SHA-256 of, so it has no newline at its end.
    """
    return compact(backend.price_rows) if isinstance(backend, Tabled) else None


def check_prices(folder: Path, prices_digest: str) -> None:
    """Raises BadInputError for a prices.json that is not the frozen one; it may lack."""
    path = folder / PRICES
    if path.is_file() and text_digest(path.read_bytes()) != prices_digest:
        raise BadInputError(
            f"{path}: is not what was frozen; put it back, or remove it (then nobody can check "
            "what the model's tokens cost)"
        )


def prices_in(data: bytes) -> dict[str, Price | None]:
    """The prices that prices.json holds, by model. Raises ValueError for what is no such file."""
    rows = json.loads(data)
    if not isinstance(rows, dict) or not all(isinstance(row, dict | None) for row in rows.values()):
        raise ValueError(f"{PRICES}: is not a row, or null, for each model")
    return {model: priced(row) for model, row in rows.items()}
