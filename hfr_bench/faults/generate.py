"""Points + matrix + rate + seed -> a schedule. Drawn once, written down, replayed ever after.

One onset draw per (point, occurrence); the duration is drawn with it; attempts beyond it draw
afresh up to attempt 8. With `nested` coupling the same uniforms serve all rates, so every
coordinate that is faulty at a low rate is faulty at a higher one.
"""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import NamedTuple

from hfr_bench.faults.draw import choose, joined, uniform, uniforms
from hfr_bench.faults.ledgers import DIALECT, PREFIX, ledger_points
from hfr_bench.model.matrix import FaultMatrix, Mix
from hfr_bench.model.prereg import TAKES_BACKUP, Burst
from hfr_bench.model.record import short_id, unchecked
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, KindSpec, Lasts
from hfr_bench.model.task import FaultPoint
from hfr_bench.model.terms import Layer

GENERATOR = "hfr-sampled@1"
ATTEMPTS_MAX = 8

# Layers of the kinds that may hit a point, by its own: what is around a tool hits its calls, and
# what is wrong with an answer is in its calls' answers.
_HITS = {layer: (layer,) for layer in Layer} | {
    Layer.TOOL: (Layer.TOOL, Layer.ENVIRONMENT, Layer.SEMANTIC)
}

# What really ends an event; told only to arms that are equipped with the truth.
_CLEARS = {
    ("attempts", "all"): "retry",
    ("target", "all"): "substitute",
    ("request", "all"): "compress",
    ("seconds", "all"): "wait",
    ("seconds", "one"): "substitute or wait",
    ("trial", "all"): "nothing",
    ("trial", "one"): "substitute",
}


_event = unchecked(FaultEvent)  # of points, kinds and draws, which are checked; there are very many


class Drawn(NamedTuple):
    """What was drawn for a faulty attempt: all that its event does not have of its place."""

    kind: KindSpec
    lasts: Lasts
    effect_lands: bool | None
    params: dict[str, int | str]


class Draw(NamedTuple):
    """What a schedule is keyed by; the arm is not part of it. `rate`: chance per onset draw.

    `takes_backup`: chance that an outage of the model's provider takes its other models along.
    """

    suite: str
    task_id: str
    seed: int
    profile: str
    rate: float
    coupling: str = "nested"
    takes_backup: float = TAKES_BACKUP


def generate(
    draw: Draw,
    points: Sequence[FaultPoint],
    matrix: FaultMatrix,
    kinds: Mapping[str, KindSpec],
    horizon: int,
    bursts: Sequence[Burst] = (),
    drawn: dict[str, Drawn] | None = None,
) -> FaultSchedule:
    """The schedule of one pair group.

    `horizon`: occurrences covered at every point. `bursts`: those in whose window the task is.
    `drawn`: by attempt, kept for schedules that differ in their rate alone: nested rates share it.
    Raises ValueError if the matrix, or a burst, names a kind that is not among `kinds`.
    """
    check_known(matrix, kinds, bursts)
    made_of = {"matrix": matrix.digest(), "horizon": horizon, "by": GENERATOR}
    if bursts:
        made_of["bursts"] = [burst.digest() for burst in bursts]
    schedule_id = short_id({**_key(draw), **made_of})
    events = tuple(
        event
        for point in (*points, *ledger_points(points))
        if (found := _mix_and_rate(point.point, matrix, bursts, draw.rate)) is not None
        if (fitting := fitting_kinds(point, found[0], kinds))
        for occurrence in _faulty(draw, point.point, found[1], horizon)
        for event in step_events(
            draw,
            schedule_id,
            point,
            occurrence,
            *found,
            kinds,
            fitting=fitting,
            begun=True,
            drawn=drawn,
        )
    )
    return FaultSchedule(
        schedule_id=schedule_id,
        suite=draw.suite,
        task_id=draw.task_id,
        seed=draw.seed,
        profile=draw.profile,
        rate=draw.rate,
        coupling=draw.coupling,
        generator=GENERATOR,
        horizon=horizon,
        events=events,
    )


def _faulty(draw: Draw, point: str, rate: float, horizon: int) -> list[int]:
    """The occurrences whose first attempt is drawn faulty; `step_events` has nothing of others."""
    if rate <= 0:
        return []
    profile = (draw.profile,) if draw.coupling == "independent" else ()
    onsets = _onsets(draw.seed, draw.suite, draw.task_id, point, horizon, profile)
    return [occurrence for occurrence, onset in enumerate(onsets, 1) if onset < rate]


@lru_cache(maxsize=64)  # nested rates ask for the same draws one after the other
def _onsets(
    seed: int, suite: str, task_id: str, point: str, horizon: int, profile: tuple[str, ...]
) -> list[float]:
    """The onset draws of every occurrence's first attempt."""
    key = ("onset", seed, suite, task_id, point)
    return uniforms(key, range(1, horizon + 1), *profile, 1)


def _key(draw: Draw) -> dict[str, object]:
    """What names a schedule: whatever came later is left out where it is not used."""
    key: dict[str, object] = draw._asdict()
    if draw.takes_backup == TAKES_BACKUP:
        del key["takes_backup"]
    return key


def check_known(
    matrix: FaultMatrix, kinds: Mapping[str, KindSpec], bursts: Sequence[Burst] = ()
) -> None:
    """Raises ValueError if the matrix, or a burst, names a kind that is not among `kinds`."""
    missing = {name for mix in matrix.mixes for name in mix.kinds} - set(kinds)
    if missing:
        raise ValueError(f"matrix {matrix.name!r} names unknown kinds: {sorted(missing)}")
    if strange := {name for burst in bursts for name in burst.kinds} - set(kinds):
        raise ValueError(f"bursts name unknown kinds: {sorted(strange)}")


def _mix_and_rate(
    point: str, matrix: FaultMatrix, bursts: Sequence[Burst], rate: float
) -> tuple[Mix, float] | None:
    """What may happen at a point, and how often: the first burst that matches, else the matrix."""
    mix = mix_for(point, matrix)
    for burst in bursts:
        if _matches(burst.points, point):
            if burst.kinds:
                return Mix(points=burst.points, kinds=burst.kinds), burst.rate
            return None if mix is None else (mix, burst.rate)
    return None if mix is None else (mix, rate * mix.rate_scale)


def mix_for(point: str, matrix: FaultMatrix) -> Mix | None:
    """The first mix whose patterns match the point."""
    for mix in matrix.mixes:
        if _matches(mix.points, point):
            return mix
    return None


@lru_cache(maxsize=4096)  # few points and patterns, asked for in every schedule
def _matches(patterns: tuple[str, ...], point: str) -> bool:
    return any(fnmatchcase(point, pattern) for pattern in patterns)


def step_events(
    draw: Draw,
    schedule_id: str,
    point: FaultPoint,
    occurrence: int,
    mix: Mix,
    rate: float,
    kinds: Mapping[str, KindSpec],
    behind: Lasts | None = None,
    fitting: Sequence[tuple[float, KindSpec]] | None = None,
    begun: bool = False,
    drawn: dict[str, Drawn] | None = None,
) -> Iterator[FaultEvent]:
    """The events of one logical step, each attempt of which is faulty with chance `rate`.

    `behind`: how long a fault lasts that is planned for its first attempt besides. Known already:
    `fitting` kinds of the mix; `begun`, that the first attempt is faulty; `drawn`, by `generate`.

    `reach` is the last attempt covered so far; inside a duration nothing is drawn. Events that last
    until the target changes have no known end: what follows them is drawn besides, and there a
    duration that runs into another is shortened to what it adds. So coverage is nested in the rate.
    """
    fitting = fitting_kinds(point, mix, kinds) if fitting is None else fitting
    if not fitting or rate <= 0:  # no draw is below 0
        return
    profile = (draw.profile,) if draw.coupling == "independent" else ()
    base = joined(draw.seed, draw.suite, draw.task_id, point.point, occurrence, *profile, "")
    onset, known = joined("onset", base), {} if drawn is None else drawn
    reach, open_ended = _covered_by(behind)
    for attempt in range(1 if behind is None else 2, ATTEMPTS_MAX + 1):
        if attempt > reach + 1 and not open_ended:
            return
        if attempt <= reach and not open_ended:
            continue  # inside a duration nothing is drawn
        if not (begun and attempt == 1) and uniform(f"{onset}{attempt}") >= rate:
            continue
        key = f"{base}{attempt}"
        made = known.get(key) or known.setdefault(key, _drawn(fitting, draw.takes_backup, key))
        lasts, first = made.lasts, attempt
        if lasts.unit == "attempts":
            last = attempt + lasts.n - 1
            first = max(attempt, reach + 1)
            if last < first:
                continue
            reach, lasts = last, _attempts(last - first + 1)
        else:
            open_ended = True
        drawn_at = f"{schedule_id}/{point.point}/{occurrence}.{attempt}"
        yield _placed(drawn_at, point, occurrence, first, made, lasts)


def _drawn(fitting: Sequence[tuple[float, KindSpec]], takes_backup: float, key: str) -> Drawn:
    kind = choose(fitting, "kind", key)
    return Drawn(kind, lasting(kind, takes_backup, key), *_details(kind, key))


@cache
def _attempts(n: int) -> Lasts:
    """Schedules have many events and few durations."""
    return Lasts(n=n)


def _covered_by(behind: Lasts | None) -> tuple[int, bool]:
    """The last attempt that a fault from the first one on covers, and whether its end is open."""
    if behind is None:
        return 0, False
    return (behind.n, False) if behind.unit == "attempts" else (1, True)


def lasting(kind: KindSpec, takes_backup: float, *key: str | int) -> Lasts:
    """How long a fault lasts, and whom a provider's outage takes along."""
    lasts = choose(kind.lasts, "lasts", *key)
    if not kind.provider or lasts.unit not in ("seconds", "trial"):
        return lasts
    along = uniform("takes_backup", *key) < takes_backup
    return lasts.model_copy(update={"over": "all" if along else "one"})


def fitting_kinds(
    point: FaultPoint, mix: Mix, kinds: Mapping[str, KindSpec]
) -> list[tuple[float, KindSpec]]:
    """The mix's kinds that may hit this point, with their weights."""
    return [
        (weight, kinds[name])
        for name, weight in mix.kinds.items()
        if point.level in kinds[name].levels
        and kinds[name].layer in _HITS[point.layer]
        and _matches(kinds[name].points, point.point)
        and (DIALECT in kinds[name].wire) is point.point.startswith(PREFIX)
    ]


def event_at(
    injection_id: str,
    point: FaultPoint,
    occurrence: int,
    attempt: int,
    kind: KindSpec,
    lasts: Lasts,
    key: tuple[str | int, ...],
) -> FaultEvent:
    """An event with its parameters, and whether its effect lands, drawn by `key`."""
    made = Drawn(kind, lasts, *_details(kind, *key))
    return _placed(injection_id, point, occurrence, attempt, made, lasts)


def _details(kind: KindSpec, *key: str | int) -> tuple[bool | None, dict[str, int | str]]:
    """Whether an effect lands, and a fault's parameters."""
    params = {
        name: choose([(1.0, value) for value in values], "param", name, *key)
        for name, values in kind.params.items()
    }
    return None if kind.lands is None else uniform("lands", *key) < kind.lands, params


def _placed(
    injection_id: str, point: FaultPoint, occurrence: int, attempt: int, drawn: Drawn, lasts: Lasts
) -> FaultEvent:
    """What was drawn, as an event of its place; `lasts`: what of its duration is not covered."""
    kind = drawn.kind
    return _event(
        {
            "v": 1,
            "injection_id": injection_id,
            "layer": kind.layer,
            "kind": kind.kind,
            "point": point.point,
            "occurrence": occurrence,
            "attempt": attempt,
            "lasts": lasts,
            "effect_lands": drawn.effect_lands,
            "params": drawn.params,
            "clears_by": kind.clears_by or _CLEARS.get((lasts.unit, lasts.over), "retry"),
            "safe_outcome": kind.safe_outcome_when.get(point.level, kind.safe_outcome),
            "after": "",
        }
    )
