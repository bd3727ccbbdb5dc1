"""A live experiment run again from its recorded responses: no key, no model, the same faults.

    DIR (frozen, run, cassettes/) ─copy what was frozen→ OUT ─run, cassette for the model→ traces
                                                         └─ line by line against those of DIR

A live run lives on the wall clock, so no two of its traces have the same times. They are compared
without them (`untimed`): every key that ends in `_us`, and where a trial ran.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from hfr_bench.errors import BadInputError
from hfr_bench.lab.amending import PARENTS
from hfr_bench.lab.execute import Options, Summary, run
from hfr_bench.lab.offer import own_files
from hfr_bench.lab.pricing import PRICES
from hfr_bench.lab.register import LOCK, PLAN, PREREG, SCHEDULES, TOKEN, Experiment, load
from hfr_bench.lab.rounds import last_rounds
from hfr_bench.lab.store import Store
from hfr_bench.lab.wire import Place
from hfr_bench.model.terms import Origin, VoidCause
from hfr_bench.ports.tape import CASSETTES, tape_name

# A replay plays a fork's trials from their own recordings, which hold their prefixes.
_PLACE = frozenset({"wall_us", "prev", "sandbox", "image_id", "replayed", "prefix_digest"})


class Replayed(NamedTuple):
    """What a replay found. `same` of `of` trials went the recorded way.

    `parted`: of the others, which and why: a miss, another line, or nothing to compare with.
    `misses`: voids, of all rounds, for a request that was not recorded.
    """

    summary: Summary
    same: int
    of: int
    parted: tuple[str, ...]
    misses: int


def replay(
    source: Experiment, out: Path, options: Options | None = None, place: Place | None = None
) -> Replayed:
    """Run a live experiment again in `out`, from what it has recorded.

    Raises BadInputError if it is not live, recorded nothing, holds a cassette that its traces do
    not know, or `out` is in use; as `execute.run` does for the rest.
    """
    check_recorded(source)
    _lay_out(source, out)
    copied = load(out)
    summary = run(copied, options, replace(place or Place(), replay=source.path))
    parted = tuple(_parted(source, copied))
    of = sum(len(group) for group in last_rounds(source))
    results = (Store(out).check(file).result for file in Store(out).files())
    misses = sum(result is not None and result.void is VoidCause.CASSETTE for result in results)
    return Replayed(summary, of - len(parted), of, parted, misses)


def check_recorded(experiment: Experiment) -> None:
    """There must be cassettes, and each must be what its trace says. Raises BadInputError."""
    if experiment.prereg.origin is not Origin.LIVE:
        raise BadInputError(
            f"{experiment.path}: a {experiment.prereg.origin} run records no responses and needs "
            "none: it can be run again as it is"
        )
    if not recorded(experiment):
        raise BadInputError(
            f"{experiment.path}: no {CASSETTES}/ in it: it was run with --no-record, by a version "
            "that did not record, or bundled without --with-cassettes"
        )
    for wrong in strange(experiment):
        raise BadInputError(f"{experiment.path}: {wrong}")


def strange(experiment: Experiment) -> Iterator[str]:
    """The cassettes that are not what their trial recorded, by the digest in its trace's end."""
    for group in last_rounds(experiment):
        for one in group:
            file = one.reading.checked.file
            said = json.loads(one.reading.lines[-1])["body"].get("cassette", "")
            name = f"{CASSETTES}/{tape_name(file.group, file.round, file.arm)}.jsonl"
            path = experiment.path / name
            if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() != said:
                told = said[:12] or "that nothing was"
                yield f"{name}: is not what its trial recorded; the trace says {told}"


def recorded(experiment: Experiment) -> bool:
    """Whether a live experiment's recorded responses are there."""
    live = experiment.prereg.origin is Origin.LIVE
    return live and (experiment.path / CASSETTES).is_dir()


def untimed(line: bytes) -> Any:
    """A trace line without measured time, chain and place."""
    return _untimed(json.loads(line))


def _untimed(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _untimed(one)
            for key, one in value.items()
            if key not in _PLACE and not key.endswith("_us")
        }
    return [_untimed(one) for one in value] if isinstance(value, list) else value


def _lay_out(source: Experiment, out: Path) -> None:
    """What was frozen, as it was; none of what was run."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInputError(f"{out}: is there already; name a new directory")
    out.mkdir(parents=True, exist_ok=True)
    for name in (PREREG, LOCK, PRICES, PLAN, TOKEN):
        if (source.path / name).is_file():
            shutil.copyfile(source.path / name, out / name)
    for name in (SCHEDULES, PARENTS):
        if (source.path / name).is_dir():
            shutil.copytree(source.path / name, out / name)
    for path in own_files(source.path):
        to = out / path.relative_to(source.path)
        to.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, to)


def _parted(source: Experiment, made: Experiment) -> Iterator[str]:
    """The trials that did not go the recorded way, and why."""
    again = {one.row.trial.trial_id: one.reading for group in last_rounds(made) for one in group}
    for group in last_rounds(source):
        for one in group:
            trial = one.row.trial
            found = again.get(trial.trial_id)
            name = f"{trial.suite} {trial.task_id}, seed {trial.seed}, {trial.rate:g}, {trial.arm}"
            if found is None:
                yield f"{name}: not graded, run again"
                continue
            said = [untimed(line) for line in one.reading.lines]
            told = [untimed(line) for line in found.lines]
            if said != told:
                pairs = zip(said, told, strict=False)
                at = next((n for n, (a, b) in enumerate(pairs, 1) if a != b), None)
                where = f"line {at}" if at else f"{len(said)} lines, run again {len(told)}"
                yield f"{name}: {where}"
