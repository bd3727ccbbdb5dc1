"""What strategies of one cohort hand from trial to trial, and what may be said of it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

Part = Literal["breaker", "tenant_budget", "pool"]

Shared = dict[str, Any]
"""By part: whatever the strategy makes of it, if JSON can hold it."""

PER_TENANT: tuple[Part, ...] = ("tenant_budget",)
"""Parts that each tenant has for itself; the others are the whole cohort's."""


class SharedView(NamedTuple):
    """Where a strategy's shared state stands.

    `open_until`: breakers that are not closed, by scope (`model:m`, `tool:t`, `provider:p`,
    `tenant:t`), and when each may be probed (us). `tenant_left`: retries that the tenant has left
    now; None = no tenant budget.
    """

    open_until: Mapping[str, int] = MappingProxyType({})
    tenant_left: int | None = None
