"""HFR and its ablations (paper §6.6.3): one controller, five registered configurations.

The controller is `recovery.controller`; what each arm leaves out is in `config.PRESETS`, and what
it shares where cohorts are registered in `sharing`.
"""

from hfr_bench.recovery.sharing import SharingController


class Hfr(SharingController):
    """Classify, then decide under budget, deadline and side-effect risk (paper §4), whole."""

    preset = "hfr"


class HfrWithoutVerifier(SharingController):
    """Accepts what passes V0."""

    preset = "hfr-verifier"


class HfrWithoutIdempotency(SharingController):
    """Without key and ledger: a write whose answer was lost is sent again like a read."""

    preset = "hfr-idempotency"


class HfrWithoutBudget(SharingController):
    """Without the task's retry budget; each step's own stays."""

    preset = "hfr-budget"


class HfrWithoutBreaker(SharingController):
    """Without circuit breakers."""

    preset = "hfr-breaker"
