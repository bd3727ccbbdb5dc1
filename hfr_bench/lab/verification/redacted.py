"""What can be told of a redacted bundle: by anybody, and by who holds the raw one beside it.

Anybody: what redactions.jsonl lists is in the traces, and the canary is in no file. With the raw
bundle: line by line, the two are the same but for what is listed, and the raw one is what the
redacted one was made of, by the ends of its chains; with the owner's key, each original is the one
that was signed.
"""

import hmac
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import ValidationError

from hfr_bench.lab import canary, seal
from hfr_bench.lab.pricing import PRICES
from hfr_bench.lab.redacting.keys import owners_key
from hfr_bench.lab.redacting.policy import MARKED, at, blanked
from hfr_bench.lab.register import LOCK, PLAN, PREREG, SCHEDULES
from hfr_bench.lab.runlog import LOOKED, RUN_LOG
from hfr_bench.lab.verification.files import Work, judge, lay_out
from hfr_bench.lab.verification.read import opened
from hfr_bench.lab.verification.sense import journal
from hfr_bench.model.bundle import Check, Verification
from hfr_bench.model.redaction import Redacted, Redaction

_FROZEN = (PREREG, LOCK, PRICES, PLAN)
_MARK = re.compile(rb"\[\d+ characters, ([0-9a-f]{16})\]")
_WORD = b" characters, "
_BROKEN = (ValueError, KeyError, IndexError, TypeError, AttributeError)

Listed = Mapping[str, Mapping[int, Sequence[Redaction]]]
"""File -> line -> what was changed there."""


def redacted(work: Work) -> Iterator[Check]:
    """Level 0, what only a redacted bundle has; nothing for any other."""
    if seal.REDACTED not in work.kept and seal.REDACTIONS not in work.kept:
        return
    title = "what was redacted is listed, line by line"
    try:
        says, changes = _told(work)
    except ValidationError as error:
        yield Check(level=0, check=title, ok=False, detail=str(error).partition("\n")[0])
        return
    by_path = _by_line(changes)
    wrong = [told for path, lines in by_path.items() for told in _lacking(work, path, lines)]
    wrong += [*_unlisted(work, changes), *_miscounted(work, says, changes)]
    rules = ", ".join(f"{count} {rule}" for rule, count in says.counts.items()) or "nothing"
    yield judge(0, title, wrong, f"{rules}; the raw one may be compared (--raw)")
    fake = canary.value(work.says.prereg_digest).encode()
    found = [name for name in work.digests if fake in _bytes(work, name)]
    runs = [line.canary for line in journal(work) if line.end != LOOKED]
    if says.canary is not (bool(runs) and all(runs)):
        found.append(f"{RUN_LOG} does not say that it was planted as {seal.REDACTED} does")
    fine = "it was in every run's environment" if says.canary else "no run had it"
    yield judge(0, "the planted key is in no file", found, fine)


def _unlisted(work: Work, changes: Sequence[Redaction]) -> Iterator[str]:
    """Traces in which more, or other, texts are replaced by keyed digests than are listed."""
    listed: dict[str, Counter[str]] = defaultdict(Counter)
    for one in changes:
        if "digest" in one.rule:
            listed[one.path][one.hmac[:MARKED]] += 1
    for chain in work.chains:
        data = _bytes(work, chain.path)
        there = (
            Counter(sign.decode() for sign in _MARK.findall(data)) if _WORD in data else Counter()
        )
        if there != listed[chain.path]:
            yield f"{chain.path}: its digests of texts are not those listed"


def _miscounted(work: Work, says: Redacted, changes: Sequence[Redaction]) -> Iterator[str]:
    """What redaction.json tells of the lists around it."""
    if dict(Counter(one.rule for one in changes)) != says.counts:
        yield f"{seal.REDACTED} counts otherwise than {seal.REDACTIONS} lists"
    raw = {chain.path: chain.lines for chain in says.raw}
    if raw != {chain.path: chain.lines for chain in work.chains}:
        yield f"{seal.REDACTED} has the raw ends of other traces, or of other lengths"


def _told(work: Work) -> tuple[Redacted, tuple[Redaction, ...]]:
    says = Redacted.loads(work.kept.get(seal.REDACTED, b""))
    lines = work.kept.get(seal.REDACTIONS, b"").split(b"\n")
    return says, tuple(Redaction.loads(line) for line in lines if line)


def _bytes(work: Work, name: str) -> bytes:
    path = work.folder / name
    return path.read_bytes() if path.is_file() else work.kept.get(name, b"")


def _by_line(changes: Sequence[Redaction]) -> dict[str, dict[int, list[Redaction]]]:
    listed: dict[str, dict[int, list[Redaction]]] = defaultdict(lambda: defaultdict(list))
    for one in changes:
        listed[one.path][one.line].append(one)
    return listed


def _lacking(work: Work, path: str, lines: Mapping[int, Sequence[Redaction]]) -> Iterator[str]:
    """The lines at which there is no text where a redaction is listed."""
    data = _bytes(work, path).split(b"\n")
    for number, changes in lines.items():
        try:
            event = json.loads(data[number - 1])
            fine = all(isinstance(at(event, change.pointer), str) for change in changes)
        except _BROKEN:
            fine = False
        if not fine:
            yield f"{path}:{number}"


def compared(found: Verification, path: Path, raw: Path, key: bytes | None = None) -> Verification:
    """A verification, and besides whether a redacted bundle was made of a raw one.

    Args:
        found: what verifying `path` gave.
        path: the redacted bundle.
        raw: the raw bundle of the same experiment.
        key: the owner's; None leaves the signatures of the originals aside.

    Raises BadInputError if either is no bundle.
    """
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        with opened(path) as files:
            work = lay_out(files, Path(one).resolve())
        with opened(raw) as files:
            whole = lay_out(files, Path(other).resolve())
        checks = (*found.checks, *_compared(work, whole, key))
    return found.model_copy(
        update={"checks": checks, "verified": all(check.ok is not False for check in checks)}
    )


def compared_by(found: Verification, path: Path, raw: Path, key: Path | None) -> Verification:
    """The same, by the owner's key in a file. Raises BadInputError for a file that holds none."""
    return compared(found, path, raw, owners_key(key) if key else None)


def _compared(work: Work, raw: Work, key: bytes | None) -> Iterator[Check]:
    title = "the raw bundle is the one this was made of"
    try:
        says, changes = _told(work)
    except ValidationError:
        yield Check(level=0, check=title, ok=False, detail="this is no redacted bundle")
        return
    made = {chain.path: chain for chain in raw.chains}
    wrong = [f"{one.path} ended otherwise" for one in says.raw if made.get(one.path) != one]
    wrong += [f"{name} is in the raw one alone" for name in made.keys() - _paths(work)]
    wrong += [str(line) for one in raw.checked for line in (*one.bad, *one.breaks)]
    frozen = [n for n in work.digests if n in _FROZEN or n.startswith(f"{SCHEDULES}/")]
    wrong += [f"{n} is another" for n in frozen if raw.digests.get(n) != work.digests[n]]
    yield judge(0, title, wrong, f"{len(made)} chains end alike")
    listed = _by_line(changes)
    yield _line_by_line(work, raw, listed)
    yield _signed(raw, listed, says, key)


def _paths(work: Work) -> set[str]:
    return {chain.path for chain in work.chains}


def _line_by_line(work: Work, raw: Work, listed: Listed) -> Check:
    """Both are the same but for `prev` and what is listed."""
    wrong, count = [], 0
    for name in sorted(_paths(work)):
        ours, theirs = (_bytes(one, name).split(b"\n") for one in (work, raw))
        if len(ours) != len(theirs):
            wrong.append(f"{name} has another number of lines")
            continue
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True), 1):
            count += bool(one)
            pointers = [change.pointer for change in listed.get(name, {}).get(number, ())]
            if one != other and not _alike(one, other, pointers):
                wrong.append(f"{name}:{number} differs where nothing is listed")
    return judge(0, "line by line, nothing else was changed", wrong, f"{count} lines")


def _alike(one: bytes, other: bytes, pointers: Sequence[str]) -> bool:
    try:
        return bool(blanked(one, pointers) == blanked(other, pointers))
    except _BROKEN:
        return False


def _signed(raw: Work, listed: Listed, says: Redacted, key: bytes | None) -> Check:
    """Each original is the one whose HMAC is listed."""
    title = "the originals are those that were signed"
    if key is None:
        detail = "no key was given: it stays with the owner"
        return Check(level=0, check=title, ok=None, detail=detail)
    if sha256(key).hexdigest()[:16] != says.key_id:
        return Check(level=0, check=title, ok=False, detail="it is another key")
    wrong, count = [], 0
    for name, lines in listed.items():
        if not seal.TRACE.fullmatch(name):
            continue  # journal and notes have no chain; their originals are in the raw bundle
        data = _bytes(raw, name).split(b"\n")
        for number, changes in lines.items():
            for change in changes:
                count += 1
                if not _signs(data, number, change, key):
                    wrong.append(f"{name}:{number}{change.pointer}")
    return judge(0, title, wrong, f"{count} originals")


def _signs(data: Sequence[bytes], number: int, change: Redaction, key: bytes) -> bool:
    try:
        text = at(json.loads(data[number - 1]), change.pointer)
        made = hmac.new(key, text.encode(errors="surrogatepass"), sha256).hexdigest()
    except _BROKEN:
        return False
    return hmac.compare_digest(made, change.hmac)
