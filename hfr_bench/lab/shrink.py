"""From a trial that broke to the smallest schedule under which it breaks the same way, as a case.

The trial is run again under ever smaller schedules (`faults.shrinking`), outside the plan, in a
folder of its own: nothing is written into the experiment. That needs trials that go the same way
twice, so a rehearsal's; the whole schedule is played first, and must break it again. A case holds
all that it takes to play it once more, on another machine, without the experiment.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import yaml

from hfr_bench import __version__, content
from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.faults.shrinking import TRIALS, Events, Shrunk, shrink
from hfr_bench.lab.book import ScheduleBook
from hfr_bench.lab.offer import Faults
from hfr_bench.lab.register import Experiment, check_content, check_sources
from hfr_bench.lab.store import Store, TrialFile
from hfr_bench.lab.trial import run_trial
from hfr_bench.lab.wire import Bench, Place, WorkerScope
from hfr_bench.model.matrix import FaultMatrix
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.record import Record, short_id, text_digest
from hfr_bench.model.schedule import FaultSchedule, KindSpec
from hfr_bench.model.terms import End, Origin
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.trial import Outcome, PlanRow, Trial, TrialResult

Still = Literal["harm", "failure", "escalation"]
HARMS = ("duplicates", "unwanted", "partial")


class Break(Record):
    """How a trial broke. `still`: what must stay so while its schedule is made smaller.

    `harm`: every sort of `harms` is done; `failure`: it does not succeed, with this `end` and this
    `goal_met`; `escalation`: a person is called.
    """

    still: Still
    harms: tuple[str, ...] = ()
    end: End
    goal_met: bool

    def again(self, outcome: Outcome) -> bool:
        """Whether a trial with this outcome broke in the same way."""
        if self.still == "harm":
            return all(getattr(outcome, name) for name in self.harms)
        if self.still == "escalation":
            return outcome.escalated
        same = (outcome.end, outcome.goal_met) == (self.end, self.goal_met)
        return same and not outcome.succeeded

    def __str__(self) -> str:
        """In words."""
        if self.still == "harm":
            return f"harm ({', '.join(self.harms)})"
        goal = "goal met" if self.goal_met else "goal not met"
        return self.still if self.still == "escalation" else f"failure (end {self.end}, {goal})"


class Case(Record):
    """A trial under the smallest schedule that still breaks it; one YAML file.

    `trial`: as planned, under the schedule that is left. `faults`: how many there were before.
    `kinds`: digests of the fault kinds that are left. `tried`: trials that it took; `minimal`:
    False where more would have been needed. `own_kinds`, `matrix`: where some are not ours, what
    the registration's matrix names.
    """

    trial: Trial
    expected: Break
    schedule: FaultSchedule
    faults: int
    tried: int
    minimal: bool
    kinds: dict[str, str] = {}
    harness_version: str
    own_kinds: dict[str, KindSpec] = {}
    matrix: FaultMatrix | None = None
    prereg: Preregistration

    def holding(self, faults: Faults) -> "Case":
        """The case, with kinds and matrix in it where some are not ours."""
        if not faults.whose:
            return self
        return self.model_copy(update={"own_kinds": faults.foreign, "matrix": faults.matrix})

    def text(self) -> str:
        """The file. Of the registration, what was said in it."""
        ours = {"own_kinds", "matrix"} if self.matrix is None else set()
        data = self.model_dump(mode="json", exclude={"prereg", *ours})
        data["prereg"] = self.prereg.model_dump(mode="json", exclude_unset=True)
        return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)


class Played(NamedTuple):
    """A case that was played: its result, its trace, and whether it broke as expected.

    `notes`: what is no longer as it was when the case was made.
    """

    case: Case
    result: TrialResult
    events: tuple[TraceEvent, ...]
    broke: bool
    notes: tuple[str, ...] = ()


def how_it_broke(outcome: Outcome, still: Still | None = None) -> Break:
    """How a trial broke; without `still` by the worst. Raises BadInputError if it did not."""
    harms = tuple(name for name in HARMS if getattr(outcome, name))
    shown: list[Still] = ["harm"] if harms else []
    shown += ["escalation"] if outcome.escalated else []
    shown += [] if outcome.succeeded else ["failure"]
    if not shown:
        raise BadInputError("the trial did no harm and succeeded: there is nothing to shrink")
    if still is not None and still not in shown:
        raise BadInputError(f"the trial shows no {still}, it shows: {', '.join(shown)}")
    return Break(still=still or shown[0], harms=harms, end=outcome.end, goal_met=outcome.goal_met)


def smallest(
    experiment: Experiment,
    row: PlanRow,
    file: TrialFile,
    *,
    still: Still | None = None,
    most: int = TRIALS,
    place: Place | None = None,
) -> Played:
    """Shrink a trial's schedule, and play what is left.

    Args:
        experiment: the frozen experiment.
        row: the planned trial.
        file: its trace, which says how it broke.
        still: what must stay so; None: the worst of what it shows.
        most: so many trials at the most.
        place: what the registration does not fix. Its `tell` hears of each step.

    Raises:
        BadInputError: a live trial, one without faults or harm, or one that does not break again.
        InfrastructureError: a trial measured nothing.
    """
    place = place or Place(experiment.path)
    expected = _broke(experiment, row, file, still)
    faults = check_content(experiment)
    whole = experiment.book.schedule(row.trial.schedule_id)
    with _stage(experiment.prereg, row.trial, whole, place, faults) as stage:
        check_sources(experiment, stage.bench)
        first, events = stage.play(whole)
        if not expected.again(_outcome(first)):
            raise BadInputError(
                f"trial {row.trial.trial_id} broke by {expected}, but not when it was run again "
                "under the same schedule: what goes another way each time cannot be shrunk"
            )
        left = _left(stage, whole, _met(events), expected, most, place.tell)
        schedule = reduced(whole, left.events)
        case = Case(
            trial=_under(row.trial, schedule),
            expected=expected,
            schedule=schedule,
            faults=len(whole.events),
            tried=left.tried + 1,
            minimal=left.minimal,
            kinds={e.kind: faults.kinds[e.kind].digest() for e in schedule.events},
            harness_version=__version__,
            prereg=experiment.prereg,
        )
        return _played(stage, case.holding(faults))


def replay(case: Case, place: Place | None = None) -> Played:
    """Play a case again. Raises BadInputError if it has been changed, or its parts are not here."""
    trial, schedule = case.trial, case.schedule
    if case.prereg.digest() != trial.prereg_digest:
        raise BadInputError("the case's registration is not the one of its trial")
    if text_digest(schedule.dumps()) != trial.schedule_digest:
        raise BadInputError("the case's schedule is not the one of its trial")
    own, faults = case.own_kinds, None
    if case.matrix is not None:
        faults = Faults(content.kinds() | own, case.matrix, dict.fromkeys(own, "the case"))
    with _stage(case.prereg, trial, schedule, place or Place(), faults) as stage:
        return _played(stage, case)


def read_case(path: Path) -> Case:
    """Read a case. Raises BadInputError naming each wrong key."""
    return content.read_record(path, Case)


def reduced(schedule: FaultSchedule, events: Events) -> FaultSchedule:
    """The schedule with those events only, under a name of its own."""
    if events == schedule.events:
        return schedule
    lines = [event.dumps() for event in events]
    name = short_id({"of": schedule.schedule_id, "events": lines})
    return schedule.model_copy(update={"schedule_id": name, "events": events})


# -- on stage -------------------------------------------------------------------------------------


class _GrowingBook(ScheduleBook):
    """Takes schedules that nobody has frozen. Never empty: an empty book counts as none."""

    def add(self, schedule: FaultSchedule) -> None:
        self._lines[schedule.schedule_id] = schedule.dumps()


@dataclass(slots=True)
class _Stage:
    """One trial, played again and again."""

    bench: Bench
    trial: Trial
    _scope: WorkerScope
    _book: _GrowingBook
    _folder: Path
    _plays: int = field(default=0)

    def play(self, schedule: FaultSchedule) -> tuple[TrialResult, tuple[TraceEvent, ...]]:
        """The trial under a schedule. Raises InfrastructureError if it measured nothing."""
        self._plays += 1
        self._book.add(schedule)
        row = PlanRow(order=self._plays, trial=_under(self.trial, schedule))
        file = TrialFile(self._folder / f"{self._plays}.jsonl", "", 1, row.trial.arm)
        result = run_trial(self._scope, row, 1, file.path)
        if result.outcome is None:
            raise InfrastructureError(
                f"{row.trial.trial_id} measured nothing: {result.void_reason}"
            )
        events = Store(self._folder).trace(file).events
        file.path.unlink()
        return result, events


@contextmanager
def _stage(
    prereg: Preregistration,
    trial: Trial,
    schedule: FaultSchedule,
    place: Place,
    faults: Faults | None,
) -> Iterator[_Stage]:
    """A bench for one trial."""
    _check_rehearsal(prereg)
    book = _GrowingBook([schedule.dumps()])
    with (
        tempfile.TemporaryDirectory(prefix="hfr-shrink-") as name,
        Bench(prereg, book, place, faults=faults) as bench,
    ):
        bench.reap()
        _check_known(bench, trial)
        bench.serve()
        with WorkerScope(bench) as scope:
            yield _Stage(bench, trial, scope, book, Path(name))


def _left(
    stage: _Stage,
    whole: FaultSchedule,
    met: tuple[str, ...],
    expected: Break,
    most: int,
    tell: Callable[[str], None],
) -> Shrunk:
    """The events that are left of a schedule under which the trial breaks."""

    def breaks(some: Events) -> bool:
        result, _ = stage.play(reduced(whole, some))
        if broke := expected.again(_outcome(result)):
            tell(f"still {expected.still} under {len(some)} of {len(whole.events)} faults")
        return broke

    return shrink(whole.events, breaks, met=met, kinds=stage.bench.kinds, most=most)


def _check_rehearsal(prereg: Preregistration) -> None:
    if prereg.origin is not Origin.REHEARSAL:
        raise BadInputError(
            f"a {prereg.origin} trial cannot be shrunk or played again: its model answers "
            "otherwise each time. Shrink a rehearsal of it (`origin: rehearsal`)"
        )


def _check_known(bench: Bench, trial: Trial) -> None:
    if (trial.suite, trial.task_id) not in bench.tasks:
        raise BadInputError(f"{trial.suite} has no task {trial.task_id!r} here")
    if trial.arm not in [arm.name for arm in bench.prereg.arms]:
        raise BadInputError(f"no arm {trial.arm!r} is registered here")


def _played(stage: _Stage, case: Case) -> Played:
    now = stage.bench.kinds
    if missing := sorted(set(case.kinds) - set(now)):
        raise BadInputError(f"there is no fault kind {missing[0]!r} here")
    notes = [
        f"the fault kind {name!r} is not the one that the case was made with"
        for name, digest in case.kinds.items()
        if now[name].digest() != digest
    ]
    if case.harness_version != __version__:
        notes.append(f"the case was made by version {case.harness_version}, this is {__version__}")
    result, events = stage.play(case.schedule)
    return Played(case, result, events, case.expected.again(_outcome(result)), tuple(notes))


def _broke(experiment: Experiment, row: PlanRow, file: TrialFile, still: Still | None) -> Break:
    """How the trial broke, by its trace. Raises BadInputError for what cannot be shrunk."""
    _check_rehearsal(experiment.prereg)
    if row.trial.position > 1:
        raise BadInputError(
            f"trial {row.trial.trial_id} is number {row.trial.position} of its cohort: what those "
            "before it have handed on cannot be replayed; only a cohort's first trial can be shrunk"
        )
    if not row.trial.injected:
        raise BadInputError(f"trial {row.trial.trial_id} ran with the injectors taken out")
    result = Store(experiment.path).check(file).result
    if result is None:
        raise BadInputError(f"{file.path}: the trace is not whole; run the experiment again")
    if result.outcome is None:
        raise BadInputError(f"{file.path}: void ({result.void_reason}), it measured nothing")
    return how_it_broke(result.outcome, still)


def _under(trial: Trial, schedule: FaultSchedule) -> Trial:
    update = {
        "schedule_id": schedule.schedule_id,
        "schedule_digest": text_digest(schedule.dumps()),
    }
    return trial.model_copy(update=update)


def _met(events: Sequence[TraceEvent]) -> tuple[str, ...]:
    """The events that the trial came to, by the injectors' own marks: a hint, nothing more."""
    marks = (getattr(event.body, "injection_id", None) for event in events)
    return tuple(dict.fromkeys(mark for mark in marks if mark))


def _outcome(result: TrialResult) -> Outcome:
    assert result.outcome is not None, "what measured nothing was told before"
    return result.outcome
