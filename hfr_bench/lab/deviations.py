"""What differs from the registration, found in the plan and the traces; nobody is asked.

Nothing is read that an interruption leaves behind: a run that was killed and went on has the same
deviations as one that was not.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from hfr_bench.lab.ingest import Facts
from hfr_bench.lab.runlog import LOOKED, lines
from hfr_bench.lab.store import Chosen
from hfr_bench.model.prereg import Lock, Preregistration
from hfr_bench.model.report import DeviationRow
from hfr_bench.model.terms import Origin
from hfr_bench.model.trial import PlanRow

EXPECTED = "faults never met"
"""The one kind that every experiment with faults has: schedules cover more than trials come to."""
_SHOWN = 4


def deviations(
    prereg: Preregistration,
    lock: Lock,
    rows: Sequence[PlanRow],
    facts: Sequence[Facts],
    chosen: Chosen,
    folder: Path,
) -> tuple[DeviationRow, ...]:
    """All that is not as registered, in a fixed order; `EXPECTED` last.

    Args:
        prereg: what was registered.
        lock: what it was frozen as.
        rows: the plan, control trials included.
        facts: of all trial files.
        chosen: the rounds that count.
        folder: whose run log tells the versions.
    """
    last = {id(checked) for checked in chosen.trials.values()}  # themselves: chosen among these
    counted = [one for one in facts if id(one.checked) in last]
    found = [
        *_amended(prereg, lock),
        *_blocks(rows, chosen, counted),
        *_models(prereg, counted),
        *_places(prereg, counted),
        *_versions(lock, folder),
        *_looked(prereg, rows, folder),
        *_faults(rows, counted),
    ]
    return tuple(found)


def _amended(prereg: Preregistration, lock: Lock) -> Iterator[DeviationRow]:
    if prereg.amendment is not None:
        detail = f"follows {(prereg.amends or '')[:12]}: {prereg.amendment.reason}"
        if lock.after_data:
            detail += f"; exploratory, for changed after data: {', '.join(lock.after_data)}"
        seen = prereg.amendment.trials_seen
        yield DeviationRow(what="amended after trials were seen", count=seen, detail=detail)


def _blocks(
    rows: Sequence[PlanRow], chosen: Chosen, counted: Sequence[Facts]
) -> Iterator[DeviationRow]:
    """Pair groups that lack, were dropped, or count in a later round than their first."""
    groups = {row.trial.pair_group: row.trial for row in rows}
    for what, names in (
        ("pair groups missing", chosen.lacking),
        ("pair groups dropped", chosen.dropped),
        ("pair groups run again", tuple(sorted({
            one.checked.file.group for one in counted if one.checked.file.round > 1
        }))),
    ):  # fmt: skip
        if names:
            rates = Counter(groups[name].rate for name in names if name in groups)
            told = ", ".join(f"{n} at {rate * 100:.3g} %" for rate, n in sorted(rates.items()))
            yield DeviationRow(what=what, count=len(names), of=len(groups), detail=told)


def _models(prereg: Preregistration, counted: Sequence[Facts]) -> Iterator[DeviationRow]:
    """Models that answered under another name than before, or than is registered."""
    answers: dict[str, Counter[str]] = {}
    for models, trials in Counter(one.models for one in counted).items():  # most are alike
        for asked, returned, n in models:
            answers.setdefault(asked, Counter())[returned] += n * trials
    facts = prereg.method.models if prereg.method is not None else ()
    registered = {model.name: model.snapshot for model in facts}
    for asked, found in sorted(answers.items()):
        ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        right = registered.get(asked) or (ordered[0][0] if len(ordered) > 1 else "")
        other = [(name, n) for name, n in ordered if right and name != right]
        if other:
            told = ", ".join(f"{n} by {name}" for name, n in other[:_SHOWN])
            word = "registered" if registered.get(asked) else "mostly"
            yield DeviationRow(
                what="model drift",
                count=sum(n for _, n in other),
                of=found.total(),
                detail=f"asked for {asked} ({word} {right}), answered {told}",
            )
    unnamed = sorted(set(answers) - set(registered))
    if prereg.origin is Origin.LIVE and unnamed:
        yield DeviationRow(
            what="model not described",
            count=len(unnamed),
            detail=f"no snapshot and training cut-off are registered of {', '.join(unnamed)}",
        )


def _places(prereg: Preregistration, counted: Iterable[Facts]) -> Iterator[DeviationRow]:
    """Tools that ran elsewhere than registered, or in images that differ."""
    starts = [one.start for one in counted if one.start is not None]
    elsewhere = Counter(s.sandbox for s in starts if s.sandbox != prereg.sandbox)
    if elsewhere:
        told = f"registered {prereg.sandbox}, ran in {', '.join(sorted(elsewhere))}"
        yield DeviationRow(what="sandbox", count=elsewhere.total(), of=len(starts), detail=told)
    images = Counter(s.image_id for s in starts if s.image_id)
    suites = len(prereg.suites)
    if len(images) > suites:
        usual = sum(n for _, n in images.most_common(suites))
        yield DeviationRow(
            what="image drift",
            count=images.total() - usual,
            of=images.total(),
            detail=f"{len(images)} images of {suites} suite(s)",
        )


def _versions(lock: Lock, folder: Path) -> Iterator[DeviationRow]:
    """Calls of `run` by another version than the one that froze it."""
    found: Counter[str] = Counter()
    for call in lines(folder):
        if call.end is None and call.harness_version != lock.harness_version:
            found[call.harness_version] += 1
    if found:
        told = f"frozen by {lock.harness_version}, run by {', '.join(sorted(found))}"
        yield DeviationRow(what="harness version", count=found.total(), detail=told)


def _looked(
    prereg: Preregistration, rows: Sequence[PlanRow], folder: Path
) -> Iterator[DeviationRow]:
    """Results of registered claims' arms that were shown while trials lacked, beside any look."""
    found = [line.ran for line in lines(folder) if line.end == LOOKED]
    if found and prereg.hypotheses:
        told = f"with {', '.join(map(str, found[:_SHOWN]))}{', ...' * (len(found) > _SHOWN)}"
        detail = f"{told} of {len(rows)} trials in; only the bounds at any time allow for it"
        yield DeviationRow(what="looked at before the end", count=len(found), detail=detail)


def _faults(rows: Sequence[PlanRow], counted: Iterable[Facts]) -> Iterator[DeviationRow]:
    """Planned faults that were not delivered where they were met, and those that never were."""
    control = {(row.trial.pair_group, row.trial.arm) for row in rows if row.control is not None}
    sums: dict[str, tuple[int, int, int]] = {}
    for one in counted:
        audit, file = one.audit, one.checked.file
        if not audit.sums or (file.group, file.arm) in control:
            continue
        scheduled, reached, right = sums.get(audit.arm, (0, 0, 0))
        for kind in audit.sums.values():
            scheduled += kind.scheduled
            reached += kind.reached
            right += kind.delivered + kind.masked
        sums[audit.arm] = scheduled, reached, right
    wrong = {arm: reached - right for arm, (_, reached, right) in sums.items()}
    met = sum(reached for _, reached, _ in sums.values())
    if any(wrong.values()):
        yield DeviationRow(
            what="faults met, not delivered",
            count=sum(wrong.values()),
            of=met,
            detail=_by_arm({arm: str(n) for arm, n in wrong.items() if n}),
        )
    planned = sum(scheduled for scheduled, _, _ in sums.values())
    if unmet := planned - met:
        told = {
            arm: f"{reached}/{scheduled}"
            for arm, (scheduled, reached, _) in sorted(sums.items())
            if scheduled
        }
        yield DeviationRow(what=EXPECTED, count=unmet, of=planned, detail=f"met: {_by_arm(told)}")


def _by_arm(told: Mapping[str, str]) -> str:
    return ", ".join(f"{arm} {text}" for arm, text in told.items())
