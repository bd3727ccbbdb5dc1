"""From recorded responses to a fault mix: which of our kinds each failure is nearest to.

A kind is known by the shape that it declares on the wire: its status, where it says how long to
wait, what its body is, or that no answer comes; and by the fault class that the classifier gives
to both. Kinds that look alike in a log stay together, their shares unknown. What is like none is
named. Silent kinds leave no failure in a log, and whether a write landed stands in none.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from hfr_bench.faults.dialects import MODEL_DIALECTS, speaks
from hfr_bench.faults.shape import wire
from hfr_bench.model.attempt import Fault
from hfr_bench.model.effects import Late
from hfr_bench.model.mix import Calls
from hfr_bench.model.schedule import (
    Close,
    Cut,
    Drip,
    FaultEvent,
    KindSpec,
    Respond,
    Rewrite,
    Stall,
)
from hfr_bench.model.terms import Channel, FaultClass, Layer, SideEffect
from hfr_bench.recovery.classifier.signals import parse

POINTS = {Channel.MODEL: "model:agent", Channel.TOOL: "tool:any"}
LAYERS = {Channel.MODEL: Layer.MODEL, Channel.TOOL: Layer.TOOL}
CALLS: Mapping[Channel, Calls] = {Channel.MODEL: "model_calls", Channel.TOOL: "tool_calls"}
NOT_TOLD = (
    "of writes without an answer, how many had landed (lost after the commit), or land later",
    "silent faults: wrong, stale or poisoned answers look like good ones",
    "which failures are attempts of one call: every row counts as a call",
    "faults of the recovery's own reads and of its ledger",
)
"""What no log of responses tells."""

_CLOSER = 0.2
_WORD = re.compile(r"[a-z]{4,}")
_EDITS = {"refuse": FaultClass.REFUSAL, "truncate_body": FaultClass.TRANSIENT}
"""Of edits of a real answer, those whose result a log shows as a failure, and of which class."""

Judge = Callable[[Channel, Mapping[str, Any]], Fault | None]


class Logged(NamedTuple):
    """A recorded response. `fault` None: a success. `level`: of a tool's call, if known."""

    channel: Channel
    row: Mapping[str, Any]
    fault: Fault | None
    level: SideEffect | None = None


class Shape(NamedTuple):
    """What a failure looks like. `status` None: no answer, and then `late` for one that hangs.

    `wait`: where a wait is named (`header`, `elsewhere`, or nowhere). `body`: its form.
    """

    status: int | None
    fault_class: FaultClass | None
    wait: str = ""
    body: str = ""
    late: bool = False
    words: frozenset[str] = frozenset()

    def far(self, other: "Shape") -> int | None:
        """How unlike two shapes are; None if they cannot be the same kind of fault."""
        if (self.status is None) != (other.status is None):
            return None
        if self.status is None or other.status is None:
            return None if self.late != other.late else 0
        if self.fault_class != other.fault_class or self.status // 100 != other.status // 100:
            return None
        if self.fault_class is FaultClass.PERMANENT and self.status != other.status:
            return None  # what is refused for good says by its status why
        return (
            4 * (self.status != other.status)
            + (self.wait != other.wait)
            + (self.body != other.body)
        )

    def alike(self, other: "Shape") -> float:
        """Share of words that two shapes have in common."""
        whole = self.words | other.words
        return len(self.words & other.words) / len(whole) if whole else 0.0


class Kinds:
    """The fault kinds that a log can show, by their declared shapes."""

    def __init__(self, kinds: Mapping[str, KindSpec], judge: Judge) -> None:
        self._shapes: dict[Channel, list[tuple[KindSpec, Shape]]] = {
            channel: [
                (kind, shape)
                for kind in kinds.values()
                if kind.layer is layer and _of_an_agent(kind, POINTS[channel])
                for shape in _declared(kind, channel, judge)
            ]
            for channel, layer in LAYERS.items()
        }

    def nearest(self, one: Logged) -> tuple[str, ...]:
        """The kinds that a failure is nearest to, several if a log cannot tell them apart."""
        if one.fault is None or (one.row.get("sent") is False and one.channel is Channel.TOOL):
            return ()
        seen = seen_shape(one.row, one.fault)
        far: dict[str, tuple[int, float]] = {}
        for kind, shape in self._shapes[one.channel]:
            distance = seen.far(shape)
            fits = one.level is None or one.level in kind.levels
            if distance is not None and fits:
                found = (distance, -seen.alike(shape))
                far[kind.kind] = min(far.get(kind.kind, found), found)
        if not far:
            return ()
        least = min(distance for distance, _ in far.values())
        near = {kind: -words for kind, (distance, words) in far.items() if distance == least}
        best = max(near.values())
        return tuple(sorted(kind for kind, words in near.items() if words >= best - _CLOSER))


def seen_shape(row: Mapping[str, Any], fault: Fault) -> Shape:
    """The shape of a recorded failure."""
    status = row.get("status")
    if row.get("exception") or status is None:
        return Shape(None, fault.fault_class, late=fault.fault_class is FaultClass.TIMEOUT)
    headers = {str(k).lower(): str(v) for k, v in (row.get("headers") or {}).items()}
    body = row.get("body")
    text = body if isinstance(body, str) else "" if body is None else str(body)
    wait = "header" if "retry-after" in headers else "elsewhere" if fault.retry_after_us else ""
    form = parse(text)[0] or "empty" if isinstance(body, str) or body is None else "json"
    words = frozenset(_WORD.findall(f"{text} {' '.join(headers.values())}".lower()))
    return Shape(status, fault.fault_class, wait, form, words=words)


def _of_an_agent(kind: KindSpec, point: str) -> bool:
    """Whether an agent's own call may meet it, and not silently."""
    return not kind.silent and any(fnmatchcase(point, pattern) for pattern in kind.points)


def _declared(kind: KindSpec, channel: Channel, judge: Judge) -> Iterator[Shape]:
    """A kind's shape in every dialect that it speaks."""
    event = FaultEvent(
        injection_id="", layer=kind.layer, kind=kind.kind, point=POINTS[channel], occurrence=1,
        params={name: values[0] for name, values in kind.params.items()},
    )  # fmt: skip
    for dialect in MODEL_DIALECTS if channel is Channel.MODEL else ("tool",):
        if not speaks(kind, dialect):
            continue
        match effect := wire(event, kind, dialect):
            case Respond():
                row = {"status": effect.status, "headers": effect.headers, "body": effect.body}
                if fault := judge(channel, row):
                    yield seen_shape(row, fault)
            case Close() | Cut():
                yield Shape(None, None)
            case Stall() | Drip() | Late():
                yield Shape(None, None, late=True)
            case Rewrite():
                for edit in set(effect.edits) & _EDITS.keys():
                    form = "json" if edit == "refuse" else "cut"
                    yield Shape(200, _EDITS[edit], body=form)


def mixed(
    logged: Iterable[Logged],
    kinds: Mapping[str, KindSpec],
    judge: Judge,
    calls: Mapping[Channel, int],
    name: str,
    where: str,
) -> dict[str, Any]:
    """A mix as a file holds it.

    Args:
        logged: the responses, successes among them or not.
        kinds: fault kinds by name.
        judge: classifies a row; the same that classified `logged`.
        calls: all calls that the log is of, by channel, where the user says so.
        name: of the mix.
        where: what the responses were read from, for a reader.

    Raises:
        ValueError: fewer calls than failures, or no failure at all.
    """
    known, rows = Kinds(kinds, judge), Counter[Channel]()
    found: dict[tuple[Channel, tuple[str, ...]], Counter[str]] = {}
    for one in logged:
        rows[one.channel] += 1
        if one.fault is not None:
            found.setdefault((one.channel, known.nearest(one)), Counter())[_what(one)] += 1
    if not found:
        raise ValueError(f"{where}: no failure among {rows.total()} responses")
    totals = _totals(found, rows, calls)
    failures = sum(what.total() for what in found.values())
    faults = []
    for (channel, near), seen in sorted(found.items(), key=lambda one: -one[1].total()):
        # What is like nothing stands one by one, so that each is named.
        for words, count in [(_list(seen), seen.total())] if near else seen.most_common():
            amount = {"share": count / failures}
            if totals is not None:
                amount = {"per_1000": 1000 * count / totals[channel]}
            faults.append(_category(channel, near, words, count, amount, kinds))
    told = ", ".join(f"{rows[channel]} {channel.value} responses" for channel in sorted(rows))
    return {
        "name": name,
        "title": f"Recorded responses ({told})",
        "source": {"title": f"recorded responses: {where}", "read": told},
        "faults": faults,
        "not_known": [*NOT_TOLD, *([_NO_RATE] if totals is None else [])],
    }


_NO_RATE = "how many calls succeeded: these are shares of the failures, not rates of calls"


def _totals(
    merged: Iterable[tuple[Channel, tuple[str, ...]]],
    rows: Mapping[Channel, int],
    calls: Mapping[Channel, int],
) -> dict[Channel, int] | None:
    """All calls of each channel that has failures; None if not known of one of them."""
    made: dict[Channel, int] = {}
    for channel in {channel for channel, _ in merged}:
        if channel not in calls:
            return None
        if calls[channel] < rows[channel]:
            raise ValueError(
                f"{calls[channel]} {channel.value} calls are fewer than the {rows[channel]} "
                "responses that were recorded of them"
            )
        made[channel] = calls[channel]
    return made


def _category(
    channel: Channel,
    near: tuple[str, ...],
    what: str,
    count: int,
    amount: dict[str, float],
    kinds: Mapping[str, KindSpec],
) -> dict[str, Any]:
    made: dict[str, Any] = {"what": what, "of": CALLS[channel], **amount, "kinds": list(near)}
    if any(kinds[kind].lands is not None for kind in near):
        made["landed"] = "unknown"
    made["note"] = f"seen {count} times" + ("" if near else "; nothing of ours is like it")
    return made


def _what(one: Logged) -> str:
    """A failure in a word or two: where, status or exception, class."""
    assert one.fault is not None
    status = one.row.get("exception") or one.row.get("status") or "no answer"
    return f"{one.channel.value} {status} ({one.fault.fault_class.value})"


def _list(what: Counter[str]) -> str:
    shown = [words for words, _ in what.most_common(3)]
    return ", ".join(shown) + (", ..." if len(what) > len(shown) else "")
