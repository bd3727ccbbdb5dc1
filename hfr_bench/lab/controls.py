"""Checks on the harness itself (DESIGN §5): what must hold in every experiment, whoever wins.

Those that decide make an experiment invalid where they fail. The others look at arms of which
one knows how they must come out: they warn, and prove nothing about a single number.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hfr_bench.lab.calm import is_calm, live_fork
from hfr_bench.lab.forks import Came, came_alike
from hfr_bench.lab.ingest import Facts, place
from hfr_bench.lab.prefixed import Went, prefix_controls
from hfr_bench.model.prereg import FORK, Preregistration
from hfr_bench.model.report import AuditRow, ControlRow
from hfr_bench.model.terms import ClockKind, Origin
from hfr_bench.model.trial import PlanRow, TrialResult
from hfr_bench.stats.signflip import sign_flip

INJECTOR_REMOVED = "injector_removed"
A_A = "a_a"
BY_CHANCE = 0.05
"""Two-sided p below which a control and its twin are told apart, where chance is in both."""

_SHOWN = 3


class Ran(NamedTuple):
    """A trial of the last complete round: as planned, what is known of its trace, its result.

    `result` stands in its planned place (`lab.rederive` tells if it claims another one).
    """

    row: PlanRow
    facts: Facts
    result: TrialResult


class Found(NamedTuple):
    """What speaks against the traces, in words.

    `failed`: attempts without an answer where no fault was planned. `untrue`: what was seen there
    is not what happened. `underived`: results that do not follow from their traces.
    """

    failed: Sequence[str] = ()
    untrue: Sequence[str] = ()
    underived: Sequence[str] = ()


def controls(
    prereg: Preregistration,
    ran: Sequence[Ran],
    audit: Iterable[AuditRow],
    found: Found,
) -> tuple[ControlRow, ...]:
    """All checks; `passed` None where nothing could be checked.

    Args:
        prereg: arms, rates and origin.
        ran: every analysed trial, controls included.
        audit: the delivery audit.
        found: what audit and rederivation found against the traces.
    """
    by_arm: dict[str, list[TrialResult]] = {}
    twins: dict[tuple[str, str], Ran] = {}
    for one in ran:
        if one.row.control is None:
            by_arm.setdefault(one.result.arm, []).append(one.result)
            twins[place(one.row.trial)] = one
    live = live_fork(prereg)
    forked = [came_alike(came(ran), live=live)] if prereg.faults.design == FORK else []
    if live:
        forked += prefix_controls(went(prereg, ran))
    return (
        *forked,
        _delivered(audit),
        _unplanned(prereg, found),
        _twins(prereg, ran, twins, INJECTOR_REMOVED, "rate 0 equals no injector at all"),
        _twins(prereg, ran, twins, A_A, "the same arm twice gives the same trials (A/A)"),
        _derived(ran, found.underived),
        _claims(ran),
        _no_retry_drops(prereg, by_arm),
        _blind_resend_caught(prereg, by_arm),
        _oracle_clean(prereg, by_arm),
    )


def came(ran: Iterable[Ran]) -> list[Came]:
    """The trials as the design `fork` reads them; controls left out."""
    return [
        Came(one.row.trial, one.facts.fork, one.result, one.facts.prefixed.missed > 0)
        for one in ran
        if one.row.control is None
    ]


def went(prereg: Preregistration, ran: Iterable[Ran]) -> list[Went]:
    """The trials as live forks read them, controls among them."""
    return [
        Went(
            one.row.trial,
            one.facts.prefixed,
            is_calm(prereg, one.row),
            one.facts.start is not None and one.facts.start.replayed,
        )
        for one in ran
    ]


def _twins(
    prereg: Preregistration,
    ran: Sequence[Ran],
    twins: Mapping[tuple[str, str], Ran],
    control: str,
    title: str,
) -> ControlRow:
    """Every control trial must behave as its twin in the main experiment.

    Exactly, but where a model answers otherwise each time, or times are measured.
    """
    pairs = [
        (one, twins[place(one.row.trial)])
        for one in ran
        if one.row.control == control and place(one.row.trial) in twins
    ]
    if not pairs:
        return ControlRow(
            name=title, passed=None, detail="no control trial was analysed", decides=True
        )
    if prereg.origin is Origin.LIVE:
        return _by_chance(pairs, title, "live")
    if prereg.clock is ClockKind.WALL:
        return _by_chance(pairs, title, "wall clock")
    different = [one for one, twin in pairs if one.facts.behaviour != twin.facts.behaviour]
    detail = f"{len(pairs) - len(different)} of {len(pairs)} trials identical, line by line"
    if different:
        shown = ", ".join(one.row.trial.trial_id for one in different[:_SHOWN])
        detail += f"; different: {shown}"
    return ControlRow(name=title, passed=not different, detail=detail, decides=True)


def _by_chance(pairs: Sequence[tuple[Ran, Ran]], title: str, why: str) -> ControlRow:
    """Equal arms differ by chance, the model's own or the clock's: by no more, task by task.

    A warning: one of twenty pairs of equal arms is told apart.
    """
    alike = sum(_succeeded(one) == _succeeded(twin) for one, twin in pairs)
    by_task: Counter[tuple[str, str]] = Counter()
    for one, twin in pairs:
        task = one.row.trial.suite, one.row.trial.task_id
        by_task[task] += _succeeded(one) - _succeeded(twin)
    found = sign_flip(list(by_task.values()), title)
    detail = (
        f"{why}: success agrees in {alike} of {len(pairs)} trials; more of it in {found.better} "
        f"tasks, less in {found.worse}: sign-flip p {found.two_sided:.3f} (below {BY_CHANCE:g} in "
        "1 of 20 pairs of equal arms)"
    )
    return ControlRow(name=title, passed=found.two_sided >= BY_CHANCE, detail=detail)


def _succeeded(one: Ran) -> bool:
    return one.result.outcome is not None and one.result.outcome.succeeded


def _delivered(audit: Iterable[AuditRow]) -> ControlRow:
    rows = tuple(audit)
    reached, delivered = sum(r.reached for r in rows), sum(r.delivered for r in rows)
    masked = sum(r.masked for r in rows)
    detail = f"{delivered} of {reached} reached faults seen as declared"
    if masked:
        detail += f"; {masked} masked by what their arms declare"
    return ControlRow(
        name="every fault that was reached was delivered",
        passed=all(row.right for row in rows) if reached else None,
        detail=detail,
        decides=True,
    )


def _unplanned(prereg: Preregistration, found: Found) -> ControlRow:
    """Without a live event, every answer is the true one. A live service may fail by itself."""
    detail = (
        f"{len(found.failed)} attempts failed where no fault was planned; "
        f"{len(found.untrue)} saw what did not happen"
    )
    shown = (*found.untrue[:_SHOWN], *found.failed[:_SHOWN])
    if shown:
        detail += f"; first: {'; '.join(shown)}"
    passed: bool | None = not found.untrue and not found.failed
    if prereg.origin is Origin.LIVE and not found.untrue:
        passed = None
    return ControlRow(
        name="nothing happened without a plan", passed=passed, detail=detail, decides=True
    )


def _derived(ran: Sequence[Ran], underived: Sequence[str]) -> ControlRow:
    """What a result says beyond the checker's verdict must follow from the trial's trace."""
    detail = f"{len(underived)} disagreements in {len(ran)} trials"
    if underived:
        detail += f"; first: {'; '.join(underived[:_SHOWN])}"
    return ControlRow(
        name="every result follows from its trace",
        passed=not underived if ran else None,
        detail=detail,
        decides=True,
    )


def _claims(ran: Sequence[Ran]) -> ControlRow:
    """No ledger or tool may say what is not so, but where a silent fault has misled it.

    A warning: an arm whose ledger errs is a finding, and what it did is counted from the world.
    """
    told = [f"{one.row.trial.trial_id} {text}" for one in ran for text in one.facts.claims]
    detail = f"{len(told)} false claims in {len(ran)} trials"
    if told:
        detail += f"; first: {'; '.join(told[:_SHOWN])}"
    return ControlRow(
        name="ledger claims hold against the history",
        passed=not told if ran else None,
        detail=detail,
    )


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
            detail = f"{arm}: SR {calm:.1%} without faults, {stressed:.1%} with the most"
            return ControlRow(name=title, passed=stressed < calm if calm else None, detail=detail)
    return ControlRow(name=title, passed=None, detail="no no_retry arm at rate 0 and above")


def _blind_resend_caught(
    prereg: Preregistration, by_arm: Mapping[str, Sequence[TrialResult]]
) -> ControlRow:
    """The known-bad arm must be seen repeating itself, wherever an effect's answer was lost.

    Where the world refuses the repetition, it was still dispatched twice.
    """
    title = "the known-bad arm is caught duplicating"
    arms = [arm for arm in _of_strategy(prereg, "blind_resend") if by_arm.get(arm)]
    outcomes = [t.outcome for arm in arms for t in by_arm[arm] if t.rate > 0 and t.outcome]
    if not outcomes:
        return ControlRow(name=title, passed=None, detail="no blind_resend arm met a fault rate")
    lost = sum(o.lost_effects for o in outcomes)
    duplicates = sum(o.duplicates for o in outcomes)
    repeats = sum(o.duplicate_dispatches for o in outcomes)
    detail = (
        f"{', '.join(arms)}: {duplicates} duplicates and {repeats} repeated dispatches "
        f"after {lost} effects whose answer was lost"
    )
    if not lost:
        return ControlRow(name=title, passed=None, detail=f"{detail}: nothing could be duplicated")
    return ControlRow(name=title, passed=duplicates + repeats > 0, detail=detail)


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
