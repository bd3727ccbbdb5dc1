"""Disagreements side by side: the timelines of both trials, step against step, as data of a page.

```
Report.disagreements -round robin-> pairs -traces-> two timelines -by coordinate-> rows of steps
```

Steps stand beside each other by point and occurrence, the coordinates that the schedule uses: what
was planned for one side was planned for the other. Texts that occur twice are kept once. Only what
a page shows is read, and no more than a budget of bytes goes in.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, NamedTuple, get_args

from hfr_bench.lab.rendering.disagree import shown
from hfr_bench.lab.store import TRIALS, Store, TrialFile
from hfr_bench.lab.timeline import StepLines, Timeline, What, timeline
from hfr_bench.model.findings import Disagreement, DisagreementRow
from hfr_bench.model.report import Report
from hfr_bench.model.schedule import FaultSchedule
from hfr_bench.model.trial import PlanRow

BUDGET = 2_500_000
"""Bytes of all timelines on a page; pairs for which there is no room are named, not shown."""
LINES = 240
"""Lines of one trial; what comes after them is left to `hfr-bench show`."""
BEFORE = 3
"""Steps that are shown before the first fault that either trial met."""
WHATS: tuple[str, ...] = get_args(What)
_DONE = ("try", "seen", "fault", "effect")
_KEY = re.compile(r", key [0-9a-f]+")

Row = tuple[int, int, int]
"""Index of the first arm's step and of the second's (-1: none); 1 if both asked and got alike."""


class Case(NamedTuple):
    """A pair on the page: its number in the data, None where there was no room for it."""

    row: DisagreementRow
    of: Disagreement
    number: int | None


class Sides(NamedTuple):
    """`data`: one JSON object (`page/report.js` reads it); `cases`: all pairs, in their order."""

    data: str
    cases: tuple[Case, ...]


NOTHING = Sides("", ())


def sides(
    report: Report,
    plan: Sequence[PlanRow],
    store: Store,
    schedules: Callable[[str], FaultSchedule],
    budget: int = BUDGET,
) -> Sides:
    """The timelines of the disagreements that a report shows.

    Args:
        report: its `disagreements` say which pairs.
        plan: for the schedule of each.
        store: the traces that the report was made from.
        schedules: a schedule by its id (its errors pass through).
        budget: bytes.
    """
    planned = {row.trial.trial_id: row.trial.schedule_id for row in plan}
    packed, cases, made = _Packed(), [], dict[str, Timeline | None]()
    for row, of in shown(report.disagreements):
        number = None
        if packed.size < budget:
            arms = (row.arm, of.ours.trial_id), (row.against, of.theirs.trial_id)
            for arm, trial in arms:
                if trial not in made:  # many a trial is in several contrasts
                    made[trial] = _told(store, of, arm, schedules(planned[trial]))
            both = [one for _, trial in arms if (one := made[trial]) is not None]
            number = packed.add(both[0], both[1]) if len(both) == len(arms) else None
        cases.append(Case(row, of, number))
    return Sides(packed.dumps(), tuple(cases)) if cases else NOTHING


def traces(report: Report) -> set[str]:
    """The names of the trace files that `sides` may read of an experiment with this report."""
    return {
        _name(of, arm) for row, of in shown(report.disagreements) for arm in (row.arm, row.against)
    }


def _name(of: Disagreement, arm: str) -> str:
    return f"{TRIALS}/{of.pair_group}/r{of.round}/{arm}.jsonl"


def _told(store: Store, of: Disagreement, arm: str, schedule: FaultSchedule) -> Timeline | None:
    path = store.folder / _name(of, arm)
    trace = store.trace(TrialFile(path, of.pair_group, of.round, arm))
    try:
        return timeline(trace.events, schedule)
    except ValueError:  # it does not begin as a trial does; the report's notes tell that
        return None


def aligned(ours: Sequence[StepLines], theirs: Sequence[StepLines]) -> list[Row]:
    """Steps of two trials side by side: what has the same title in the same order is one row.

    Alike is what asked, got and did the same. Where that holds to the end, so that the arms only
    ended otherwise, what they decided must be the same as well.
    """
    rows = list(_rows(ours, theirs, _DONE))
    parted = any(not same for _, _, same in rows)
    return rows if parted else list(_rows(ours, theirs, (*_DONE, "decide")))


def _rows(
    ours: Sequence[StepLines], theirs: Sequence[StepLines], whats: Sequence[str]
) -> Iterator[Row]:
    one, other = ([step.title for step in steps] for steps in (ours, theirs))
    for op, i, i_end, j, j_end in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if op == "equal":
            for k in range(i_end - i):
                same = _said(ours[i + k], whats) == _said(theirs[j + k], whats)
                yield i + k, j + k, int(same)
        else:
            yield from ((k, -1, 0) for k in range(i, i_end))
            yield from ((-1, k, 0) for k in range(j, j_end))


def _said(step: StepLines, whats: Sequence[str]) -> list[tuple[int, str, str, str]]:
    """A step's lines of some sorts; not when they came, nor under which key."""
    return [
        (line.attempt, line.what, _KEY.sub("", line.text), line.mark)
        for line in step.lines
        if line.what in whats
    ]


def cut(steps: Sequence[StepLines]) -> list[StepLines]:
    """Whole steps up to LINES lines; a first one that is longer by itself is cut, and says so."""
    kept, room = list[StepLines](), LINES
    for step in steps:
        if room < len(step.lines) and kept:
            break
        more = len(step.lines) - LINES
        end = f"{step.end}; {more} more line(s)" if more > 0 else step.end
        kept.append(step.model_copy(update={"lines": step.lines[:LINES], "end": end}))
        room -= len(step.lines)
    return kept


def _first_fault(made: Timeline) -> tuple[int, int] | None:
    """Index of the step with the first injected fault, and when it came."""
    for n, step in enumerate(made.steps):
        for line in step.lines:
            if line.mark == "injected":
                return n, line.t_us
    return None


@dataclass(slots=True)
class _Packed:
    """The data as it grows."""

    words: dict[str, int] = field(default_factory=dict)
    trials: dict[str, dict[str, Any]] = field(default_factory=dict)
    pairs: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0

    def add(self, ours: Timeline, theirs: Timeline) -> int:
        """Add a pair; returns its number."""
        for made in (ours, theirs):
            if made.trial_id not in self.trials:
                self.trials[made.trial_id] = self._trial(made)
                self.size += len(json.dumps(self.trials[made.trial_id], separators=(",", ":")))
        rows = aligned(ours.steps, theirs.steps)
        first, end = zip(*(self._kept(made) for made in (ours, theirs)), strict=True)
        kept = [
            (i, j, same)
            for i, j, same in rows
            if first[0] <= i < end[0] or first[1] <= j < end[1]
        ]  # fmt: skip
        self.pairs.append({"sides": [ours.trial_id, theirs.trial_id], "rows": kept})
        self.size += 9 * len(kept)
        return len(self.pairs) - 1

    def _kept(self, made: Timeline) -> tuple[int, int]:
        one = self.trials[made.trial_id]
        return one["from"], one["from"] + len(one["steps"])

    def _trial(self, made: Timeline) -> dict[str, Any]:
        """A trial from shortly before its first fault on, cut where it gets long."""
        fault = _first_fault(made)
        began = made.start.cohort.start_us if made.start.cohort is not None else 0
        first = max(0, fault[0] - BEFORE) if fault else 0
        zero = fault[1] if fault else began
        steps: list[Any] = []
        for step in cut(made.steps[first:]):
            told = [
                [round((line.t_us - zero) / 1000), line.attempt, WHATS.index(line.what),
                 self._word(line.text), self._word(line.mark)]
                for line in step.lines
            ]  # fmt: skip
            steps.append([self._word(step.title), self._word(step.end), told])
        return {
            "arm": made.start.arm,
            "zero": round((zero - began) / 1000) if fault else None,
            "from": first,
            "after": len(made.steps) - first - len(steps),
            "steps": steps,
        }

    def _word(self, text: str) -> int:
        if text not in self.words:
            self.words[text] = len(self.words)
            self.size += len(text) + 3
        return self.words[text]

    def dumps(self) -> str:
        data = {
            "what": WHATS,
            "words": list(self.words),
            "trials": self.trials,
            "pairs": self.pairs,
        }
        text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
        return text.replace("<", "\\u003c")  # nothing in it ends the element it stands in
