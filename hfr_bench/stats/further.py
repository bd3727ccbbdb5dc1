"""The metrics that need the trace or another trial beside the result (DESIGN §7).

The same two integer columns and folds as `stats.metrics`, over graded trials with what their
traces say (`Judged`). `docs/metrics.md` says what each one means, and has each as SQL.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hfr_bench.model.measures import CheckSums, Measures
from hfr_bench.model.terms import CheckLevel
from hfr_bench.model.trial import Outcome, TrialResult
from hfr_bench.stats.metrics import Column, Kind, Metric, OfShared, each, outcome, outcome_key

PPM = 1_000_000
"""The suite's own score in millionths, so that sums of it are exact."""


class Judged(NamedTuple):
    """A graded trial, its measures, and the fault-free twin of its arm (task and seed the same)."""

    result: TrialResult
    measures: Measures
    twin: TrialResult | None = None

    @property
    def suite(self) -> str:
        return self.result.suite

    @property
    def task_id(self) -> str:
        return self.result.task_id

    @property
    def seed(self) -> int:
        return self.result.seed

    @property
    def profile(self) -> str:
        return self.result.profile

    @property
    def outcome(self) -> Outcome:
        """Raises ValueError for a void."""
        return outcome(self.result)


Test = Callable[[Judged], bool]
Whole = Callable[[Judged], int | None]


def _met_key(trial: Judged) -> tuple[Any, ...]:
    """All that the tests below look at."""
    found = trial.measures
    return outcome_key(trial.result), found.met, found.person, found.safe_us is None


def _share(name: str, short: str, title: str, better: Any, test: Test) -> Metric:
    num = OfShared(_met_key, lambda t: int(test(t)))
    return Metric(name, short, title, Kind.PROPORTION, "share", better, num, each)


def _mean(
    name: str, short: str, title: str, unit: str, num: Whole, den: Any = each, per: str = "trials"
) -> Metric:
    return Metric(
        name, short, title, Kind.RATIO, unit, "lower", num, den, per,
        conditional=den is not each,
    )  # fmt: skip


def needed(trial: Judged) -> bool:
    """Handed over after a fault that leaves only a person."""
    return trial.outcome.escalated and trial.measures.person


def needless(trial: Judged) -> bool:
    """Handed over though nothing that it had met needed a person."""
    return trial.outcome.escalated and not trial.measures.person


def missed(trial: Judged) -> bool:
    """Met a fault that needs a person; neither handed over nor done without harm."""
    o = trial.outcome
    done = o.succeeded and o.harm == 0
    return trial.measures.person and not (o.escalated or done)


def never_safe(trial: Judged) -> bool:
    """Met a fault and did not get to a safe state."""
    return trial.measures.met and trial.measures.safe_us is None


def wasted(trial: Judged) -> int | None:
    """All that an unsuccessful trial cost; of a successful one, its attempts without an answer."""
    spent = trial.result.cost_microusd
    if spent is None or not trial.outcome.succeeded:
        return spent
    return trial.measures.unanswered_microusd


def ppm(trial: TrialResult) -> int:
    """The suite's own score in millionths."""
    return round(outcome(trial).official * PPM)


def _degraded(trial: Judged) -> int:
    return int(trial.outcome.degraded_steps > 0 and trial.twin is not None)


def _quality(trial: Judged) -> int:
    if trial.twin is None or not _degraded(trial):
        return 0
    return ppm(trial.result) - ppm(trial.twin)


def _twin_key(trial: Judged) -> tuple[Any, ...]:
    own = outcome(trial.result)
    theirs = None if trial.twin is None else outcome(trial.twin).official
    return own.official, own.degraded_steps > 0, theirs


def _checks() -> Iterable[Metric]:
    for level in CheckLevel:
        code = level.value.lower()
        for name, title, num, den, per in (
            ("alpha", "altered answers that the check let pass", "let", "altered",
             "altered answers checked"),
            ("beta", "unaltered answers that the check did not let pass", "barred", "intact",
             "unaltered answers checked"),
        ):  # fmt: skip
            yield Metric(
                f"{name}_{code}", f"{name} {level.value}", f"{title} ({level.value})",
                Kind.PROPORTION, "share", "lower", _checked(level, num), _checked(level, den), per,
                conditional=True,
            )  # fmt: skip


def _checks_key(trial: Judged) -> tuple[CheckSums, ...]:
    return trial.measures.checks


def _checked(level: CheckLevel, name: str) -> Column:
    """One of a level's sums; 0 where nothing was checked there, which is nearly always."""
    place = CheckSums._fields.index(name)

    def column(trial: Judged) -> int:
        for one in trial.measures.checks:
            if one.level is level:
                return int(one[place])
        return 0

    return OfShared(_checks_key, column)


_DEFINED: tuple[Metric, ...] = (
    _share("esc_needed", "Needed", "handed over after a fault that leaves only a person", "",
           needed),
    _share("esc_needless", "Needless", "handed over, and no fault that was met needed a person",
           "lower", needless),
    _share("esc_missed", "Missed", "met a fault that leaves only a person, and was neither handed "
           "over nor done without harm", "lower", missed),
    _share("never_safe", "Never safe", "met a fault, and did not end in a safe state", "lower",
           never_safe),
    _mean("safe_mean", "To safety", "mean time from the first fault to a safe state, people's "
          "delay included, of trials that got there", "us",
          lambda t: t.measures.safe_us or 0, lambda t: int(t.measures.safe_us is not None),
          "trials that met a fault and got safe"),
    _mean("wasted_mean", "Wasted", "mean money for nothing: all of trials without success, of the "
          "others the attempts without an answer", "microusd", wasted),
    _mean("wasted_share", "Wasted/spent", "money for nothing over all money", "ratio", wasted,
          lambda t: t.result.cost_microusd, "money"),
    _mean("tokens_mean", "Tokens", "mean tokens of a trial, in and out", "count",
          lambda t: t.result.tokens_in + t.result.tokens_out),
    _mean("calls_mean", "Calls", "mean calls of a trial: attempts, and reads for the strategy",
          "count", lambda t: t.result.attempts + t.result.reads),
    _mean("quality_delta", "Quality", "the suite's own score of degraded trials, minus that of "
          "their fault-free twins", "ppm", OfShared(_twin_key, _quality),
          OfShared(_twin_key, _degraded), "degraded trials with a twin"),
    *_checks(),
)  # fmt: skip

FURTHER: dict[str, Metric] = {metric.name: metric for metric in _DEFINED}

FURTHER_PAIRED = tuple(name for name, metric in FURTHER.items() if not metric.conditional)
"""Those with the same trials below the line in every arm."""
