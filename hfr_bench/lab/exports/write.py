"""Exporting an experiment: its trials that count, written in one form into a new folder."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from hfr_bench.errors import BadInputError
from hfr_bench.lab.exports import inspect_log
from hfr_bench.lab.exports.atif import trajectory
from hfr_bench.lab.exports.otlp import request
from hfr_bench.lab.exports.outline import Outline, outline
from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.rounds import Counted
from hfr_bench.lab.spans import trial_spans
from hfr_bench.lab.telemetry import chosen_arms, counted


class Written(NamedTuple):
    """What an export came to."""

    trials: int
    files: int


def export(
    experiment: Experiment,
    form: str,
    to: Path,
    redactor: Redactor,
    arms: Sequence[str] = (),
) -> Written:
    """Write the trials that count, without controls; they need not be all there.

    Args:
        experiment: the frozen experiment.
        form: one of FORMS.
        to: a folder that is not there yet, or is empty.
        redactor: runs over every word that is written.
        arms: only these; none = all.

    Raises:
        BadInputError: an arm that is not registered, a folder in use, or no graded trial at all.
    """
    wanted = chosen_arms(experiment, arms)
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise BadInputError(f"{to} is in use: name a new folder, or an empty one")
    graded = (one for one in counted(experiment, wanted) if _graded(one))
    first = next(graded, None)
    if first is None:
        raise BadInputError(f"{experiment.path} holds no graded trial of {', '.join(wanted)} yet")
    to.mkdir(parents=True, exist_ok=True)
    return FORMS[form](experiment, _chain(first, graded), to, redactor)


def _graded(one: Counted) -> bool:
    last: Any = one.reading.events[-1].body
    return bool(last.type == "trial_ended" and last.result.outcome is not None)


def _chain(first: Counted, rest: Iterator[Counted]) -> Iterator[Counted]:
    yield first
    yield from rest


def _outline(one: Counted, redactor: Redactor) -> Outline:
    return outline(one.reading.events, redactor, one.reading.mark.mtime_ns)


def _atif(_: Experiment, trials: Iterator[Counted], to: Path, redactor: Redactor) -> Written:
    """`ARM/TRIAL.json`, a trajectory each."""
    count = 0
    for one in trials:
        made = trajectory(_outline(one, redactor))
        folder = to / one.row.trial.arm
        folder.mkdir(exist_ok=True)
        text = json.dumps(made, ensure_ascii=False, indent=1, allow_nan=False)
        (folder / f"{one.row.trial.trial_id}.json").write_text(text + "\n", encoding="utf-8")
        count += 1
    return Written(count, count)


def _inspect(
    experiment: Experiment, trials: Iterator[Counted], to: Path, redactor: Redactor
) -> Written:
    """`DATE_NAME_ARM.eval`, a log an arm: names that `inspect view` lists."""
    parts: dict[str, list[Outline]] = {}
    for one in trials:
        parts.setdefault(one.row.trial.arm, []).append(_outline(one, redactor))
    for arm, own in parts.items():
        date = re.sub(r"[:.+]", "-", min(trial.when(0) for trial in own)[:19])
        # Inspect takes a name apart at `_`: date, task, id.
        name = re.sub(r"[\W_]+", "-", f"{experiment.prereg.name}-{arm}")
        inspect_log.write(to / f"{date}_{name}_{arm_id(own[0])}.eval", experiment.prereg.name, own)
    return Written(sum(map(len, parts.values())), len(parts))


def arm_id(trial: Outline) -> str:
    """What tells logs of arms of like names apart."""
    return str(trial.started.arm_digest[:12])


def _otel(
    experiment: Experiment, trials: Iterator[Counted], to: Path, redactor: Redactor
) -> Written:
    """`traces.jsonl`, a request of a collector's a line."""
    provider, count = experiment.prereg.model.llm, 0
    with (to / "traces.jsonl").open("w", encoding="utf-8") as file:
        for one in trials:
            spans = trial_spans(
                one.reading.events,
                redactor,
                provider=provider,
                end_ns=one.reading.mark.mtime_ns,
            )
            file.write(json.dumps(request(spans), ensure_ascii=False, allow_nan=False) + "\n")
            count += 1
    return Written(count, 1)


FORMS: Final[dict[str, Callable[[Experiment, Iterator[Counted], Path, Redactor], Written]]] = {
    "atif": _atif,
    "inspect": _inspect,
    "otel": _otel,
}
"""The forms that there are, by name."""
