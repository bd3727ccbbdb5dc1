"""What the controller hands from trial to trial of a cohort (DESIGN §2): breakers and the bucket.

The bulkhead's pools are not among it: the trials of a cohort run one after the other, so that no
more than one call is ever in flight, and a pool that holds one can never be full.
"""

from typing import Any

from hfr_bench.model.shared import Shared, SharedView
from hfr_bench.recovery import breaker
from hfr_bench.recovery.bucket import left
from hfr_bench.recovery.config import UNLIMITED
from hfr_bench.recovery.controller import Controller
from hfr_bench.recovery.memory import State


class SharingController(Controller):
    """HFR in a cohort; alone in its trial, it is the controller and nothing else."""

    def begin_with(self, shared: Shared) -> State:
        """The state at the start of a task, with breakers and bucket as others have left them."""
        state = self.begin()
        breakers: dict[str, Any] | None = shared.get("breaker") if self._breaker_on else None
        if breakers:
            state["breakers"], state["shut"] = dict(breakers), breaker.any_open(breakers)
        if self._limited:
            state["bucket"] = shared.get("tenant_budget")
        return state

    def carry(self, state: State) -> Shared:
        """`breaker`: states by scope; `tenant_budget`: the bucket. Only what the arm has."""
        parts: Shared = {}
        if self._breaker_on:
            kept = {scope: one for scope, one in state["breakers"].items() if one is not None}
            parts["breaker"] = kept or None
        if self._limited:
            parts["tenant_budget"] = state["bucket"]
        return parts

    def commons(self, state: State, now_us: int) -> SharedView:
        """Which breakers are not closed, and what the tenant has left."""
        until = {s: breaker.retry_at_us(one) for s, one in state["breakers"].items()}
        is_open = {scope: at_us for scope, at_us in until.items() if at_us is not None}
        if not self._limited:
            return SharedView(is_open)
        return SharedView(is_open, left(self._means.bucket, state["bucket"], now_us))

    @property
    def _limited(self) -> bool:
        return self._policy.tenant_per_min < UNLIMITED
