"""`hfr-bench power`: how many tasks an effect takes, and what effect so many tasks can show."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import isfinite, sqrt
from pathlib import Path

import click

from hfr_bench.errors import BadInputError
from hfr_bench.lab.compare import graded
from hfr_bench.lab.pilot import piloted
from hfr_bench.lab.register import load
from hfr_bench.lab.store import Store
from hfr_bench.stats.metrics import METRICS, Kind
from hfr_bench.stats.power import (
    Aim,
    Pilot,
    Spread,
    binary_sd,
    effect_for,
    exact_power,
    power_for,
    rate_for,
    spread,
    tasks_for,
    tasks_for_rare,
    worth,
)

SIZES = (50, 100, 200, 400, 800)
SEEDS, ICC = 3, 0.3
Share = click.FloatRange(0, 1)


@dataclass(frozen=True, slots=True)
class Line:
    """What so many tasks can show. `power`: of the effect asked about; None without one."""

    tasks: int
    detectable: float | None
    power: float | None


@dataclass(frozen=True, slots=True)
class Answer:
    """All that is told. Differences in `unit`; `sd`: of a task's mean difference over `seeds`."""

    what: str
    unit: str
    seeds: int
    icc: float
    power: float
    alpha: float
    sd: float | None
    effect: float | None
    tasks: int | None
    table: tuple[Line, ...]
    pilot_tasks: int | None = None


@click.command()
@click.option(
    "--from",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Variances of a pilot: an experiment that was run.",
)
@click.option("--arm", help="With --from: the arm.")
@click.option("--against", help="With --from: the arm it is held against.")
@click.option("--metric", default="sr", show_default=True, help="With --from: what differs.")
@click.option("--rate", type=float, help="With --from: one rate; default: all above 0.")
@click.option(
    "--discordant",
    nargs=2,
    type=Share,
    metavar="A B",
    help="Shares of pairs in which only the arm, only the other has it (a binary metric).",
)
@click.option("--sd", type=click.FloatRange(0), help="The sd of one pair's difference (an amount).")
@click.option(
    "--rare",
    nargs=2,
    type=Share,
    metavar="A B",
    help="Chances of an event in a trial of either arm (a rare count): exact.",
)
@click.option("--effect", type=float, help="The difference to find; default: that of the input.")
@click.option("--tasks", type=click.IntRange(2), multiple=True, help="A number of tasks; again.")
@click.option("--seeds", type=click.IntRange(1), default=SEEDS, show_default=True)
@click.option(
    "--icc",
    type=Share,
    default=ICC,
    show_default=True,
    help="How alike pairs of one task are; a pilot tells its own.",
)
@click.option(
    "--power", "power_", type=click.FloatRange(0.5, 0.999), default=0.8, show_default=True
)
@click.option("--level", type=click.FloatRange(0.5, 0.9999), default=0.95, show_default=True)
@click.option(
    "--claims",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Claims that share the error (Holm's strictest step).",
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def power(
    folder: Path | None,
    arm: str | None,
    against: str | None,
    metric: str,
    rate: float | None,
    discordant: tuple[float, float] | None,
    sd: float | None,
    rare: tuple[float, float] | None,
    effect: float | None,
    tasks: tuple[int, ...],
    seeds: int,
    icc: float,
    power_: float,
    level: float,
    claims: int,
    as_json: bool,
) -> None:
    """How many tasks an effect takes, and what effect so many tasks can show: paired, by task.

    Say where the variance comes from: --from DIR, --discordant, --sd or --rare.
    """
    if sum(given is not None for given in (folder, discordant, sd, rare)) != 1:
        raise BadInputError(
            "say where the variance comes from, once: --from DIR (a pilot), --discordant A B (a "
            "binary metric), --sd S (an amount), or --rare A B (a rare count)"
        )
    _check_finite(sd=sd, effect=effect, rate=rate, icc=icc, power=power_, level=level,
                  discordant=discordant, rare=rare)  # fmt: skip
    aim = Aim(power_, (1 - level) / claims)
    sizes = tasks or SIZES
    if rare is not None:
        if effect is not None:
            raise BadInputError("--effect: with --rare, the two chances say it; leave it out")
        answer = _of_rare(rare, sizes, seeds, icc, aim)
    elif folder is not None:
        found, unit, scale = _pilot(folder, arm, against, metric, rate)
        what = f"{metric}, {arm} minus {against}"
        answer = _of_pilot(found, what, unit, scale, effect, sizes, seeds, aim)
    else:
        parts, unit, asked = _stated(discordant, sd, icc, effect)
        answer = _answer("stated variance", unit, parts, asked, sizes, seeds, aim)
    click.echo(json.dumps(asdict(answer)) if as_json else "\n".join(lines(answer)))


def _check_finite(**given: float | tuple[float, float] | None) -> None:
    """Refuse nan and inf, which a float option lets through. Raises BadInputError."""
    for name, value in given.items():
        numbers = value if isinstance(value, tuple) else (value,)
        if not all(one is None or isfinite(one) for one in numbers):
            raise BadInputError(f"--{name}: must be a finite number")


def _stated(
    discordant: tuple[float, float] | None, sd: float | None, icc: float, effect: float | None
) -> tuple[Spread, str, float | None]:
    """Spread, unit and effect from what was typed."""
    if discordant is None:
        if not sd:
            raise BadInputError("--sd: must be above 0; without spread one task would do")
        return spread(sd, icc), "the unit of --sd", effect
    if discordant == (0, 0):
        raise BadInputError(
            "--discordant: no pair would differ, so there is nothing to size; if rare, take --rare"
        )
    try:
        one = binary_sd(*discordant)
    except ValueError as error:
        raise BadInputError(f"--discordant: {error}") from error
    asked = discordant[0] - discordant[1] if effect is None else effect
    return spread(one, icc), "share", asked


def _pilot(
    folder: Path, arm: str | None, against: str | None, metric: str, rate: float | None
) -> tuple[Pilot, str, int]:
    """The pilot, the unit of its metric, and what its columns are multiplied with for it."""
    if not arm or not against:
        raise BadInputError("--from: name --arm and --against; `hfr-bench report` lists the arms")
    experiment = load(folder)
    results = graded(experiment, Store(folder))
    found = piloted(experiment, results, (arm, against), metric, rate)
    one = METRICS[metric]
    return found, one.unit, 1000 if one.kind is Kind.RATE else 1


def _of_pilot(
    found: Pilot,
    what: str,
    unit: str,
    scale: int,
    effect: float | None,
    sizes: tuple[int, ...],
    seeds: int,
    aim: Aim,
) -> Answer:
    parts = Spread(found.spread.between * scale, found.spread.within * scale)
    asked = found.mean * scale if effect is None else effect
    answer = _answer(what, unit, parts, asked, sizes, seeds, aim)
    return Answer(**asdict(answer) | {"table": answer.table, "pilot_tasks": found.tasks})


def _answer(
    what: str,
    unit: str,
    parts: Spread,
    effect: float | None,
    sizes: tuple[int, ...],
    seeds: int,
    aim: Aim,
) -> Answer:
    sd = parts.of(seeds)

    def line(n: int) -> Line:
        chance = None if effect is None else power_for(effect, sd, n, aim.alpha)
        return Line(n, effect_for(n, sd, aim), chance)

    table = tuple(line(n) for n in sizes)
    needed = None if effect is None else tasks_for(effect, sd, aim)
    return Answer(what, unit, seeds, parts.icc, aim.power, aim.alpha, sd, effect, needed, table)


def _of_rare(
    rare: tuple[float, float], sizes: tuple[int, ...], seeds: int, icc: float, aim: Aim
) -> Answer:
    """Events of the two arms fall into one pair by chance alone: the rest are discordant pairs."""
    high, low = max(rare), min(rare)
    more, less = high * (1 - low), low * (1 - high)

    def line(n: int) -> Line:
        least = rate_for(n, less, seeds, icc, aim)
        chance = exact_power(more, less, worth(n, seeds, icc), aim.alpha)
        return Line(n, None if least is None else least - less, chance)

    table = tuple(line(n) for n in sizes)
    needed = tasks_for_rare(more, less, seeds, icc, aim)
    what = f"rare count, {rare[0]:g} against {rare[1]:g} a trial, exact sign test"
    unit, effect = "chance of an event", rare[0] - rare[1]
    return Answer(what, unit, seeds, icc, aim.power, aim.alpha, None, effect, needed, table)


def lines(answer: Answer) -> Iterator[str]:
    """The answer as text."""
    yield f"{answer.what}; differences in: {answer.unit}"
    source = f" (pilot of {answer.pilot_tasks} tasks)" if answer.pilot_tasks else ""
    spread_ = "" if answer.sd is None else f", sd of a task's mean difference {answer.sd:.4g}"
    yield f"{answer.seeds} seed(s) a task, icc {answer.icc:.2f}{spread_}{source}"
    yield f"power {answer.power:.0%} at a two-sided error of {answer.alpha:.4g}"
    if answer.effect is not None:
        needed = "no number of tasks will do" if answer.tasks is None else f"{answer.tasks} tasks"
        yield f"a difference of {answer.effect:.4g}: {needed}"
    if answer.pilot_tasks and answer.sd is not None:
        one = answer.sd * sqrt(answer.seeds / (1 + (answer.seeds - 1) * answer.icc))
        metric = answer.what.partition(",")[0]
        yield (
            f"to register it: - {{metric: {metric}, sd: {one:.4g}, icc: {answer.icc:.2f}, source: "
            f"pilot of {answer.pilot_tasks} tasks}}"
        )
    yield ""
    yield f"{'tasks':>8}  {'detectable':>12}  {'power':>6}"
    for line in answer.table:
        least = "-" if line.detectable is None else f"{line.detectable:.4g}"
        chance = "-" if line.power is None else f"{line.power:.2f}"
        yield f"{line.tasks:>8}  {least:>12}  {chance:>6}"
