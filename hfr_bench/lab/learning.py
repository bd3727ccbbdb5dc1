"""A table for `hfr-learned`, learned from the traces of experiments and bundles.

    arms that explore (strategy hfr-learned, explore > 0) -> episodes: choices, and what they earned
    tasks apart by a keyed draw -> fit on the one part -> evaluate on the other

What an episode earns is registered nowhere: it is what whoever learns asks for, in successes.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from hfr_bench.errors import BadInputError
from hfr_bench.faults.draw import uniform
from hfr_bench.lab.register import Experiment, load
from hfr_bench.lab.telemetry import counted
from hfr_bench.lab.verification.read import opened
from hfr_bench.model.prereg import Arm
from hfr_bench.model.terms import Origin
from hfr_bench.recovery.learned import chosen
from hfr_bench.stats.offpolicy import Choice, Episode, Value, by_rules, by_table, evaluate, fit

STRATEGY = "hfr-learned"


class Worth(NamedTuple):
    """What counts, in successes: a harm costs `harm`, an escalation `human`."""

    harm: float = 1.0
    human: float = 0.3


class Learned(NamedTuple):
    """A table, and what it is worth on tasks that it was not learned from.

    Attributes:
        table: context -> action -> mean earned.
        values: of the choices as they were made (`chance`), the rules and the table, on held-out
            tasks.
        origin, sources: of what; names and registrations' digests.
        learned_from: episodes that the table was fitted on.
        choices: that were made in them, where there was something to choose.
        arm: the first arm that explored, whose settings and equipment the table belongs to.
    """

    table: dict[str, dict[str, float]]
    values: dict[str, Value]
    origin: Origin
    sources: tuple[tuple[str, str], ...]
    learned_from: int
    choices: int
    worth: Worth
    arm: Arm

    def registered(self) -> Arm:
        """The arm to register."""
        own = {**self.arm.config, "learned": {"table": self.table}}
        return self.arm.model_copy(update={"name": STRATEGY, "config": own})


def learn(
    sources: Sequence[Path], worth: Worth, *, holdout: float = 0.4, least: int = 10
) -> Learned:
    """Learn a table.

    Args:
        sources: experiments' folders, or bundles (folder or zip).
        worth: what an episode earns.
        holdout: share of the tasks that the table is evaluated on.
        least: choices of an action in a context that are needed to say what it is worth.

    Raises:
        BadInputError: no arm explored, origins are mixed, too few tasks, or a source is none.
    """
    episodes: list[Episode] = []
    told: dict[tuple[str, str], Origin] = {}
    first: Arm | None = None
    for path in sources:
        with _experiment(path) as experiment:
            arms = [arm for arm in experiment.prereg.arms if _explores(arm)]
            told[experiment.prereg.name, experiment.lock.prereg_digest] = experiment.prereg.origin
            first = first or (arms[0] if arms else None)
            episodes += _episodes(experiment, [arm.name for arm in arms], worth)
    if first is None or not episodes:
        raise BadInputError(
            f"no arm explored: register one with `strategy: {STRATEGY}` and "
            "`config: {learned: {explore: 1}}`, and run it"
        )
    if len(set(told.values())) > 1:
        raise BadInputError(
            "origins are mixed: " + ", ".join(f"{n} ({o})" for (n, _), o in told.items())
        )
    return learned(episodes, first, told, worth, holdout=holdout, least=least)


def learned(
    episodes: Sequence[Episode],
    arm: Arm,
    sources: Mapping[tuple[str, str], Origin],
    worth: Worth,
    *,
    holdout: float = 0.4,
    least: int = 10,
) -> Learned:
    """As `learn`, from episodes. Raises BadInputError if either part of the tasks is empty."""
    held = [one for one in episodes if uniform("learn", one.task) < holdout]
    fitted = [one for one in episodes if uniform("learn", one.task) >= holdout]
    if not held or not fitted:
        tasks = len({one.task for one in episodes})
        raise BadInputError(f"{tasks} tasks are too few to learn from some and hold out others")
    table = fit(fitted, least)
    return Learned(
        table,
        {
            "chance": _as_made(held),
            "rules": evaluate(held, by_rules),
            "table": evaluate(held, by_table(table)),
        },
        next(iter(sources.values())),
        tuple(sources),
        len(fitted),
        sum(len(one.choices) for one in fitted),
        worth,
        arm,
    )


def _explores(arm: Arm) -> bool:
    own: Any = arm.config.get("learned", {})
    return arm.strategy == STRATEGY and isinstance(own, dict) and own.get("explore", 0) > 0


@contextmanager
def _experiment(path: Path) -> Iterator[Experiment]:
    """An experiment's folder, or a bundle, unpacked for as long as it is read."""
    if path.is_dir():
        yield load(path)
        return
    with opened(path) as files, tempfile.TemporaryDirectory(prefix="hfr-learn-") as folder:
        for name in files.names:
            to = Path(folder) / name
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(files.read(name))
        yield load(Path(folder))


def _episodes(experiment: Experiment, arms: Sequence[str], worth: Worth) -> Iterator[Episode]:
    """The trials of these arms that were graded."""
    for one in counted(experiment, arms):
        last: Any = one.reading.events[-1].body
        if last.type != "trial_ended" or last.result.outcome is None:
            continue
        graded = last.result.outcome
        trial = one.row.trial
        earned = graded.succeeded - worth.harm * graded.harm - worth.human * graded.escalated
        yield Episode(
            f"{trial.suite}/{trial.task_id}", tuple(_choices(one.reading.events)), float(earned)
        )


def _choices(events: Iterable[Any]) -> Iterator[Choice]:
    for event in events:
        if event.body.type == "decided":
            one = chosen(event.body.reason)
            if one is not None:
                yield Choice(one.context, one.action, one.options, one.rules, one.p)


def _as_made(episodes: Sequence[Episode]) -> Value:
    """What the episodes earned as chance made them: nothing is weighted."""
    plain = [one._replace(choices=()) for one in episodes]
    return evaluate(plain, by_rules)


def plain(found: Learned) -> dict[str, Any]:
    """For programs."""
    return {
        "origin": str(found.origin),
        "sources": [{"name": name, "prereg_digest": digest} for name, digest in found.sources],
        "worth": found.worth._asdict(),
        "learned_from": {"episodes": found.learned_from, "choices": found.choices},
        "values": {name: value._asdict() for name, value in found.values.items()},
        "table": found.table,
    }


def snippet(found: Learned) -> str:
    """The arm as an entry of a registration's `arms`, with what it was learned from above it."""
    arm = found.registered().model_dump(mode="json", exclude={"v"}, exclude_defaults=True)
    sources = ", ".join(f"{name} {digest[:12]}" for name, digest in found.sources)
    head = [
        f"# Learned by hfr-bench from {found.learned_from} {found.origin} episodes of: {sources}",
        f"# Earned: success 1, harm -{found.worth.harm:g}, escalation -{found.worth.human:g}",
    ]
    head += [f"# {line}" for line in (*lines(found), *([] if found.table else [EMPTY]))]
    body = yaml.safe_dump([json.loads(json.dumps(arm))], sort_keys=False, width=100)
    return "\n".join(head) + "\n" + body


EMPTY = "The table is empty: this arm does what the rules do."


def lines(found: Learned) -> list[str]:
    """The values as lines of a table."""
    told = [f"{'on held-out tasks':20} {'earned':>8}  {'95 % interval':>18}  evidence"]
    for name, one in found.values.items():
        if one.mean is None:
            told.append(f"{name:20} {'-':>8}  {'-':>18}  no episode went its way")
            continue
        interval = "-" if one.low is None else f"{one.low:+.3f} to {one.high:+.3f}"
        if one.low is not None and one.low == one.high:
            interval = "none: all alike"  # resampled, what does not vary looks certain
        told.append(
            f"{name:20} {one.mean:+8.3f}  {interval:>18}  {one.matched} of {one.episodes} episodes,"
            f" {one.tasks} tasks, effectively {one.effective:.0f}"
        )
    return told
