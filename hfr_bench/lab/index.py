"""`hfr.duckdb`: what was found out about each trial file, kept.

An index, never the truth: it is made of the traces, may be deleted at any time, and is made anew
when the plan, the schedules, the fault kinds or this program's own reading are others. A row is
believed while its file has the same size and time of change, or else the same SHA-256. Numbers are
made by `lab.analyse` of the same facts, whether a row or the file gave them; `verify` reads files.

Another process may hold the database (DuckDB lets one write, or several read), or it cannot be
written: then the traces themselves are read, and the store says so.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

import hfr_bench
from hfr_bench.faults.audit import KindSums, TrialAudit
from hfr_bench.lab import decode
from hfr_bench.lab.believed import Believed
from hfr_bench.lab.database import FILE, OUTCOME, RESULT, Unusable, kept_rows, unusable, write
from hfr_bench.lab.divergence import Course
from hfr_bench.lab.ingest import Facts, Ingest, Start, collector_paused
from hfr_bench.lab.joint import Joint
from hfr_bench.lab.metrics_sql import measured
from hfr_bench.lab.prefixed import Prefixed
from hfr_bench.lab.store import BadLine, Checked, Mark, Store, TrialFile
from hfr_bench.model.measures import Measures
from hfr_bench.model.trial import PlanRow, Trial, TrialResult

_READ_BY = ("faults", "lab", "model")
"""The packages whose source (not that of rooms in them) the facts follow from; rows of another
source are made anew. All of it: a list of those that matter is one module short some day.
"""


class _Kept(msgspec.Struct, array_like=True, gc=False):
    """Facts as they lie in the column `facts`."""

    result: decode.struct_of(TrialResult) | None  # type: ignore[valid-type]
    digest: str
    flaws: tuple[tuple[BadLine, ...], tuple[BadLine, ...], tuple[BadLine, ...]]
    start: Start | None
    arm: str
    sums: tuple[tuple[str, str, KindSums], ...]
    failed: tuple[str, ...]
    untrue: tuple[str, ...]
    underived: tuple[str, ...]
    behaviour: str
    path: Course
    claims: tuple[str, ...]
    fork: str
    joint: Joint | None
    organic: tuple[int, int]
    measures: Measures
    models: tuple[tuple[str, str, int], ...]
    believed: Believed
    prefixed: Prefixed


_planned = attrgetter(
    *(name for name in PlanRow.model_fields if name != "trial"),
    *(f"trial.{name}" for name in Trial.model_fields),
)
"""All that a plan says of a trial; a record that wrote itself would take ten times as long."""

_unpack = msgspec.json.Decoder(_Kept).decode
_encode = msgspec.json.Encoder(enc_hook=lambda record: dict(record.__dict__)).encode


class Row(NamedTuple):
    """What the index remembers of a file, as `kept_rows` gives it."""

    path: str
    size: int
    mtime_ns: int
    sha256: str
    facts: str


@collector_paused()
def gather(store: Store, ingest: Ingest) -> list[Facts]:
    """The facts of all trial files, in path order.

    In an indexed store a file that is as it was is not read again, and the index is brought up to
    date if it can be; if not, `store.said` tells why.
    """
    files = store.files()
    if store.indexed:
        found = _kept(store, files, ingest)
    else:
        found = {file.at: ingest.of(store.read(file)) for file in sorted(files, key=ingest.order)}
    return [found[file.at] for file in files]


def _kept(store: Store, files: Sequence[TrialFile], ingest: Ingest) -> dict[str | Path, Facts]:
    """Facts by path."""
    context, known = context_of(ingest), dict[str, Row]()
    with _telling(store):
        known = {row[0]: Row(*row) for row in kept_rows(store.folder, context)}
    found: dict[str | Path, Facts] = {}
    other: list[tuple[TrialFile, Row | None]] = []
    for file in files:
        row = known.pop(file.name, None)
        if row is not None and (facts := _as_it_was(file, row)) is not None:
            found[file.at] = facts
        else:
            other.append((file, row))
    gone = set(known)
    fresh: list[tuple[Facts, Mark, str]] = []
    for file, row in sorted(other, key=lambda one: ingest.order(one[0])):
        fresh.append(_read_again(store, file, row, ingest))
        found[file.at] = fresh[-1][0]
    if (fresh or gone or not (store.folder / FILE).exists()) and not store.said:
        with _telling(store):
            write(store.folder, context, [_line(*one, ingest) for one in fresh], gone)
    return found


def _as_it_was(file: TrialFile, row: Row) -> Facts | None:
    """The facts of a file that has not been touched since, or None."""
    status = os.stat(file.at)  # noqa: PTH116 - of very many files: a Path costs more than this
    if status.st_size != row.size or status.st_mtime_ns != row.mtime_ns:
        return None
    return _unpacked(file, row.facts)


def _read_again(
    store: Store, file: TrialFile, row: Row | None, ingest: Ingest
) -> tuple[Facts, Mark, str]:
    """Facts, mark and SHA-256 of a file that the index does not have so."""
    reading = store.read(file)
    same = row is not None and row.sha256 == reading.sha256
    facts = _unpacked(file, row.facts) if row is not None and same else None
    return facts or ingest.of(reading), reading.mark, reading.sha256


def _unpacked(file: TrialFile, text: str) -> Facts | None:
    try:
        one = _unpack(text)
    except msgspec.MsgspecError:
        return None
    result = cast("TrialResult | None", one.result)  # its like: nobody asks for a record
    bad, checked_bad, breaks = one.flaws
    sums = {(layer, kind): found for layer, kind, found in one.sums} if one.sums else {}
    audit = TrialAudit(one.arm, sums, one.failed, one.untrue)
    checked = Checked(file, result, checked_bad, breaks, one.digest)
    rest = (one.underived, one.behaviour, one.path, one.claims, one.fork, one.joint, one.organic)
    more = (one.measures, one.models, one.believed, one.prefixed)
    return Facts(checked, bad, one.start, audit, *rest, *more)


def _line(facts: Facts, mark: Mark, sha256: str, ingest: Ingest) -> bytes:
    """A row of `trial` as a line of JSON."""
    checked, audit, file = facts.checked, facts.audit, facts.checked.file
    planned = ingest.planned.get((file.group, file.arm))
    result, sums = checked.result, audit.sums.values()
    row: dict[str, Any] = {
        "path": file.name,
        "pair_group": file.group,
        "round": file.round,
        "arm": file.arm,
        "control": planned.control if planned else None,
        "planned": planned is not None,
        "size": mark.size,
        "mtime_ns": mark.mtime_ns,
        "sha256": sha256,
        "digest": checked.digest,
        "whole": result is not None,
        "bad_lines": len(facts.flaws),
        "chain_breaks": len(checked.breaks),
        "faults_scheduled": sum(one.scheduled for one in sums),
        "faults_reached": sum(one.reached for one in sums),
        "faults_delivered": sum(one.delivered for one in sums),
        "failed_unplanned": len(audit.failed),
        "untrue": len(audit.untrue),
        "underived": len(facts.underived),
    }
    if facts.start is not None:
        row |= {"sandbox": facts.start.sandbox, "image_id": facts.start.image_id}
    if result is not None:
        row |= {name: getattr(result, name) for name in RESULT}
        if result.outcome is not None:
            row |= {name: getattr(result.outcome, name) for name in OUTCOME}
            row |= measured(facts.measures)
    row["facts"] = _packed(facts)
    return _encode(row)


def _packed(facts: Facts) -> _Kept:
    checked, audit = facts.checked, facts.audit
    return _Kept(
        checked.result,  # a record is encoded like its struct
        checked.digest,
        (facts.bad, checked.bad, checked.breaks),
        facts.start,
        audit.arm,
        tuple((*key, found) for key, found in audit.sums.items()),
        audit.failed,
        audit.untrue,
        facts.underived,
        facts.behaviour,
        facts.path,
        facts.claims,
        facts.fork,
        facts.joint,
        facts.organic,
        facts.measures,
        facts.models,
        facts.believed,
        facts.prefixed,
    )


def context_of(ingest: Ingest) -> str:
    """SHA-256 over all that facts follow from but the trace.

    Registration, plan (it pins the schedules), fault kinds, and the source of what reads and
    judges.
    """
    whole = hashlib.sha256(ingest.prereg.dumps().encode())
    for name in sorted(ingest.kinds):
        whole.update(ingest.kinds[name].dumps().encode())
    whole.update(_encode([_planned(row) for row in ingest.planned.values()]))
    here = Path(hfr_bench.__file__).parent
    for package in _READ_BY:
        for path in sorted((here / package).glob("*.py")):
            whole.update(path.read_bytes())
    return whole.hexdigest()


@contextmanager
def _telling(store: Store) -> Iterator[None]:
    """An index that cannot be used is told, and nothing depends on it."""
    try:
        yield
    except Unusable as error:
        path = store.folder / FILE
        store.said.append(f"{path}: the index is not used, the traces are read: {unusable(error)}")
