"""Level 4 of verification: a random sample of trials is run and graded again.

    bundle -> sample (keyed by a seed the verifier names) -> the trial, run here under its frozen
    schedule -> its trace, line by line, against the one in the bundle; its grade, from the world
    as it is left here, against the grade in the bundle

What no other level sees is seen here: a verdict of the checker, or a whole trace, made up with its
chain, report and seals. It takes the suites, and a rehearsal or a live run's recorded responses
(`lab.replay`): a live model answers otherwise.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from hfr_bench import __version__
from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.faults.draw import uniform
from hfr_bench.lab.register import Experiment, check_content, check_sources, load
from hfr_bench.lab.replay import recorded, strange, untimed
from hfr_bench.lab.rounds import Counted, last_rounds
from hfr_bench.lab.store import TrialFile, stripped
from hfr_bench.lab.trial import run_trial
from hfr_bench.lab.verification.files import Work, judge
from hfr_bench.lab.verification.frozen import read_frozen
from hfr_bench.lab.wire import Bench, Place, WorkerScope
from hfr_bench.model.bundle import AGAIN, SAMPLE, Check
from hfr_bench.model.terms import ClockKind, Origin

_TAPES = "recorded responses are those of their traces"
_PLACE = ("sandbox", "image_id")  # of the first line: where it ran, not what happened


Event = dict[str, Any]


class Sample(NamedTuple):
    """How many trials are run again, which ones, and where."""

    trials: int = SAMPLE
    seed: int = 0
    place: Place = Place()


class _Again(NamedTuple):
    """A trial: its name, where its two traces part (or ""), and its two grades (or "")."""

    name: str
    parted: str
    graded: str


def level_4(work: Work, sample: Sample) -> Iterator[Check]:
    """Run a sample again; checks are None where that cannot be done here, with the reason."""
    titles = ("trials run again go the same way", "worlds graded again get the same verdict")
    try:
        experiment = load(work.folder)
        drawn, of = _drawn(experiment, sample)
        if recorded(experiment):
            yield judge(AGAIN, _TAPES, list(strange(experiment)), "")
        place = replace(sample.place, seeds=read_frozen(work).content.seeds | dict(work.seeds))
        found = list(_run(experiment, drawn, place))
    except BadInputError as error:
        told = str(error).replace(f"{work.folder}/", "").replace(str(work.folder), "the bundle")
        yield from (Check(level=AGAIN, check=title, ok=None, detail=told) for title in titles)
        return
    said = f"{len(found)} of {of} trials, seed {sample.seed}"
    for title, wrong in zip(
        titles,
        (
            [f"{one.name}: {one.parted}" for one in found if one.parted],
            [f"{one.name}: {one.graded}" for one in found if one.graded],
        ),
        strict=True,
    ):
        yield judge(AGAIN, title, wrong, said + _versions(work))


def _versions(work: Work) -> str:
    made = work.says.harness_version
    return "" if made == __version__ else f"; made by {made}, again by {__version__}"


def _drawn(experiment: Experiment, sample: Sample) -> tuple[list[Counted], int]:
    """The sample and how many trials it is of. Raises BadInputError if none can be run again."""
    if experiment.prereg.origin is not Origin.REHEARSAL and not recorded(experiment):
        raise BadInputError(
            f"a {experiment.prereg.origin} trial cannot be run again: its model answers otherwise "
            "each time, and the bundle is without its recorded responses (--with-cassettes)"
        )
    # What was handed on to later places of a cohort is nowhere but in their traces.
    able = [
        one for group in last_rounds(experiment) for one in group if one.row.trial.position <= 1
    ]
    if not able:
        raise BadInputError("there is no finished trial")
    able.sort(key=lambda one: uniform("verify", sample.seed, one.row.trial.trial_id))
    return able[: sample.trials], len(able)


def _run(experiment: Experiment, drawn: Sequence[Counted], place: Place) -> Iterator[_Again]:
    faults, timed = check_content(experiment), experiment.prereg.clock is ClockKind.VIRTUAL
    if recorded(experiment):
        place, timed = replace(place, replay=experiment.path), False
    with (
        tempfile.TemporaryDirectory(prefix="hfr-again-") as name,
        Bench(
            experiment.prereg, experiment.book, replace(place, folder=Path(name)), faults=faults
        ) as bench,
    ):
        check_sources(experiment, bench)
        bench.reap()
        bench.serve()
        with WorkerScope(bench) as scope:
            for number, one in enumerate(drawn, 1):
                place.tell(f"{number}/{len(drawn)} {one.row.trial.trial_id}")
                file = TrialFile(Path(name) / f"{number}.jsonl", "", 1, one.row.trial.arm)
                result = run_trial(scope, one.row, one.reading.checked.file.round, file.path)
                if result.outcome is None:
                    raise InfrastructureError(
                        f"{result.trial_id}, run again, measured nothing: {result.void_reason}"
                    )
                yield _compared(one, file, _line if timed else untimed)


def _compared(one: Counted, again: TrialFile, read: Callable[[bytes], Event]) -> _Again:
    trial = one.row.trial
    name = f"{trial.suite} {trial.task_id}, seed {trial.seed}, {trial.rate:g}, {trial.arm}"
    said = [read(line) for line in one.reading.lines]
    made = [read(line) for line in again.path.read_bytes().splitlines()]
    return _Again(name, _parted(said, made), _graded(said[-1], made[-1]))


def _line(line: bytes) -> Event:
    """A line without measured time, chain and place."""
    event: Event = json.loads(stripped(line))
    body = event["body"]
    if body["type"] == "trial_started":
        event["body"] = {key: value for key, value in body.items() if key not in _PLACE}
    return event


def _parted(said: list[Event], made: list[Event]) -> str:
    for number, (one, other) in enumerate(zip(said, made, strict=False), 1):
        if one != other:
            return f"line {number}: {_differ(one, other)}"
    if len(said) != len(made):
        return f"it has {len(said)} lines, run again {len(made)}"
    return ""


def _differ(said: Event, made: Event) -> str:
    """What differs in a line, in words."""
    one, other = ({**event, **event["body"]} for event in (said, made))
    if one["type"] != other["type"]:
        return f"it is {one['type']}, run again {other['type']}"
    keys = [key for key in one.keys() | other.keys() if key != "body"]
    told = [
        f"{key} is {_short(one.get(key))}, run again {_short(other.get(key))}"
        for key in sorted(keys)
        if one.get(key) != other.get(key)
    ]
    return f"{one['type']}: {'; '.join(told)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _graded(said: Event, made: Event) -> str:
    """Where the checker's verdicts differ, in words."""
    names = ("official", "goal_met")
    one, other = _outcome(said), _outcome(made)
    told = [
        f"{name} is {one.get(name)}, graded again {other.get(name)}"
        for name in names
        if one.get(name) != other.get(name)
    ]
    return ", ".join(told)


def _outcome(event: Event) -> Event:
    result = event["body"].get("result") or {}
    return result.get("outcome") or {}
