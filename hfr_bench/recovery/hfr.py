"""HFR and its ablations (paper §6.6.3): one controller, five registered configurations.

The controller is `recovery.controller`; what each arm leaves out is in `config.PRESETS`.
"""

from hfr_bench.recovery.controller import Controller


class Hfr(Controller):
    """Classify, then decide under budget, deadline and side-effect risk (paper §4), whole."""

    preset = "hfr"


class HfrWithoutVerifier(Controller):
    """Accepts what passes V0."""

    preset = "hfr-verifier"


class HfrWithoutIdempotency(Controller):
    """Without key and ledger: a write whose answer was lost is sent again like a read."""

    preset = "hfr-idempotency"


class HfrWithoutBudget(Controller):
    """Without the task's retry budget; each step's own stays."""

    preset = "hfr-budget"


class HfrWithoutBreaker(Controller):
    """Without circuit breakers."""

    preset = "hfr-breaker"
