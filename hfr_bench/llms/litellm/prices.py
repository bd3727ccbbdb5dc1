"""Models' prices, by the table that the installed litellm carries. Never fetched.

The table is read as a file: a freeze needs prices, and must not pay seconds for an import.
"""

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hfr_bench.errors import BadInputError
from hfr_bench.model.price import Price, priced

TABLE = "model_prices_and_context_window_backup.json"


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
    return priced(row)
