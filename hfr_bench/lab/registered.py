"""What freezing asks of a registration, and works out from it, beyond what a run needs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hfr_bench.errors import BadInputError
from hfr_bench.lab.amending import after_data, lineage
from hfr_bench.model.prereg import EXHAUSTIVE, Preregistration
from hfr_bench.model.registered import PENDING
from hfr_bench.model.terms import Origin
from hfr_bench.stats.metrics import METRICS

if TYPE_CHECKING:
    from hfr_bench.lab.wire import Bench

OFFICIAL = "official"


def check_registered(prereg: Preregistration) -> None:
    """Refuse what is not decided yet, and what contradicts itself. Raises BadInputError."""
    if undecided := sorted(_pending(prereg.model_dump(mode="json"))):
        raise BadInputError(
            f"{', '.join(undecided[:8])}: still {PENDING!r}; decide that before freezing"
        )
    if prereg.method is not None:
        if prereg.method.study == "exploratory" and prereg.hypotheses:
            raise BadInputError(
                "method.study: an exploratory study tests no hypotheses; leave them out, or say "
                "confirmatory"
            )
        called = {prereg.model.agent, prereg.model.backup, prereg.model.cheap} - {None}
        for model in prereg.method.models:
            if model.name not in called:
                raise BadInputError(
                    f"method.models: {model.name!r} is called by nobody; under `model:` are "
                    f"{', '.join(sorted(filter(None, called)))}"
                )
    for variance in prereg.power.variances if prereg.power else ():
        if variance.metric not in METRICS:
            raise BadInputError(
                f"power.variances: unknown metric {variance.metric!r}; there are: "
                f"{', '.join(METRICS)}"
            )


def _pending(value: Any, path: str = "") -> Iterator[str]:
    """Where a registration says that something is pending."""
    if value == PENDING:
        yield path
    whole = dict(enumerate(value)) if isinstance(value, list) else value
    for key, one in whole.items() if isinstance(whole, dict) else ():
        yield from _pending(one, f"{path}.{key}" if path else str(key))


def check_success(prereg: Preregistration, bench: "Bench") -> None:
    """The success oracle must be what the suite judges by. Raises BadInputError."""
    for selection in prereg.suites:
        # A suite that judges by the state of the world says so; all others ask upstream's verdict.
        judged = getattr(bench.suite(selection.suite), "success", OFFICIAL)
        if selection.success is not None and selection.success != judged:
            raise BadInputError(
                f"suites.{selection.suite}.success: {selection.success!r} is registered, and the "
                f"suite judges by {judged!r}"
            )


def worked_out(
    prereg: Preregistration, bench: "Bench", folder: Path
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Fields of the lock (samples, what can be shown of each claim, which came after data), notes.

    Raises BadInputError for an amendment whose parents lack.
    """
    # Only freezing needs it, and it brings scipy.stats, which every other verb would pay for.
    from hfr_bench.lab.powered import claims, notes  # noqa: PLC0415

    check_success(prereg, bench)
    late = after_data(prereg, lineage(folder, prereg))
    sizes = _sizes(bench)
    found = claims(prereg, tuple(n for _, n in sizes))
    samples = tuple(drawn.sample for drawn in bench.drawn if drawn.sample is not None)
    fields = {"samples": samples, "claims": found, "after_data": late}
    return fields, (*notes(prereg, sizes, found), *missing(prereg, late))


def missing(prereg: Preregistration, late: Sequence[str]) -> Iterator[str]:
    """What a registration leaves out, and its claims that came after data."""
    if prereg.method is None and prereg.faults.design != EXHAUSTIVE:
        yield "no `method:`: what was seen before, cost basis, exclusions are not registered"
    described = {model.name for model in prereg.method.models} if prereg.method else set()
    if prereg.origin is Origin.LIVE and prereg.model.agent not in described:
        yield f"method.models: snapshot and training cut-off of {prereg.model.agent} lack"
    if prereg.amends is not None and prereg.amendment is None:
        yield f"amends {prereg.amends[:12]}, which is not shown: `hfr-bench amend` would"
    if late:
        assert prereg.amendment is not None
        seen = prereg.amendment.trials_seen
        yield f"exploratory, for changed after {seen} trials were seen: {', '.join(late)}"


def _sizes(bench: "Bench") -> tuple[tuple[str, int], ...]:
    """Each suite, and how many of its tasks are planned."""
    return tuple(
        (drawn.selection.suite, sum(suite == drawn.selection.suite for suite, _ in bench.tasks))
        for drawn in bench.drawn
    )
