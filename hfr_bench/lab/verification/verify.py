"""From a bundle to a verdict: what it claims follows from what it holds, level by level.

0 integrity, 1 registration, 2 schedules and plan, 3 every number of the report; these need no
engine, no key and no network. 4 runs and grades a sample of trials again, and needs the suites.
Nothing is believed that can be recomputed; docs/bundle.md says what no level can prove.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hfr_bench import __version__
from hfr_bench.errors import BadInputError, HfrError, InfrastructureError
from hfr_bench.lab import seal
from hfr_bench.lab.ingest import collector_paused
from hfr_bench.lab.looks import ends_here, told
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.rendering import render
from hfr_bench.lab.rendering.pages import HTML, describe, environment
from hfr_bench.lab.seeds import belong
from hfr_bench.lab.verification.ahead import Ahead
from hfr_bench.lab.verification.crew import Crew
from hfr_bench.lab.verification.files import Work, judge, lay_out, level_0, other_version
from hfr_bench.lab.verification.frozen import Frozen, level_1, level_2, read_frozen
from hfr_bench.lab.verification.prices import tokens_cost
from hfr_bench.lab.verification.read import opened
from hfr_bench.lab.verification.redacted import redacted
from hfr_bench.lab.verification.seeds import seeds
from hfr_bench.lab.verification.sense import prices
from hfr_bench.model.bundle import AGAIN, DEFAULT_LEVEL, LEVELS, Check, Environment, Verification
from hfr_bench.model.report import Report

if TYPE_CHECKING:
    from hfr_bench.lab.verification.again import Sample

WORD: tuple[tuple[str, ...], ...] = (
    (
        (
            "who bundled it: the statement is unsigned. Compare the manifest's digest with one "
            "that was published (--expect)"
        ),
    ),
    (
        "the dates: they are by its own clock, but for a timestamp that was checked",
        "the versions of suites and of prices that the lock names",
        "that nobody was shown results before the end, but as run.jsonl tells",
        "what content/suites/ shows a reader: no number rests on it",
    ),
    (
        (
            "that the fault points in content.json are those of the suite's tasks; they give the "
            "frozen schedules, and the tasks carry the digests of the lock"
        ),
        (
            "that run.jsonl tells of every run: void trials that were taken out of it and of the "
            "traces alike leave no mark"
        ),
    ),
    (
        (
            "what the checker said of the world (goal_met, official): whoever seals a bundle can "
            "rewrite it, with all that follows from it, and pass levels 0 to 3. A digest that was "
            "published before betrays that (--expect), and level 4 where it draws such a trial"
        ),
        (
            "what hangs on the sealed task (expected effects, partial groups, in_time); of a wall "
            "clock, where between two lines a recovery began and ended; whether a conversation "
            "that was to be shortened became shorter"
        ),
        "that a trace tells what happened; the delivery audit and the controls speak for it",
        "what people said when they looked trials over: their ratings are taken as they are",
        (
            "how many tokens a live model's answers took; and what they cost, where the bundle has "
            "no price for it or not the answer: there money is added up from the traces"
        ),
    ),
    ("all of this for the trials that were not in the sample",),
)
"""What each level leaves to the word of whoever made the bundle."""

_NEAR = 1e-9
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_LACKS = " is not there"


@collector_paused()
def verify(
    path: Path,
    level: int = DEFAULT_LEVEL,
    expect: str | None = None,
    authority: Path | None = None,
    sample: "Sample | None" = None,
    crew: Crew | None = None,
    told_later: Mapping[str, str] | None = None,
) -> Verification:
    """Verify a bundle up to a level.

    Args:
        path: a zip or a directory.
        level: 0 to 4; each one includes those below.
        expect: the digest of its manifest (or its beginning), as published elsewhere.
        authority: certificates (PEM) that are trusted to sign timestamps.
        sample: which trials level 4 runs again, and where.
        crew: who helps; None: nobody.
        told_later: seeds by suite, of those the bundle commits to and was made without
            (`lab.seeds.read`).

    Raises BadInputError if it is no bundle at all, or commits to no seed that is given;
    InfrastructureError if a trial could not be run again for want of something of ours;
    what is wrong with a bundle is in the result.
    """
    with tempfile.TemporaryDirectory(prefix="hfr-verify-") as temporary, opened(path) as files:
        ahead = Ahead(crew or Crew(1), path, files, level)
        try:
            work = lay_out(files, Path(temporary).resolve(), ahead.read)
        except BadInputError as error:
            raise BadInputError(f"{path}: {error}") from error
        checks = [*_through(work, 0, lambda: (*level_0(work), *redacted(work)))]
        digest = work.digests.get(seal.MANIFEST, "")
        if expect is not None:
            checks.append(_expected(digest, expect.lower()))
        if level > 0:
            work.authority, work.seeds = authority, told_later or {}
            checks += _above(work, level, sample, ahead)
    return Verification(
        name=work.says.name,
        origin=work.says.origin,
        manifest_digest=digest,
        level=level,
        verified=all(check.ok is not False for check in checks),
        complete=work.says.complete,
        valid=work.says.valid,
        checks=tuple(checks),
        word=sum(WORD[: level + 1], ()),
    )


def _expected(digest: str, expect: str) -> Check:
    right = len(expect) >= 12 and digest.startswith(expect)
    detail = f"{digest[:12]}" if right else f"it is {digest}, expected {expect}"
    return Check(level=0, check="the manifest is the one expected", ok=right, detail=detail)


def _above(work: Work, level: int, sample: "Sample | None", ahead: Ahead) -> Iterator[Check]:
    """Levels 1 to `level`. A level that cannot be gone through has failed, and says at what."""
    try:
        frozen = ahead.frozen or read_frozen(work)
    except HfrError as error:
        what = "what was frozen can be read"
        told = _told(work, error) + other_version(work.says.dumps().encode())
        yield Check(level=1, check=what, ok=False, detail=told)
        return
    belong(work.seeds, frozen.prereg.suites)
    ahead.begin(work)
    steps: tuple[Callable[[], Iterable[Check]], ...] = (
        lambda: level_1(work, frozen),
        lambda: level_2(work, frozen, ahead.drawn),
        lambda: level_3(work, frozen, ahead),
        lambda: _again(work, sample),
    )
    # Numbers are made while a helper draws the schedules again; levels are told in their order.
    turns = [number for number in (1, 3, 2, 4) if number <= level]
    found = {number: list(_through(work, number, steps[number - 1])) for number in turns}
    for number in sorted(found):
        yield from found[number]


def _through(work: Work, number: int, step: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """A level's checks, and one more where it cannot be gone through."""
    try:
        yield from step()
    except InfrastructureError:  # an engine that is gone, say
        raise
    # Whatever a stranger's file makes our code do is that file's fault, not a defect of ours.
    except Exception as error:  # noqa: BLE001
        told = f"{type(error).__name__}: {_told(work, error)}"
        yield Check(level=number, check="it can be checked at all", ok=False, detail=told)


def _told(work: Work, error: Exception) -> str:
    return str(error).replace(f"{work.folder}/", "").replace(str(work.folder), "the bundle")


def _again(work: Work, sample: "Sample | None") -> Iterator[Check]:
    """Level 4: all that a run takes is loaded for it."""
    from hfr_bench.lab.verification.again import Sample, level_4  # noqa: PLC0415 - half a second

    return level_4(work, sample or Sample())


# -- level 3: re-derivation -------------------------------------------------------------------


def level_3(work: Work, frozen: Frozen, ahead: Ahead) -> Iterator[Check]:
    """Every number made again from the traces."""
    from hfr_bench.lab.analyse import analyse  # noqa: PLC0415 - numpy, scipy: traces come first
    from hfr_bench.lab.review.summary import with_review  # noqa: PLC0415 - the same

    prereg, lock, plan = frozen.prereg, frozen.lock, frozen.plan
    book = frozen.book(work.folder)
    made = analyse(
        prereg, lock, plan, work.store, book.schedule, frozen.content.kinds,
        facts=work.facts, outlines=book.outline,
    )  # fmt: skip
    yield from _ended(made)
    experiment = Experiment(work.folder, prereg, lock, plan, book)
    made = with_review(made, experiment)
    text = render.to_json(made).encode()
    yield _numbers(work, text)
    yield _says(work, made)
    yield prices(work, prereg)
    yield from tokens_cost(work, prereg)
    yield from seeds(frozen, work.seeds)
    yield from _pages(work, ahead.pages(made, text, experiment))


def _ended(made: Report) -> Iterator[Check]:
    """An experiment that ended at a look must have had reason to."""
    if made.look is None or not made.look.stopped:
        return
    verdicts = {row.id: row.verdict for row in made.hypotheses}
    right = ends_here(verdicts, {row.id: row.family for row in made.hypotheses})
    detail = told(made.look) if right else "not every claim of the first family is supported there"
    yield Check(level=3, check="it ended at a registered look", ok=right, detail=detail)


def _numbers(work: Work, text: bytes) -> Check:
    """`text`: the report that was made here, as JSON."""
    title = f"{seal.REPORT} follows from the traces"
    kept, again = work.kept.get(seal.REPORT, b""), json.loads(text)
    try:
        found = [] if kept == text else list(differences(json.loads(kept), again))
    except ValueError as error:
        return Check(level=3, check=title, ok=False, detail=f"{seal.REPORT}: {error}")
    fine = f"{_count(again)} values"
    ok: bool | None = True
    if other := _made_otherwise(work):
        fine += f"; {other}"
        lacking = [line.removesuffix(_LACKS) for line in found if line.endswith(_LACKS)]
        if lacking:  # fields of later ones, or what somebody would rather not show
            names = dict.fromkeys(re.sub(r"\[\d+\]", "[]", name) for name in lacking)
            ok, fine = None, f"{fine}, without {', '.join(names)}"
        found = [line for line in found if not line.endswith(_LACKS)]
        found = [f"{line} ({other})" for line in found[:1]] + found[1:]
    made = judge(3, title, found, fine)
    return made if found or ok else made.model_copy(update={"ok": ok})


def _made_otherwise(work: Work) -> str:
    """That another version, or another state of this one, made the report; "" if this one did."""
    if work.says.harness_version != __version__:
        return f"made by {work.says.harness_version}, again by {__version__}"
    here, by = environment(), _environment(work)
    if by is None or by.code == here.code:
        return ""
    return f"made by another state of {__version__} (code {by.code[:12] or 'not told'})"


def _environment(work: Work) -> Environment | None:
    try:
        return Environment.loads(work.kept.get(seal.ENVIRONMENT, b""))
    except ValueError:
        return None


def differences(said: Any, made: Any, path: str = "") -> Iterator[str]:
    """Where two JSON values differ, by path: what is said, and what was made.

    Integers and text must be equal; floats too, or nearer than 1e-9 of their size.
    """
    if isinstance(said, dict) and isinstance(made, dict):
        for key in sorted({*said, *made}):
            where = f"{path}.{key}" if path else key
            if key not in said or key not in made:
                yield f"{where}{_LACKS if key not in said else ' should not be there'}"
            else:
                yield from differences(said[key], made[key], where)
    elif isinstance(said, list) and isinstance(made, list):
        if len(said) != len(made):
            yield f"{path} has {len(said)} entries, the traces give {len(made)}"
        for number, (one, other) in enumerate(zip(said, made, strict=False)):
            yield from differences(one, other, f"{path}[{number}]")
    elif not _same(said, made):
        yield f"{path} is {_short(said)}, the traces give {_short(made)}"


def _same(said: Any, made: Any) -> bool:
    numbers = (int, float)
    if type(said) in numbers and type(made) in numbers and float in (type(said), type(made)):
        return said == made or isclose(said, made, rel_tol=_NEAR, abs_tol=_NEAR)
    return type(said) is type(made) and bool(said == made)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _count(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_count, value.values()))
    return sum(map(_count, value)) if isinstance(value, list) else 1


def _says(work: Work, made: Report) -> Check:
    """bundle.json speaks of this report, and of nothing better."""
    said = work.says.summary().model_dump(mode="json")
    again = describe(made).model_dump(mode="json") | {"harness_version": said["harness_version"]}
    fine = f"{made.trials_analysed} of {made.trials_planned} trials"
    return judge(3, "bundle.json follows from the traces", differences(said, again), fine)


def _pages(work: Work, made: dict[str, bytes]) -> Iterator[Check]:
    """What people read is that report, rendered. Other versions may lay it out otherwise."""
    by, here = _environment(work), environment()
    for name in (*(name for name in made if name != seal.REPORT), *_unmade(work, made)):
        said, text = work.kept.get(name, b""), made.get(name)
        title = f"{name} shows that report"
        if text is None:
            detail = "not compared: that takes pip install 'hfr-bench[report]'"
            yield Check(level=3, check=title, ok=None, detail=detail)
            continue
        if said == text:
            yield Check(level=3, check=title, ok=True, detail=f"{len(text)} bytes")
            continue
        alike = by is not None and by.harness_version == here.harness_version
        alike = alike and not _made_otherwise(work)
        if name.endswith(".html"):
            alike = alike and by is not None and by.packages == here.packages
        detail = f"line {_first_difference(said, text)} differs"
        if not alike:
            detail = f"made by other versions: {_unlike(_undrawn(said), _undrawn(text))}"
        yield Check(level=3, check=title, ok=False if alike else None, detail=detail)


def _unmade(work: Work, made: dict[str, bytes]) -> list[str]:
    return [HTML] if HTML in work.kept and HTML not in made else []


def _undrawn(page: bytes) -> bytes:
    """A page without its style and what its figures draw; what they show in words is kept."""
    page = re.sub(rb"<style>.*?</style>", b"", page, flags=re.DOTALL)
    return re.sub(rb"<svg.*?(<title.*?</desc>).*?</svg>", rb"\1", page, flags=re.DOTALL)


def _unlike(said: bytes, made: bytes) -> str:
    """What can be told of a page (`_undrawn`) that another version laid out otherwise.

    It has hardly other numbers to show: how many it has that the one made here does not.
    """
    if said == made:
        return "its words and numbers are that report's; style and drawings were not compared"
    one, other = (Counter(_NUMBER.findall(text)) for text in (said, made))
    if not (strange := list((one - other).elements())):
        return "not compared"
    first = strange[0].decode()
    return f"not compared, and {len(strange)} numbers in it are not in the one made here ({first})"


def _first_difference(said: bytes, made: bytes) -> int:
    pairs = zip_longest(said.split(b"\n"), made.split(b"\n"))
    return next((n for n, (one, other) in enumerate(pairs, 1) if one != other), 0)


# -- the verdict ------------------------------------------------------------------------------


def verdict(found: Verification) -> str:
    """The last line: verified or not, up to which level, and of what kind of experiment."""
    what = f"{found.name} ({found.origin}), manifest {found.manifest_digest[:12]}"
    failed = [check for check in found.checks if check.ok is False]
    if failed:
        first = failed[0]
        more = f" ({len(failed)} checks failed)" if len(failed) > 1 else ""
        return f"NOT VERIFIED, level {first.level}: {first.check}: {first.detail}{more}. {what}"
    doubts = [] if found.valid else ["the experiment is NOT VALID: believe none of its numbers"]
    doubts += [] if found.complete else ["the experiment is INCOMPLETE"]
    doubts += [f"{c.check}: cannot be told, {c.detail}" for c in found.checks if c.ok is None]
    doubt = f"; but {'; '.join(doubts)}" if doubts else ""
    level = found.level - unfinished(found)
    return f"VERIFIED up to level {level} ({LEVELS[level]}): {what}{doubt}"


def unfinished(found: Verification) -> bool:
    """Whether level 4 was asked for, and could not be gone through here."""
    return found.level == AGAIN and any(
        check.ok is None for check in found.checks if check.level == AGAIN
    )
