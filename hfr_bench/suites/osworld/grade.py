"""Grading an episode by a task's evaluator, with upstream's rules.

```
infeasible       1 if the last action is FAIL, else 0
FAIL otherwise   0, however honest: that an escalation is no failure, others say
one metric       its score
and              0 as soon as one is 0, else the mean
or               1 as soon as one is 1, else the best
file not found   that metric is 0
```
Where upstream's evaluator raises, it has no verdict; here that is a 0, and `error` says why.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.suites.osworld.errors import UngradeableError
from hfr_bench.suites.osworld.evaluator import Evaluator, Part, read_evaluator
from hfr_bench.suites.osworld.getters import GETTERS
from hfr_bench.suites.osworld.metrics import METRICS
from hfr_bench.suites.osworld.needs import Upstream, lacking, own
from hfr_bench.suites.osworld.setup import StepError, run_steps
from hfr_bench.suites.osworld.world import World, gave_up


@dataclass(frozen=True, slots=True)
class Check:
    """What one metric said; `why` says what kept it from a score, or which rule gave it."""

    metric: str
    score: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Grade:
    """A verdict. `score`: 0 to 1, None if nothing could grade it (`ungradeable` says why).

    `error`: what the evaluator stumbled over; the score is then 0. `notes`: steps before the
    grading that did not work, which upstream lets be.
    """

    score: float | None
    checks: tuple[Check, ...] = ()
    error: str = ""
    ungradeable: str = ""
    notes: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """Whether the task is done, whole."""
        return self.score == 1.0


class _MetricError(Exception):
    """A metric or getter raised, as upstream's would."""


def grade(
    evaluator: Mapping[str, Any],
    world: World,
    upstream: Upstream | None = None,
    assets: Path | None = None,
) -> Grade:
    """The verdict on a world. Files are fetched into the task's cache; the guest is only asked.

    `upstream`: grades what ours does not; `assets`: see `run_steps`. Raises BadInputError: the
    evaluator is malformed; InfrastructureError: the guest does not answer, so nothing is known.
    """
    read = read_evaluator(evaluator)
    absent = lacking(read, upstream)
    if absent:
        return Grade(None, ungradeable="; ".join(absent))
    try:
        notes = run_steps(read.postconfig, world, assets, lenient=True)
    except UngradeableError as error:
        return Grade(None, ungradeable=str(error))
    except StepError as error:
        return Grade(0.0, error=f"before the grading: {error}")
    if not read.feasible or gave_up(world):
        return _given_up(read, world, notes)
    checks: list[Check] = []
    try:
        score = _joined(read, world, upstream, checks)
    except UngradeableError as error:
        return Grade(None, tuple(checks), ungradeable=str(error), notes=notes)
    except _MetricError as error:
        return Grade(0.0, tuple(checks), error=str(error), notes=notes)
    return Grade(min(1.0, max(0.0, score)), tuple(checks), notes=notes)


def _given_up(read: Evaluator, world: World, notes: tuple[str, ...]) -> Grade:
    score = float(gave_up(world) is not read.feasible)
    why = "FAIL" if gave_up(world) else "no FAIL"
    name = "feasible" if read.feasible else "infeasible"
    return Grade(score, (Check(name, score, why),), notes=notes)


def _joined(read: Evaluator, world: World, upstream: Upstream | None, checks: list[Check]) -> float:
    """The score of all parts; each is put into `checks` as it is known."""
    for part in read.parts:
        check = _check(part, world, upstream)
        checks.append(check)
        if read.many and read.conj == "and" and check.score == 0.0:
            return 0.0
        if read.many and read.conj == "or" and check.score == 1.0:
            return 1.0
    scores = [check.score for check in checks]
    return sum(scores) / len(scores) if read.conj == "and" else max(scores)


def _check(part: Part, world: World, upstream: Upstream | None) -> Check:
    try:
        result = GETTERS[part.result["type"]].get(world, part.result)
    except FileNotFoundError as error:
        return Check(part.metric, 0.0, str(error))
    except (UngradeableError, InfrastructureError):
        raise
    except Exception as error:  # what a task's own files make a getter do
        raise _MetricError(_said(part.result["type"], error)) from error
    try:
        score = _judged(part, result, world, upstream)
    except (UngradeableError, InfrastructureError):
        raise
    except Exception as error:  # upstream's metric would raise as well: there is no verdict
        raise _MetricError(_said(part.metric, error)) from error
    return Check(part.metric, score, "the guest gave nothing" if result is None else "")


def _judged(part: Part, result: Any, world: World, upstream: Upstream | None) -> float:
    given = [result]
    if part.expected is not None:
        given.append(GETTERS[part.expected["type"]].get(world, part.expected))
    if own(part):
        return float(METRICS[part.metric].judge(*given, **part.options))
    if upstream is None:
        raise BadInputError(f"no metric {part.metric!r}")  # `lacking` has said so
    expected = given[1] if part.expected is not None else None
    return float(upstream.judge(part.metric, result, expected, part.options))


def _said(what: str, error: Exception) -> str:
    return f"{what}: {type(error).__name__}: {error}"
