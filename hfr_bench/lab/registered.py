"""What freezing asks of a registration, and works out from it, beyond what a run needs."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hfr_bench.errors import BadInputError
from hfr_bench.lab.amending import after_data, lineage
from hfr_bench.lab.powered import claims, notes
from hfr_bench.lab.wire import Bench
from hfr_bench.model.prereg import EXHAUSTIVE, Preregistration
from hfr_bench.model.registered import PENDING
from hfr_bench.model.terms import Origin
from hfr_bench.stats.metrics import METRICS

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


def check_success(prereg: Preregistration, bench: Bench) -> None:
    """The success oracle must be what the suite judges by. Raises BadInputError."""
    for selection in prereg.suites:
        # A suite that judges by the state of the world says so; all others ask upstream's verdict.
        judged = getattr(bench.suite(selection.suite), "success", OFFICIAL)
        if selection.success is not None and selection.success != judged:
            raise BadInputError(
                f"suites.{selection.suite}.success: {selection.success!r} is registered, and the "
                f"suite judges by {judged!r}"
            )


def worked_out(prereg: Preregistration, bench: Bench, folder: Path) -> dict[str, Any]:
    """Fields of the lock: the samples, what can be shown of each claim, which came after data.

    Raises BadInputError for an amendment whose parents lack.
    """
    check_success(prereg, bench)
    late = after_data(prereg, lineage(folder, prereg))
    found = claims(prereg, tuple(n for _, n in _sizes(bench)))
    samples = tuple(drawn.sample for drawn in bench.drawn if drawn.sample is not None)
    return {"samples": samples, "claims": found, "after_data": late}


def size_notes(prereg: Preregistration, bench: Bench, fields: Mapping[str, Any]) -> Sequence[str]:
    """What a reader of the lock should know of size, method and amendment."""
    told = list(notes(prereg, _sizes(bench), fields["claims"]))
    if prereg.method is None and prereg.faults.design != EXHAUSTIVE:
        told.append("no `method:`: what was seen before, cost basis, exclusions are not registered")
    described = {model.name for model in prereg.method.models} if prereg.method else set()
    if prereg.origin is Origin.LIVE and prereg.model.agent not in described:
        told.append(f"method.models: snapshot and training cut-off of {prereg.model.agent} lack")
    if prereg.amends is not None and prereg.amendment is None:
        told.append(f"amends {prereg.amends[:12]}, which is not shown: `hfr-bench amend` would")
    if fields["after_data"]:
        assert prereg.amendment is not None
        told.append(
            f"exploratory, for changed after {prereg.amendment.trials_seen} trials were seen: "
            f"{', '.join(fields['after_data'])}"
        )
    return told


def _sizes(bench: Bench) -> tuple[tuple[str, int], ...]:
    """Each suite, and how many of its tasks are planned."""
    return tuple(
        (drawn.selection.suite, sum(suite == drawn.selection.suite for suite, _ in bench.tasks))
        for drawn in bench.drawn
    )
