"""The fixture `hfr_score`, for whoever has hfr-bench installed beside pytest.

Every pytest run loads this module, so it loads nothing else before it is asked.
"""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def hfr_score() -> Callable[..., Any]:
    """`hfr_bench.testing.score`: run a policy under every single fault, and get what it did."""
    from hfr_bench.testing.scoring import score  # noqa: PLC0415 - see above

    return score
