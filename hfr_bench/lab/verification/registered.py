"""Level 1 of verification, what only some registrations have.

Samples are drawn again, detectable effects worked out again, amendments followed to their parents,
a timestamp held against the lock.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import pairwise

from hfr_bench.errors import BadInputError
from hfr_bench.faults import sampling
from hfr_bench.lab.amending import Ancestor, after_data, lineage
from hfr_bench.lab.register import LOCK, TOKEN, check_hypotheses
from hfr_bench.lab.sampling import told
from hfr_bench.lab.verification.files import Work, judge
from hfr_bench.model.bundle import Check
from hfr_bench.model.prereg import Lock, Preregistration
from hfr_bench.model.registered import SampleDrawn


def registered(work: Work, prereg: Preregistration, lock: Lock) -> Iterator[Check]:
    """Nothing for a registration that has none of these."""
    if lock.samples or any(chosen.sample for chosen in prereg.suites):
        yield _samples(prereg, lock)
    if prereg.hypotheses:
        claimable = _claimable(prereg)
        yield claimable
        if lock.claims and claimable.ok:
            yield _claims(prereg, lock)
    if prereg.amendment is not None or lock.after_data:
        yield _amendment(work, prereg, lock)
    if (work.folder / TOKEN).is_file():
        yield _timestamp(work)
    if lock.git:
        detail = f"{lock.git}; ask the repository that it is said to be in"
        yield Check(level=1, check="a git tag holds its digest", ok=None, detail=detail)


def _samples(prereg: Preregistration, lock: Lock) -> Check:
    """Every registered sample, drawn again from the pool that the lock lists."""
    found = {sample.suite: sample for sample in lock.samples}
    locked = {source.suite: source.tasks for source in lock.sources}
    wrong, fine = [], []
    for chosen in prereg.suites:
        wanted, drawn = chosen.sample, found.pop(chosen.suite, None)
        if wanted is None and drawn is None:
            continue
        if wanted is None or drawn is None:
            wrong.append(f"{chosen.suite}: a sample is registered or locked, not both")
            continue
        try:
            tasks = sampling.drawn(drawn.pool, wanted.n, wanted.seed, chosen.suite)
        except ValueError as error:
            wrong.append(f"{chosen.suite}: {error}")
            continue
        if tasks != locked.get(chosen.suite):
            wrong.append(f"{chosen.suite}: other tasks are drawn again than the lock has")
        if told(chosen.suite, wanted, dict(drawn.pool), tasks) != drawn:
            wrong.append(f"{chosen.suite}: the lock counts the strata otherwise")
        if chosen.tasks and set(drawn.pool) != set(chosen.tasks):
            wrong.append(f"{chosen.suite}: the pool has other tasks than were registered")
        fine.append(f"{len(tasks)} of {len(drawn.pool)} tasks of {chosen.suite}")
    wrong += [f"{suite}: is not registered" for suite in found]
    return judge(1, "the samples are drawn again alike", wrong, _of(lock.samples, fine))


def _of(samples: tuple[SampleDrawn, ...], fine: list[str]) -> str:
    strata = sum(len(sample.strata) for sample in samples)
    return f"{', '.join(fine)}, {strata} strata (what stratum a task is in is the maker's word)"


def _claimable(prereg: Preregistration) -> Check:
    """A lock that nobody's `freeze` wrote may hold claims that it refuses."""
    title = "its claims are such as may be registered"
    try:
        check_hypotheses(prereg)
    except BadInputError as error:
        return Check(level=1, check=title, ok=False, detail=str(error))
    return Check(level=1, check=title, ok=True, detail=f"{len(prereg.hypotheses)} hypotheses")


def _claims(prereg: Preregistration, lock: Lock) -> Check:
    from hfr_bench.lab.powered import claims  # noqa: PLC0415 - scipy: whoever helps needs none

    again = claims(prereg, tuple(len(source.tasks) for source in lock.sources))
    wrong = [
        f"{said.id}: {_otherwise(said.model_dump(), made.model_dump())}"
        for said, made in zip(lock.claims, again, strict=False)
        if not _alike(said.model_dump(), made.model_dump())
    ]
    wrong += [] if len(again) == len(lock.claims) else ["other hypotheses than are registered"]
    return judge(1, "detectable effects are worked out again", wrong, f"{len(again)} hypotheses")


def _otherwise(said: Mapping[str, object], made: Mapping[str, object]) -> str:
    name = next(name for name in said if not _alike({name: said[name]}, made))
    return f"{name} is {said[name]!r}, worked out again {made[name]!r}"


def _alike(said: Mapping[str, object], made: Mapping[str, object]) -> bool:
    """Equal, numbers to nine digits: other libraries may round otherwise."""
    return all(
        value == made[name]
        or (
            isinstance(value, float)
            and isinstance(other := made[name], float)
            and abs(value - other) <= 1e-9 * max(1.0, abs(value))
        )
        for name, value in said.items()
    )


def _amendment(work: Work, prereg: Preregistration, lock: Lock) -> Check:
    title = "amendments lead back to what they amend"
    try:
        parents = lineage(work.folder, prereg)
    except BadInputError as error:
        detail = str(error).replace(f"{work.folder}/", "").replace(str(work.folder), "the bundle")
        return Check(level=1, check=title, ok=False, detail=detail)
    wrong = []
    if after_data(prereg, parents) != lock.after_data:
        wrong.append("other hypotheses were changed after data than the lock says")
    whole = (Ancestor(prereg, lock), *parents)
    for younger, older in pairwise(whole):
        try:
            fine = _date(older.lock) <= _date(younger.lock)
        except (ValueError, TypeError):
            fine = False
        wrong += [] if fine else [f"{younger.lock.prereg_digest[:12]} is older than its parent"]
    seen = prereg.amendment.trials_seen if prereg.amendment else 0
    fine_ = f"{len(parents)} parent(s), {seen} trials seen (the maker's word)"
    return judge(1, title, wrong, fine_)


def _date(lock: Lock) -> datetime:
    return datetime.fromisoformat(lock.frozen_at)


def _timestamp(work: Work) -> Check:
    """The token beside the lock: what openssl says of it, where it is installed."""
    from hfr_bench.lab.timestamp import check  # noqa: PLC0415 - HTTP: only where a token lies

    found = check(work.folder / LOCK, work.authority)
    ok = found.trusted if found.imprint else False
    return Check(level=1, check="a timestamp is over this lock", ok=ok, detail=found.detail)
