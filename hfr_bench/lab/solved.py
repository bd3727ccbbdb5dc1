"""Whether a script could play the tasks at all: some suites do not know every solution."""

from typing import TYPE_CHECKING

from hfr_bench.errors import BadInputError
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.terms import Origin
from hfr_bench.ports.suite import Solved

if TYPE_CHECKING:
    from hfr_bench.lab.wire import Bench

_SHOWN = 5


def check_solved(prereg: Preregistration, bench: "Bench") -> None:
    """Raises BadInputError naming tasks without a solution that only a script would play.

    A live model needs none, nor does the agent that does nothing.
    """
    if prereg.agent == "nop" or (prereg.origin is Origin.LIVE and prereg.agent != "oracle"):
        return
    for selection in prereg.suites:
        suite = bench.suite(selection.suite)
        unsolved = suite.unsolved(selection) if isinstance(suite, Solved) else ()
        if unsolved:
            more = ", ..." if len(unsolved) > _SHOWN else ""
            raise BadInputError(
                f"suite {selection.suite}: nobody knows the solution of {len(unsolved)} tasks "
                f"({', '.join(unsolved[:_SHOWN])}{more}), which a script is to play: leave them "
                "out, give their solutions, or register `origin: live` with a model"
            )
