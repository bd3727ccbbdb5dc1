"""Level 3 of verification, where tasks are made of a seed that was committed to by its digest.

    content.json, or a file that was told later: the seed -> its sha256 is the one registered
    -> the suite makes the tasks again -> they are those of the lock, and have the fault points
    of content.json

Suites are asked for that without a host or a sandbox, as pure functions.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hfr_bench import plugins
from hfr_bench.errors import BadInputError
from hfr_bench.lab import seal
from hfr_bench.lab.register import PREREG
from hfr_bench.lab.seeds import committed
from hfr_bench.lab.verification.files import judge
from hfr_bench.lab.verification.frozen import Frozen
from hfr_bench.model.bundle import Check
from hfr_bench.model.prereg import SEED, SEED_DIGEST, SourcePin, SuiteSelection
from hfr_bench.model.record import text_digest
from hfr_bench.ports.suite import Committed, Regrown

TOLD = "the seeds told are those committed to"
REGROWN = "the tasks are those that the seeds give"
LATER = "the seeds given"
_LEVEL = 3


class _Found(NamedTuple):
    """What came of making a suite's tasks again. `unknown`: why it could not be done here."""

    wrong: tuple[str, ...] = ()
    fine: str = ""
    unknown: str = ""


Told = Mapping[str, Mapping[str, str]]
"""Where seeds are told -> suite -> the seed."""


def seeds(frozen: Frozen, later: Mapping[str, str] | None = None) -> Iterator[Check]:
    """Nothing for a registration that commits to no seed, if none is told either.

    `later`: seeds by suite that are told beside the bundle. One is checked as if it lay in it,
    and does not hide one that does.
    """
    chosen = committed(frozen.prereg.suites)
    told: Told = {seal.CONTENT: _there(frozen), LATER: later or {}}
    if not chosen and not any(told.values()):
        return
    fits = {
        name: seed
        for there in told.values()
        for name, seed in there.items()
        if name in chosen and _fits(chosen[name], seed)
    }
    yield _told(chosen, told, fits)
    found = [_again(frozen, chosen[name], fits[name]) for name in chosen if name in fits]
    wrong = [told for one in found for told in one.wrong]
    unknown = "; ".join(one.unknown for one in found if one.unknown)
    if unknown and not wrong:
        detail = f"only the digest was checked: {unknown}"
        yield Check(level=_LEVEL, check=REGROWN, ok=None, detail=detail)
    elif found:
        yield judge(_LEVEL, REGROWN, wrong, ", ".join(one.fine for one in found))


def _there(frozen: Frozen) -> dict[str, str]:
    """The seeds that are told, by suite: here, or in the registration itself."""
    registered = {
        name: str(chosen.config[SEED])
        for name, chosen in committed(frozen.prereg.suites).items()
        if chosen.config.get(SEED) is not None
    }
    return registered | frozen.content.seeds


def _fits(chosen: SuiteSelection, seed: str) -> bool:
    return bool(text_digest(seed) == chosen.config[SEED_DIGEST])


def _told(chosen: Mapping[str, SuiteSelection], told: Told, fits: Mapping[str, str]) -> Check:
    each = [(where, name, seed) for where, there in told.items() for name, seed in there.items()]
    wrong = [
        f"{where}: the seed of {name} has the digest {text_digest(seed)[:12]}, "
        f"{PREREG} commits to {str(chosen[name].config[SEED_DIGEST])[:12]}"
        for where, name, seed in each
        if name in chosen and not _fits(chosen[name], seed)
    ]
    wrong += [
        f"{where}: tells a seed of {name}, and none was committed to"
        for where, name, _ in each
        if name not in chosen
    ]
    lacking = [name for name in chosen if not any(name in there for there in told.values())]
    if lacking and not wrong:
        detail = (
            f"not told, of {', '.join(lacking)}: that its tasks are of the seed committed to is "
            "the maker's word; --seeds FILE takes them where they were told later"
        )
        return Check(level=_LEVEL, check=TOLD, ok=None, detail=detail)
    fine = ", ".join(
        f"{name} {chosen[name].config[SEED_DIGEST][:12]}"
        + (f", from {LATER}" if name in told[LATER] else "")
        for name in fits
    )
    return judge(_LEVEL, TOLD, wrong, fine)


def _again(frozen: Frozen, chosen: SuiteSelection, seed: str) -> _Found:
    """A suite's tasks, made again of its seed and held against what was frozen."""
    name = chosen.suite
    try:
        plug: Any = plugins.find("suites", name) if name in plugins.offered("suites") else None
    except ImportError as error:
        return _Found(unknown=f"suite {name} cannot be loaded here ({error})")
    if plug is None:
        return _Found(unknown=f"suite {name} is not installed here")
    if not isinstance(plug, Committed):
        return _Found(unknown=f"suite {name}, as it is here, makes no tasks of a seed")
    was = next((pin for pin in frozen.lock.sources if pin.suite == name), None)
    if was is None:
        return _Found((f"{name}: the lock has no such suite",))
    try:
        whole = plug.regrown(seed, chosen.model_copy(update={"sample": None}))
        wrong = [*_drawn_from(frozen, chosen, whole), *_frozen(frozen, was, whole)]
        if wrong and (other := _other(was, whole.pin)):
            return _Found(unknown=f"suite {name} was {other}, and gives other tasks")
    except BadInputError as error:
        return _Found((str(error),))
    return _Found(tuple(wrong), f"{len(was.tasks)} of {name}")


def _other(was: SourcePin, now: SourcePin) -> str:
    """What tells that another state of the suite made the tasks, which may make others; or ""."""
    if (was.distribution, was.version) != (now.distribution, now.version):
        return f"{was.distribution} {was.version}, here it is {now.distribution} {now.version}"
    if was.content_digest != now.content_digest:
        return f"of content {was.content_digest[:12]}, here it is {now.content_digest[:12]}"
    return ""


def _drawn_from(frozen: Frozen, chosen: SuiteSelection, whole: Regrown) -> Iterator[str]:
    """The lock's tasks are all that were chosen, or its sample was drawn from all of them."""
    name, made = chosen.suite, whole.pin.tasks
    if chosen.sample is None:
        locked = next(pin.tasks for pin in frozen.lock.sources if pin.suite == name)
        if locked != made:
            yield f"{name}: the lock has {len(locked)} tasks, and they are not the {len(made)} made"
        return
    pool = {task for sample in frozen.lock.samples if sample.suite == name for task in sample.pool}
    if pool != set(made):
        yield f"{name}: the sample was drawn from other tasks than the seed gives"


def _frozen(frozen: Frozen, was: SourcePin, whole: Regrown) -> Iterator[str]:
    """Each task of the lock and of content.json, as the seed gives it."""
    digests = whole.pin.task_digests
    for task in was.tasks:
        if was.task_digests.get(task) != digests.get(task):
            yield f"{task}: the lock has another task than the seed gives"
    if was.domains != whole.pin.domains:
        yield f"{was.suite}: the lock's domains are not those of the seed"
    points = {task.task_id: task.fault_points for task in whole.tasks}
    for one in frozen.content.tasks:
        if one.suite == was.suite and one.fault_points != points.get(one.task_id):
            yield f"{one.task_id}: {seal.CONTENT} has other fault points than the seed gives"
