"""Checks on the harness itself (DESIGN §5): what must hold in every experiment, whoever wins."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hfr_bench.lab.store import Checked, Store
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.report import AuditRow, ControlRow
from hfr_bench.model.terms import Origin
from hfr_bench.model.trial import PlanRow, Trial, TrialResult

INJECTOR_REMOVED = "injector_removed"
A_A = "a_a"

# What a control may differ in from its twin: where it was planned, not how it went.
_PLACE = frozenset(
    {
        "cohort_id",
        "injected",
        "pair_group",
        "profile",
        "round",
        "schedule_digest",
        "trial_id",
    }
)
_SHOWN = 3


class Ran(NamedTuple):
    """A trial of the last complete round: as planned, and what is known of its trace."""

    row: PlanRow
    checked: Checked

    @property
    def result(self) -> TrialResult:
        assert self.checked.result is not None
        return self.checked.result


def controls(
    prereg: Preregistration,
    ran: Sequence[Ran],
    store: Store,
    audit: Iterable[AuditRow],
    unplanned: Sequence[str],
) -> tuple[ControlRow, ...]:
    """All checks; `passed` None where nothing could be checked.

    Args:
        prereg: arms, rates and origin.
        ran: every analysed trial, controls included.
        store: to compare control trials line by line.
        audit: the delivery audit.
        unplanned: attempts that failed where no fault was planned.
    """
    by_arm: dict[str, list[TrialResult]] = {}
    for one in ran:
        if one.row.control is None:
            by_arm.setdefault(one.result.arm, []).append(one.result)
    return (
        _delivered(audit),
        _unplanned(prereg, unplanned),
        _twins(prereg, ran, store, INJECTOR_REMOVED, "rate 0 equals no injector at all"),
        _twins(prereg, ran, store, A_A, "the same arm twice gives the same trials (A/A)"),
        _no_retry_drops(prereg, by_arm),
        _blind_resend_caught(prereg, by_arm),
        _oracle_clean(prereg, by_arm),
    )


def behaviour(lines: Iterable[bytes], trial_id: str) -> str:
    """SHA-256 over what a trial did: its lines without place, measured time and gateway hits.

    `trial_id` is taken out wherever it occurs: operations are named after their trial.
    """
    whole = hashlib.sha256()
    for line in lines:
        event = json.loads(line.replace(trial_id.encode(), b""))
        body = event["body"]
        if body["type"] == "upstream_hit":
            continue
        for key in ("seq", "wall_us", "prev", "trial_id"):
            del event[key]
        _forget_place(body)
        _forget_place(body.get("result"))
        whole.update(json.dumps(event, sort_keys=True).encode() + b"\n")
    return whole.hexdigest()


def _forget_place(fields: Any) -> None:
    if isinstance(fields, dict):
        for key in _PLACE & fields.keys():
            del fields[key]


def _twins(
    prereg: Preregistration, ran: Sequence[Ran], store: Store, control: str, title: str
) -> ControlRow:
    """Every control trial must behave exactly as its twin in the main experiment."""
    twins = {_place(one.row.trial): one for one in ran if one.row.control is None}
    pairs = [
        (one, twins[_place(one.row.trial)])
        for one in ran
        if one.row.control == control and _place(one.row.trial) in twins
    ]
    if not pairs:
        return ControlRow(name=title, passed=None, detail="no control trial was analysed")
    if prereg.origin is Origin.LIVE:
        alike = sum(_succeeded(one) == _succeeded(twin) for one, twin in pairs)
        detail = f"live: the outcome agrees in {alike} of {len(pairs)} trials; not exact by nature"
        return ControlRow(name=title, passed=None, detail=detail)
    different = [one for one, twin in pairs if not _alike(one, twin, store)]
    detail = f"{len(pairs) - len(different)} of {len(pairs)} trials identical, line by line"
    if different:
        shown = ", ".join(one.row.trial.trial_id for one in different[:_SHOWN])
        detail += f"; different: {shown}"
    return ControlRow(name=title, passed=not different, detail=detail)


def _place(trial: Trial) -> tuple[str, str, int, float, str]:
    return trial.suite, trial.task_id, trial.seed, trial.rate, trial.arm


def _succeeded(one: Ran) -> bool:
    return one.result.outcome is not None and one.result.outcome.succeeded


def _alike(one: Ran, twin: Ran, store: Store) -> bool:
    first, second = (
        behaviour(store.raw(each.checked.file), each.row.trial.trial_id) for each in (one, twin)
    )
    return first == second


def _delivered(audit: Iterable[AuditRow]) -> ControlRow:
    rows = tuple(audit)
    reached, delivered = sum(r.reached for r in rows), sum(r.delivered for r in rows)
    return ControlRow(
        name="every fault that was reached was delivered",
        passed=delivered == reached if reached else None,
        detail=f"{delivered} of {reached} reached faults seen as declared",
    )


def _unplanned(prereg: Preregistration, unplanned: Sequence[str]) -> ControlRow:
    """An injector must not hit what no schedule names; live, real failures look the same."""
    detail = f"{len(unplanned)} attempts failed where no fault was planned"
    if unplanned:
        detail += f"; first: {'; '.join(unplanned[:_SHOWN])}"
    passed = None if prereg.origin is Origin.LIVE else not unplanned
    return ControlRow(name="nothing failed without a planned fault", passed=passed, detail=detail)


def _no_retry_drops(
    prereg: Preregistration, by_arm: Mapping[str, Sequence[TrialResult]]
) -> ControlRow:
    """Without any recovery, faults must cost successes; else they did not bite."""
    title = "without retries, faults cost successes"
    top = max(prereg.faults.rates)
    for arm in _of_strategy(prereg, "no_retry"):
        trials = by_arm.get(arm, ())
        calm, stressed = _success(trials, 0.0), _success(trials, top)
        if top > 0 and calm is not None and stressed is not None:
            detail = f"{arm}: SR {calm:.1%} at rate 0, {stressed:.1%} at {top:.0%}"
            return ControlRow(name=title, passed=stressed < calm, detail=detail)
    return ControlRow(name=title, passed=None, detail="no no_retry arm at rate 0 and above")


def _blind_resend_caught(
    prereg: Preregistration, by_arm: Mapping[str, Sequence[TrialResult]]
) -> ControlRow:
    """The known-bad arm must be seen duplicating, wherever it had a write to duplicate."""
    title = "the known-bad arm is caught duplicating"
    for arm in _of_strategy(prereg, "blind_resend"):
        outcomes = [t.outcome for t in by_arm.get(arm, ()) if t.rate > 0 and t.outcome]
        ambiguous = sum(o.ambiguous_writes for o in outcomes)
        duplicates = sum(o.duplicates for o in outcomes)
        if ambiguous:
            detail = f"{arm}: {duplicates} in {ambiguous} ambiguous writes"
            return ControlRow(name=title, passed=duplicates > 0, detail=detail)
    return ControlRow(name=title, passed=None, detail="no blind_resend arm met a lost outcome")


def _oracle_clean(
    prereg: Preregistration, by_arm: Mapping[str, Sequence[TrialResult]]
) -> ControlRow:
    """The arm that sees the truth must never duplicate; else the counting is wrong."""
    title = "the arm that sees the truth never duplicates"
    arms = [arm for arm in _of_strategy(prereg, "oracle_recovery") if by_arm.get(arm)]
    outcomes = [trial.outcome for arm in arms for trial in by_arm[arm] if trial.outcome]
    if not outcomes:
        return ControlRow(name=title, passed=None, detail="no oracle_recovery arm")
    duplicates = sum(o.duplicates for o in outcomes)
    detail = f"{', '.join(arms)}: {duplicates} in {len(outcomes)} trials"
    return ControlRow(name=title, passed=duplicates == 0, detail=detail)


def _of_strategy(prereg: Preregistration, strategy: str) -> list[str]:
    return [arm.name for arm in prereg.arms if arm.strategy == strategy]


def _success(trials: Sequence[TrialResult], rate: float) -> float | None:
    outcomes = [trial.outcome for trial in trials if trial.rate == rate and trial.outcome]
    return sum(o.succeeded for o in outcomes) / len(outcomes) if outcomes else None
