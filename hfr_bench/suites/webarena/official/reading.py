"""What a page that was read back tells on sites whose pages tell the time of day. Pure."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from hfr_bench.model.terms import Landed
from hfr_bench.suites.webarena.acting import contracts
from hfr_bench.suites.webarena.official.content import settings

_SINCE = "(since)"


def landed(
    predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
) -> Landed:
    """As `acting.contracts.landed`; "5 minutes ago" and its like are no change of a page."""
    return contracts.landed(predicate, _still(before), _still(after), arguments)


def _still(page: str | None) -> str | None:
    return None if page is None else _passing().sub(_SINCE, page)


@cache
def _passing() -> re.Pattern[str]:
    return re.compile("|".join(settings()["passing"]), re.IGNORECASE)
