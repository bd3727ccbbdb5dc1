"""A copy of an experiment without what may not leave, and the bundle that is made of it.

    traces -> each line's texts by the policy -> chains linked anew, ends of the raw ones kept
      -> report of the redacted traces == report of the raw ones, number by number, or no bundle
      -> bundle, scanned like any other

What was frozen is never changed: a secret in there stops the bundle.
"""

import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from hfr_bench.errors import InvalidExperimentError
from hfr_bench.lab import canary, seal
from hfr_bench.lab.amending import PARENTS
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.bundle import Made, bundle
from hfr_bench.lab.looks import LOOKS
from hfr_bench.lab.offer import own_files
from hfr_bench.lab.pricing import PRICES
from hfr_bench.lab.redacting.policy import Censor, Texts, rules
from hfr_bench.lab.register import LOCK, PLAN, PREREG, SCHEDULES, TOKEN, TRIALS, Experiment
from hfr_bench.lab.review.summary import with_review
from hfr_bench.lab.runlog import RUN_LOG
from hfr_bench.lab.scan import Scanner
from hfr_bench.lab.store import Store
from hfr_bench.model.bundle import Chain, Content
from hfr_bench.model.redaction import Redacted, Redaction
from hfr_bench.model.report import Report

_PREV = re.compile(rb'"prev":"[0-9a-f]*"')
_COPIED = (PREREG, LOCK, PRICES, PLAN, TOKEN, LOOKS)


class Copy(NamedTuple):
    """A redacted experiment, and what its bundle tells of that."""

    experiment: Experiment
    says: Redacted
    changes: tuple[Redaction, ...]

    @property
    def files(self) -> dict[str, bytes]:
        """redaction.json and redactions.jsonl."""
        lines = "".join(f"{change.dumps()}\n" for change in self.changes)
        return {
            seal.REDACTED: seal.canonical_file(self.says.model_dump(mode="json")),
            seal.REDACTIONS: lines.encode(),
        }


def bundle_redacted(
    experiment: Experiment,
    made_of: Content,
    out: Path,
    *,
    key: bytes,
    scanner: Scanner,
    environ: Mapping[str, str],
    incomplete: bool = False,
) -> Made:
    """Write an experiment's redacted bundle; arguments as `lab.bundle.bundle` has them.

    `key`: the owner's (`owners_key`). `environ`: its secrets are taken out wherever they stand.
    Raises InvalidExperimentError as `bundle` does, and if the canary is in a trace, or if a number
    of the report would not follow from what is left.
    """
    with copied(experiment, made_of, key=key, environ=environ) as copy:
        return bundle(
            copy.experiment,
            made_of,
            out,
            incomplete=incomplete,
            scanner=scanner,
            more=copy.files,
        )


@contextmanager
def copied(
    experiment: Experiment, made_of: Content, *, key: bytes, environ: Mapping[str, str]
) -> Iterator[Copy]:
    """A redacted copy of an experiment, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="hfr-redact-") as temporary:
        folder = Path(temporary).resolve()
        _frozen(experiment.path, folder)
        work = _Work(experiment, folder, Censor(environ, key))
        work.traces()
        work.words()
        of = experiment._replace(path=folder)
        raw = _report(experiment, made_of)
        _same_numbers(raw, _report(of, made_of))
        copy = Copy(of, work.says(sha256(key).hexdigest()[:16], raw), tuple(work.changes))
        try:
            yield copy
        except InvalidExperimentError as error:  # whoever reads it knows the original alone
            told = str(error).replace(str(folder), str(experiment.path))
            raise InvalidExperimentError(told) from error


def _frozen(source: Path, folder: Path) -> None:
    """What no redaction touches."""
    for name in _COPIED:
        if (source / name).is_file():
            shutil.copyfile(source / name, folder / name)
    for name in (SCHEDULES, PARENTS):
        if (source / name).is_dir():
            shutil.copytree(source / name, folder / name)
    for path in own_files(source):
        made = folder / path.relative_to(source)
        made.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, made)


class _Work:
    """One redaction: what it has changed so far."""

    def __init__(self, experiment: Experiment, folder: Path, censor: Censor) -> None:
        self._from, self._to, self._censor = experiment, folder, censor
        self._texts = rules(sorted({one.suite for one in experiment.prereg.suites}))
        self._strictest = max(self._texts.values(), key=list(Texts).index)
        self._canary = canary.value(experiment.lock.prereg_digest).encode()
        self._raw: list[Chain] = []
        self.changes: list[Redaction] = []

    def traces(self) -> None:
        """Every finished trace, line by line, linked anew."""
        suites = {row.trial.pair_group: row.trial.suite for row in self._from.plan}
        for file in Store(self._from.path).files():
            data = file.path.read_bytes()
            if self._canary in data:
                raise InvalidExperimentError(
                    f"{file.name}: holds the fake key ${canary.NAME} that was in the environment "
                    "of the run: so would it any other. Find what writes its environment there"
                )
            self._raw.append(seal.chain_of(file.name, data))
            texts = self._texts.get(suites.get(file.group, ""), Texts.DIGEST)
            made = self._to / file.name
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_bytes(self._trace(file.name, data, texts))

    def _trace(self, name: str, data: bytes, texts: Texts) -> bytes:
        prev, made = "", bytearray()
        for number, raw in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
            try:
                event: dict[str, Any] = json.loads(raw)
                body, changed = self._censor.body(event["body"], texts)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InvalidExperimentError(
                    f"{name}:{number}: cannot be read, so that nobody knows what to take out of it"
                ) from error
            if changed:
                event |= {"prev": prev, "body": body}
                line = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()
                self.changes += [
                    Redaction(path=name, line=number, **one._asdict()) for one in changed
                ]
            else:
                line = _PREV.sub(f'"prev":"{prev}"'.encode(), raw, count=1)
            prev = sha256(line).hexdigest()
            made += line + b"\n"
        return bytes(made)

    def words(self) -> None:
        """What else holds free words: the journal of runs, and notes of people."""
        source, folder = self._from.path, self._to
        lists = [(RUN_LOG, "stopped", Texts.REDACTED)]
        ratings = sorted((source / seal.REVIEWS).glob("*.jsonl"))
        lists += [(f"{seal.REVIEWS}/{path.name}", "note", self._strictest) for path in ratings]
        for name, field, texts in lists:
            if not (source / name).is_file():
                continue
            (folder / name).parent.mkdir(exist_ok=True)
            lines = []
            for number, line in enumerate((source / name).read_text("utf-8").split("\n"), 1):
                lines.append(self._line(name, number, line, field, texts))
            (folder / name).write_text("\n".join(lines), encoding="utf-8")

    def _line(self, name: str, number: int, line: str, field: str, texts: Texts) -> str:
        try:
            event = json.loads(line)
            text = str(event.get(field) or "")
        except (ValueError, AttributeError):
            return ""  # a line that a dying process left half-written: nobody reads it
        made, rule = self._censor.text(text, texts)
        if not rule:
            return line
        hmac = self._censor.sign(text)
        told = Redaction(path=name, line=number, pointer=f"/{field}", rule=rule, hmac=hmac)
        self.changes.append(told)
        return json.dumps(event | {field: made}, separators=(",", ":"), ensure_ascii=False)

    def says(self, key_id: str, raw: Report) -> Redacted:
        """What the bundle tells of it."""
        top = self._from.path
        every = sorted(p.relative_to(top).as_posix() for p in (top / TRIALS).glob("*/r*/*"))
        left_out = (n for n in every if seal.known(n) and not seal.TRACE.fullmatch(n))
        return Redacted(
            texts={suite: str(rule) for suite, rule in self._texts.items()},
            key_id=key_id,
            canary=canary.was_planted(top),
            counts=dict(sorted(Counter(one.rule for one in self.changes).items())),
            left_out=tuple(left_out),
            raw_traces_digest=raw.traces_digest,
            raw=tuple(self._raw),
        )


def _report(experiment: Experiment, made_of: Content) -> Report:
    report = analyse(
        experiment.prereg,
        experiment.lock,
        experiment.plan,
        Store(experiment.path),
        experiment.book.schedule,
        made_of.kinds,
    )
    return with_review(report, experiment)


def _same_numbers(raw: Report, made: Report) -> None:
    """No number of the report may hang on what was taken out. Raises InvalidExperimentError."""
    one, other = (dict(_numbers(report.model_dump(mode="json"))) for report in (raw, made))
    found = sorted(path for path in {*one, *other} if one.get(path) != other.get(path))
    if found:
        raise InvalidExperimentError(
            "nothing was bundled, for these values do not follow from the redacted traces: "
            + ", ".join(found[:5])
        )


_CLAIMS = frozenset({"verdict", "origin", "arm", "metric", "value"})


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """A report's values by path, and its verdicts; other words may quote what was taken out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _numbers(inner, f"{path}[{number}]")
    elif not isinstance(value, str) or path.rpartition(".")[2] in _CLAIMS:
        yield path, value
