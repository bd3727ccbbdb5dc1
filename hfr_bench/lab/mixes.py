"""What an experiment's single faults come to under a mix of faults: a range, with its intervals.

The answer is to first order: a trial's expectation is the fault-free one plus, for each kind, how
many such faults a trial is expected to have, times what one of them does. It holds while faults
are rare enough that two in one trial are rare. What no trial covers is named and counts as no
fault; nothing is scaled up to make good for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hfr_bench.errors import BadInputError
from hfr_bench.lab.singles import Singles
from hfr_bench.model.mix import WHOLE, Bounds, Calls, Category, FaultMix
from hfr_bench.model.mixed import LeftOut, MixAnswer, MixRow
from hfr_bench.model.schedule import KindSpec
from hfr_bench.model.terms import Layer, Origin
from hfr_bench.stats.bootstrap import Floats, Sample, resample
from hfr_bench.stats.bounds import bootstrapped, too_few_differ
from hfr_bench.stats.effects import (
    SHOWN,
    UNPRICED,
    Measured,
    Pairs,
    bounded,
    pairs,
    scarce,
)
from hfr_bench.stats.estimate import Setting
from hfr_bench.stats.metrics import METRICS, Kind, Metric
from hfr_bench.stats.mixing import Masses, Option, Part, Parts, lowest
from hfr_bench.stats.names import FEW, SAME, TOO_FEW, keyed

NOTHING = "?"
"""The key of what no kind of ours is like."""
REST = "faults that the mix does not tell of"
ONE = 1 + 1e-9
"""Measured faults a trial above which single faults tell nothing; exactly one is what they are."""
MANY = 0.2
"""Faults a trial above which two in one trial are no longer rare (one in fifty trials)."""


def check(mix: FaultMix, kinds: Mapping[str, KindSpec], where: str = "the mix") -> None:
    """Raises BadInputError for a kind that there is not, or that is of the other sort of calls."""
    for category in mix.faults:
        place = f"{where}: {category.what}"
        for kind in category.kinds:
            if kind not in kinds:
                offered = ", ".join(sorted(kinds))
                raise BadInputError(f"{place}: unknown fault kind {kind!r}; there are: {offered}")
            if _calls(kinds[kind]) != category.of:
                raise BadInputError(
                    f"{place}: {kind} is a fault of {_calls(kinds[kind])}, not of {category.of}; "
                    "tell it apart, with the other `of`"
                )


def _calls(kind: KindSpec) -> Calls:
    return "model_calls" if kind.layer is Layer.MODEL else "tool_calls"


class _Terms(NamedTuple):
    """A mix made ready: its parts, and how many calls there are, in all and in each resample."""

    mix: FaultMix
    parts: Parts
    calls: Mapping[str, float]
    drawn: Mapping[str, Floats | float]

    def per_trial(self, n: int) -> float:
        """How many faults of a part a trial has for a mass of 1."""
        return self.calls[self.mix.faults[n].of] if self.counted else 1.0

    @property
    def counted(self) -> bool:
        """Whether masses are fractions of calls; else they are shares of one fault."""
        return not self.mix.of_shares or self.mix.overall is not None


def answer(
    mix: FaultMix,
    found: Singles,
    kinds: Mapping[str, KindSpec],
    setting: Setting,
    arms: Sequence[str],
    baseline: str,
    origin: Origin,
) -> MixAnswer:
    """Reweight single faults by a mix.

    Args:
        mix: checked against the kinds (`check`).
        found: the experiment's trials with one fault, and without any.
        kinds: fault kinds by name.
        setting: weights and level, as for every other number of the report.
        arms: in the order of the report.
        baseline: the arm that the others are paired with.
        origin: of the experiment.
    """
    terms = _terms(mix, found, kinds, setting)
    covered = {single.key for single in found.singles}
    least = lowest(terms.parts, lambda n, _: terms.per_trial(n))
    most = lowest(terms.parts, lambda n, _: -terms.per_trial(n))
    span = tuple(sum(terms.per_trial(n) * m for (n, _), m in at.items()) for at in (least, most))
    left = tuple(_left_out(terms, covered))
    told = bool(found.singles and found.counted) and _measured_faults(terms, covered) <= ONE
    rows = tuple(_rows(terms, found, setting, arms, baseline, covered)) if told else ()
    return MixAnswer(
        name=mix.name,
        title=mix.title,
        source=mix.source,
        origin=origin,
        unit="trial" if terms.counted else "fault",
        calls={"model_calls": terms.calls["model_calls"], "tool_calls": terms.calls["tool_calls"]},
        faults_least=span[0],
        faults_most=span[1],
        rows=rows,
        left_out=left,
        not_known=mix.not_known,
        notes=tuple(_notes(terms, found, span[1], covered, bool(left))),
    )


def _measured_faults(terms: _Terms, covered: set[str]) -> float:
    """The most faults of a trial of which the experiment has trials."""
    at = lowest(terms.parts, lambda n, key: -terms.per_trial(n) * (key in covered))
    return sum(mass * terms.per_trial(n) for (n, key), mass in at.items() if key in covered)


def _notes(
    terms: _Terms, found: Singles, faults: float, covered: set[str], left: bool
) -> Iterator[str]:
    if not found.calm or not found.counted:
        yield "no fault-free trials: nothing to hold a fault against"
    if not found.singles:
        yield "no trial has exactly one planned fault: there is nothing to reweight"
    if left:
        yield "part of this mix is covered by no trial; it counts as no fault at all"
    if terms.counted and _measured_faults(terms, covered) > ONE:
        yield (
            f"up to {_measured_faults(terms, covered):.3g} measured faults a trial: single faults "
            "cannot tell of so many, and nothing was added up"
        )
    elif terms.counted and faults > MANY:
        yield (
            f"up to {faults:.2g} faults a trial: effects of single faults are added up, which "
            "they need not do where two meet"
        )
    idle = {one.of for one in terms.mix.faults if terms.counted and not terms.calls[one.of]}
    for of in sorted(idle):
        yield f"the trials make no {of.replace('_', ' ')}: such faults cannot happen in them"
    if terms.mix.calls:
        yield "calls of a task are the mix's own, not the experiment's"


# -- the mix made ready -----------------------------------------------------------------------


def _terms(
    mix: FaultMix, found: Singles, kinds: Mapping[str, KindSpec], setting: Setting
) -> _Terms:
    times = 1.0 if mix.of_shares else 1e-3
    parts = tuple(_part(one, times, kinds) for one in mix.faults)
    if mix.of_shares:
        reach = sum(part.amount[1] for part in parts)
        if reach < 1:  # the file does not say what the rest is
            parts = (*parts, Part((1 - reach, 1 - reach), (Option((NOTHING,), (1.0, 1.0)),)))
            rest = Category(what=REST, of=mix.faults[0].of, share=(1 - reach, 1 - reach))
            mix = mix.model_copy(update={"faults": (*mix.faults, rest)})
    overall = (1.0, 1.0) if mix.overall is None else mix.overall.per_1000
    factor = 1.0 if mix.overall is None else 1e-3
    whole = Parts(parts, mix.of_shares, (overall[0] * factor, overall[1] * factor))
    calls: dict[str, float] = {}
    drawn: dict[str, Floats | float] = {}
    for of in ("model_calls", "tool_calls"):
        calls[of], drawn[of] = _counted(mix, of, found, setting)
    return _Terms(mix, whole, calls, drawn)


def _part(one: Category, times: float, kinds: Mapping[str, KindSpec]) -> Part:
    low, high = one.per_1000 or one.share or WHOLE
    options = [_option(kind, share, one.landed, kinds[kind]) for kind, share in one.kinds.items()]
    reach = sum(share[1] for share in one.kinds.values())
    if reach < 1:
        options.append(Option((NOTHING,), (1 - reach, 1 - reach)))
    return Part((low * times, high * times), tuple(options))


def _option(kind: str, share: Bounds, landed: Bounds, spec: KindSpec) -> Option:
    if spec.lands is None:
        return Option((kind,), share)
    return Option((keyed(kind, True), keyed(kind, False)), share, landed)


def _counted(
    mix: FaultMix, of: Calls | str, found: Singles, setting: Setting
) -> tuple[float, Floats | float]:
    """Calls of a trial, and in every resample: the mix's own, else those of fault-free trials."""
    given = {str(name): value for name, value in mix.calls.items()}
    if of in given or not found.counted:
        return given.get(of, 0.0), given.get(of, 0.0)
    task = np.array([setting.index[t.suite, t.task_id] for t in found.counted], dtype=np.int64)
    calls = np.array(found.calls[of], dtype=np.int64)
    ones = np.ones(task.size, dtype=np.int64)
    one = Sample(METRICS["cost_mean"], task, calls, ones)
    return int(calls.sum()) / task.size, resample([one], setting.counts)[0]


# -- the answer -------------------------------------------------------------------------------


def _rows(
    terms: _Terms,
    found: Singles,
    setting: Setting,
    arms: Sequence[str],
    baseline: str,
    covered: set[str],
) -> Iterator[MixRow]:
    for name in SHOWN:
        metric = METRICS[name]
        measured = {arm: _measured(metric, found, arm, setting) for arm in arms}
        base = measured.get(baseline)
        for arm in arms:
            one = measured[arm]
            if one is None:
                yield MixRow(metric=name, arm=arm, note=UNPRICED)
                continue
            yield MixRow(metric=name, arm=arm, **_valued(terms, one, setting, covered))
            if arm != baseline and base is not None:
                less = _minus(one, base)
                fields = _differing(terms, less, setting)
                yield MixRow(metric=name, arm=arm, against=baseline, **fields)


def _measured(metric: Metric, found: Singles, arm: str, setting: Setting) -> Measured | None:
    calm = found.calm[arm]
    base = pairs(metric, calm, calm, setting)
    single = {
        one.key: pairs(metric, one.faulted, one.calm, setting)
        for one in found.singles
        if one.arm == arm
    }
    known = {key: one for key, one in single.items() if one is not None}
    if base is None or len(known) < len(single):
        return None
    return Measured(metric, Pairs(metric, base.task, base.faulted, base.faulted * 0), known)


def _minus(one: Measured, other: Measured) -> Measured:
    """What one arm has more than another: fault-free, and more by each fault."""
    base = Pairs(one.metric, one.base.task, one.base.faulted, other.base.faulted)
    single = {
        key: Pairs(one.metric, mine.task, mine.difference, other.single[key].difference)
        for key, mine in one.single.items()
    }
    return Measured(one.metric, base, single)


def _corner(terms: _Terms, one: Measured, sign: int, left: float = 0.0) -> Masses:
    """The masses that make the metric smallest (sign 1) or largest (-1), within what is known.

    `left`: what a fault that nobody measured is taken to do.
    """

    def effect(n: int, key: str) -> float:
        does = one.single[key].value if key in one.single else left
        return sign * terms.per_trial(n) * does

    return lowest(terms.parts, effect)


def _faults(terms: _Terms, masses: Masses, one: Measured) -> dict[str, float]:
    """Faults of a trial by key, of those that were measured."""
    made: dict[str, float] = {}
    for (n, key), mass in masses.items():
        if key in one.single:
            made[key] = made.get(key, 0.0) + mass * terms.per_trial(n)
    return made


def _drawn(terms: _Terms, masses: Masses, one: Measured, setting: Setting) -> Floats:
    """The metric at those masses in every resample; calls are resampled with everything else."""
    made: dict[str, float | Floats] = {}
    for (n, key), mass in masses.items():
        if key in one.single:
            times = terms.drawn[terms.mix.faults[n].of] if terms.counted else 1.0
            made[key] = made.get(key, 0.0) + mass * times
    return one.drawn(made, setting)


def _valued(terms: _Terms, one: Measured, setting: Setting, covered: set[str]) -> dict[str, Any]:
    """A metric's range, the interval around it, and where shares could be beyond it."""
    ends = [_corner(terms, one, sign) for sign in (1, -1)]
    faults = [_faults(terms, at, one) for at in ends]
    values = [one.value(at) for at in faults]
    if one.metric.kind is Kind.PROPORTION and not 0 <= values[0] <= values[1] <= 1:
        return {"note": "does not add up"}
    row: dict[str, Any] = {"least": values[0], "most": values[1]}
    row |= _beyond(terms, one, covered) if one.metric.kind is Kind.PROPORTION else {}
    if any(scarce(one, at) for at in faults):
        low, high = (bounded(one, at, setting)[n] for n, at in enumerate(faults))
        return row | {"low": low, "high": high, "method": "exact"}
    return row | _around(terms, one, ends, setting)


def _beyond(terms: _Terms, one: Measured, covered: set[str]) -> dict[str, float]:
    """A share if every fault that no trial covers cost it, or brought it."""
    base = one.base.value
    made, any_left = {}, False
    for name, sign, does in (("worst", 1, -base), ("best", -1, 1 - base)):
        at = _corner(terms, one, sign, does)
        more = sum(mass * terms.per_trial(n) for (n, key), mass in at.items() if key not in covered)
        any_left = any_left or more > 0
        made[name] = min(1.0, max(0.0, one.value(_faults(terms, at, one)) + more * does))
    return made if any_left else {}


def _differing(terms: _Terms, one: Measured, setting: Setting) -> dict[str, Any]:
    """The same of a difference between two arms, by the rules of every paired difference."""
    ends = [_corner(terms, one, sign) for sign in (1, -1)]
    faults = [_faults(terms, at, one) for at in ends]
    row: dict[str, Any] = {"least": one.value(faults[0]), "most": one.value(faults[1])}
    used = [one.base, *(each for at in faults for _, each in one.used(at))]
    differing = {int(t) for each in used for t in each.task[each.difference != 0]}
    if not differing:
        return row | {"note": SAME}
    units = int(np.unique(one.base.task).size)
    if (one.metric.counts and len(differing) < FEW) or too_few_differ(
        one.metric, len(differing), units
    ):
        return row | {"note": TOO_FEW}
    return row | _around(terms, one, ends, setting)


def _around(
    terms: _Terms, one: Measured, ends: Sequence[Masses], setting: Setting
) -> dict[str, Any]:
    """The interval around both ends of a range: the lower one's lower bound to the upper's."""
    tasks = int(np.unique(one.base.task).size)
    metric, level = one.metric, setting.read_at(tasks)
    low, high = (bootstrapped(metric, _drawn(terms, at, one, setting), tasks, level) for at in ends)
    if "low" not in low or "high" not in high:
        return low if "low" not in low else high
    return low | {"high": high["high"]}


# -- what is left out -------------------------------------------------------------------------


def _left_out(terms: _Terms, covered: set[str]) -> Iterator[LeftOut]:
    """What no trial covers, as far as its source tells how much of it there is."""
    told = terms.mix.of_shares
    for n, (category, part) in enumerate(zip(terms.mix.faults, terms.parts.parts, strict=True)):
        for key in (key for option in part.options for key in option.keys):
            if key in covered:
                continue
            span = [abs(_mass(terms.parts, n, key, sign)) for sign in (1, -1)]
            if span[1]:
                yield LeftOut(
                    what=category.what,
                    kind="" if key == NOTHING else key,
                    of=category.of,
                    unit="share" if told else "per 1000 calls",
                    least=span[0] * (1.0 if told else 1e3),
                    most=span[1] * (1.0 if told else 1e3),
                )


def _mass(parts: Parts, n: int, key: str, sign: int) -> float:
    """The least (sign 1) or the most (-1) that there may be of a key in a part."""
    plain = parts._replace(overall=(1.0, 1.0))
    found = lowest(plain, lambda part, name: sign * float((part, name) == (n, key)))
    return found.get((n, key), 0.0)
