"""Why a trial measured nothing, by the error that ended it."""

from hfr_bench.errors import CassetteMissError, InfrastructureError, ProviderError
from hfr_bench.model.terms import VoidCause


class CheckerError(InfrastructureError):
    """The checker could not grade: the trial measures nothing."""


_CAUSES: tuple[tuple[type[InfrastructureError], VoidCause], ...] = (
    (CassetteMissError, VoidCause.CASSETTE),
    (ProviderError, VoidCause.PROVIDER),
    (CheckerError, VoidCause.CHECKER),
)


def cause_of(error: InfrastructureError) -> VoidCause:
    """The cause that a void is counted under."""
    return next((cause for kind, cause in _CAUSES if isinstance(error, kind)), VoidCause.SANDBOX)
