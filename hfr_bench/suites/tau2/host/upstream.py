"""Which source the tasks come from: an upstream checkout if one is named, else what is installed.

`HFR_TAU2_DATA_DIR` names a checkout of tau2-bench or of the older tau-bench; its layout tells
which.
"""

from collections.abc import Mapping
from pathlib import Path

from .domain import Source
from .errors import HostError
from .source_tau2 import Tau2Checkout, Tau2Installed
from .source_tau_bench import TauBenchCheckout

VARIABLE = "HFR_TAU2_DATA_DIR"


def find_source(environment: Mapping[str, str]) -> Source:
    """The source that the environment names. Raises HostError (bad_checkout)."""
    named = environment.get(VARIABLE)
    if not named:
        return Tau2Installed()
    for kind in (Tau2Checkout, TauBenchCheckout):
        if all((Path(named) / part).is_dir() for part in kind.LAYOUT):
            return kind(Path(named))
    looked = " nor ".join(
        f"a {kind.NAME} ({', '.join(kind.LAYOUT)})" for kind in (Tau2Checkout, TauBenchCheckout)
    )
    raise HostError("bad_checkout", f"{VARIABLE}={named} is neither {looked}")
