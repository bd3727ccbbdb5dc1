"""What is found out about a trial file, once: read, checked, audited, held against itself.

Everything that the report and `status` say of a trial comes from its `Facts`, which follow from
the file, the plan, the schedule and the fault kinds alone, so that an index may keep them.
"""

import gc
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from hfr_bench.faults.agenda import Agenda
from hfr_bench.faults.audit import TrialAudit, audit
from hfr_bench.faults.observe import observe
from hfr_bench.lab.believed import Believed, believed
from hfr_bench.lab.calm import live_fork
from hfr_bench.lab.decode import BODIES
from hfr_bench.lab.divergence import Course, path
from hfr_bench.lab.forks import state_at
from hfr_bench.lab.history import false_claims
from hfr_bench.lab.joint import Joint, joint
from hfr_bench.lab.measure import measures
from hfr_bench.lab.prefixed import Prefixed, prefixed
from hfr_bench.lab.rederive import disagreements
from hfr_bench.lab.store import BadLine, Checked, Reading, TrialFile
from hfr_bench.model.measures import Measures
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.schedule import FaultSchedule, KindSpec
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.trial import PlanRow, Trial

# What a control may differ in from its twin: where it was planned and run, not how it went.
_PLACE = frozenset(
    {
        "cohort_id",
        "image_id",
        "injected",
        "pair_group",
        "profile",
        "round",
        "sandbox",
        "schedule_digest",
        "trial_id",
    }
)
# Bodies that have such a field, or the result, which has them.
_PLACED = frozenset(
    body.model_fields["type"].default
    for body in BODIES
    if {*_PLACE, "result"} & {*body.model_fields}
)
_BODY = b',"body":'  # stands between no quotes of a line's head: no id has one


@contextmanager
def collector_paused() -> Iterator[None]:
    """No search for reference cycles: all that is made here stays, and is searched in vain.

    A fifth of the time on 20,000 trials.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Start(NamedTuple):
    """What a trace's first line says of where it ran."""

    sandbox: str
    image_id: str | None
    pair_group: str
    round: int
    replayed: bool = False


class Facts(NamedTuple):
    """All that is known of one trial file.

    `bad`: every line that cannot be read, whoever found it. `start` None without a first line.
    `audit` is empty for a file outside the plan. `underived`: results that do not follow from the
    trace; looked for in whole traces. `behaviour`: of controls and their twins, else "". `path`:
    the steps, for where arms part. `claims`: what a ledger or a tool said that was not so, where no
    silent fault had misled it. `fork`: the state in which it met the fork of its schedule, or "".
    `joint`: the trial's share in its cohort, where it has one. `organic`: errors of the model
    service that were absorbed, and attempts lost to them. `measures`: of whole traces. `models`:
    model asked for, name that came back, how often. `believed`: what faults were taken for.
    `prefixed`: what it was played of a live fork's calm trial.
    """

    checked: Checked
    bad: tuple[BadLine, ...] = ()
    start: Start | None = None
    audit: TrialAudit = TrialAudit("", {})
    underived: tuple[str, ...] = ()
    behaviour: str = ""
    path: Course = Course((), None)
    claims: tuple[str, ...] = ()
    fork: str = ""
    joint: Joint | None = None
    organic: tuple[int, int] = (0, 0)
    measures: Measures = Measures()
    models: tuple[tuple[str, str, int], ...] = ()
    believed: Believed = ()
    prefixed: Prefixed = Prefixed()

    @property
    def flaws(self) -> tuple[BadLine, ...]:
        """Every line that cannot be read, once, in order."""
        found = {line.line: line for line in (*self.bad, *self.checked.bad)}
        return tuple(found[number] for number in sorted(found))


class Ingest:
    """Makes facts of the trial files of one experiment.

    Args:
        prereg: for the prices that results are held to.
        rows: the plan, control trials included.
        schedules: a schedule by its id (its errors pass through).
        kinds: fault kinds by name, as at freezing.
    """

    def __init__(
        self,
        prereg: Preregistration,
        rows: Sequence[PlanRow],
        schedules: Callable[[str], FaultSchedule],
        kinds: Mapping[str, KindSpec],
    ) -> None:
        self.prereg = prereg
        self.kinds = kinds
        self.planned = {(row.trial.pair_group, row.trial.arm): row for row in rows}
        twins = {place(row.trial) for row in rows if row.control is not None}
        self._twins = {key for key, row in self.planned.items() if place(row.trial) in twins}
        self._masking = {arm.name for arm in prereg.arms if arm.masks}
        self._played = live_fork(prereg)
        self._tool_us = round(prereg.tool_price.latency_s * 1_000_000)
        # Pair groups that share a schedule lie together in the plan, and are read in its order.
        self._agenda = lru_cache(maxsize=16)(lambda name: Agenda(schedules(name)))

    def order(self, file: TrialFile) -> int:
        """A file's place in the plan; those outside it come last."""
        row = self.planned.get((file.group, file.arm))
        return len(self.planned) if row is None else row.order

    def of(self, reading: Reading) -> Facts:
        """The facts of one file."""
        checked, key = reading.checked, (reading.checked.file.group, reading.checked.file.arm)
        row = self.planned.get(key)
        first = reading.events[0].body if reading.events else None
        start = None
        if first is not None and first.type == "trial_started":
            start = Start(*(getattr(first, name) for name in Start._fields))
        if row is None:
            return Facts(checked, reading.bad, start)
        trial, whole = row.trial, checked.result is not None
        agenda = self._agenda(trial.schedule_id)
        found = audit(
            reading.events,
            agenda,
            self.kinds,
            arm=trial.arm,
            injected=trial.injected,
            tool_latency_us=self._tool_us,
            masks=trial.arm in self._masking,
        )
        return Facts(
            checked,
            reading.bad,
            start,
            self._observed(reading, found),
            disagreements(reading.events, trial, self.prereg.human) if whole else (),
            self._behaviour(reading, trial) if whole and key in self._twins else "",
            path(reading.events),
            false_claims(reading.events) if whole and not self._misled(found) else (),
            state_at(reading.events, found.meetings, agenda.fork) if agenda.fork else "",
            joint(reading.events),
            organic(reading.events),
            self._measures(reading, found),
            models(reading.events),
            believed(reading.events, found.meetings),
            prefixed(reading.events) if self._played else Prefixed(),
        )

    def _measures(self, reading: Reading, found: TrialAudit) -> Measures:
        result = reading.checked.result
        if result is None:
            return Measures()
        return measures(reading.events, found.meetings, result, self.kinds)

    def _misled(self, found: TrialAudit) -> bool:
        """Whether the trial met a fault that gives no error: then even an honest ledger errs."""
        return any(one.reached and self.kinds[kind].silent for (_, kind), one in found.sums.items())

    def _observed(self, reading: Reading, found: TrialAudit) -> TrialAudit:
        """The audit with its observation points, and without what only they are made of."""
        sums = dict(found.sums)
        for key, points in observe(reading.events, found.meetings, self.kinds).items():
            sums[key] = sums[key]._replace(observed=points)
        return found._replace(sums=sums, deliveries=(), meetings=())

    @staticmethod
    def _behaviour(reading: Reading, trial: Trial) -> str:
        if reading.bad:  # like nothing else
            return f"unreadable: {reading.sha256}"
        return behaviour(reading.lines, reading.events, trial.trial_id)


def organic(events: Iterable[TraceEvent]) -> tuple[int, int]:
    """Errors of the model service that were absorbed, and attempts that got no answer in the end.

    Told apart by id: what was injected has an injection's, and neither of these has one.
    """
    hits = [event.body for event in events if event.body.type == "upstream_hit"]
    return sum(hit.absorbed for hit in hits), sum(hit.organic for hit in hits)


def models(events: Iterable[TraceEvent]) -> tuple[tuple[str, str, int], ...]:
    """Which models were asked, and under which names they answered, as the arm saw it."""
    asked, found = dict[tuple[int, int], str](), Counter[tuple[str, str]]()
    for event in events:
        body: Any = event.body
        kind = body.type
        if kind == "attempt_started":
            asked[event.step, event.attempt] = body.target
        elif kind == "attempt_ended" and body.returned_model:
            found[asked.get((event.step, event.attempt), ""), body.returned_model] += 1
    return tuple((*names, n) for names, n in sorted(found.items()))


def place(trial: Trial) -> tuple[str, str]:
    """Where a trial stands but for being a control: twins share it."""
    return trial.schedule_id, trial.arm


def behaviour(lines: Sequence[bytes], events: Sequence[TraceEvent], trial_id: str) -> str:
    """SHA-256 over what a trial did: its lines without place, measured time and gateway hits.

    `events`: of the lines, one each. `trial_id` is taken out wherever it occurs: operations are
    named after their trial.
    """
    whole, own = hashlib.sha256(), trial_id.encode()
    for line, event in zip(lines, events, strict=True):
        kind, at = event.body.type, line.find(_BODY)
        if kind == "upstream_hit":
            continue
        whole.update(b"%d %d %d %d" % (event.v, event.t_us, event.step, event.attempt))
        # Only first and last line tell of their place, within: what else is said counts as written.
        said = line[at:] if at > 0 and kind not in _PLACED else _unplaced(line)
        whole.update(said.replace(own, b"") + b"\n")
    return whole.hexdigest()


def _unplaced(line: bytes) -> bytes:
    body = _parsed(line)["body"]
    _forget_place(body)
    _forget_place(body.get("result"))
    return msgspec.json.encode(body, order="sorted")


def _parsed(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:  # what only Python's parser takes, such as NaN
        return json.loads(line)


def _forget_place(fields: Any) -> None:
    if isinstance(fields, dict):
        for key in _PLACE & fields.keys():
            del fields[key]
