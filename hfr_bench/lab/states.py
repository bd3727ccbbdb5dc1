"""The official verdict beside the state of the world: where a checker does not see all. Pure.

SWE-bench's tests see what they test; a line that a repeated command has put in twice may escape
them. Its twin without faults tells: same arm, task and seed, rate 0.
"""

from collections.abc import Iterable

from hfr_bench.model.report import StateRow
from hfr_bench.model.trial import TrialResult


def states(trials: Iterable[TrialResult]) -> tuple[StateRow, ...]:
    """One row a suite, arm and rate above 0; of suites in which the two come apart somewhere.

    `trials`: graded trials of the experiment, controls left out. One without a twin, or without a
    state, is in no row.
    """
    graded = [(_key(trial), trial) for trial in trials if trial.state_digest]
    twins = {key: trial.state_digest for key, trial in graded if trial.rate == 0 and trial.outcome}
    cells: dict[tuple[str, str, float], list[tuple[bool, bool]]] = {}
    for key, trial in graded:
        twin = twins.get(key) if trial.rate > 0 else None
        if twin is not None and trial.outcome is not None:
            official = trial.outcome.official == 1
            cell = cells.setdefault((trial.suite, trial.arm, trial.rate), [])
            cell.append((official, trial.state_digest == twin))
    rows = [_row(*where, found) for where, found in cells.items()]
    apart = {row.suite for row in rows if row.resolved_other}
    return tuple(row for row in rows if row.suite in apart)


def _key(trial: TrialResult) -> tuple[str, str, str, int]:
    return trial.suite, trial.arm, trial.task_id, trial.seed


def _row(suite: str, arm: str, rate: float, found: list[tuple[bool, bool]]) -> StateRow:
    return StateRow(
        suite=suite,
        arm=arm,
        rate=rate,
        trials=len(found),
        official=sum(official for official, _ in found),
        same=sum(same for _, same in found),
        resolved_other=sum(official and not same for official, same in found),
        same_failed=sum(same and not official for official, same in found),
    )
