"""A trial's writes as a history, and what must hold of it in the order in which it happened.

Each write is an operation as Jepsen has it: invoked, then `ok` (answered), `fail` (refused, or
never sent) or `info` (nobody knows); beside it stands what the world did. Held against each other
line by line, with the ledger's claims in between (paper §4.5, table 6). Bodies are read in one
pass; attempts of a trial never overlap, so the order of the lines is the order of events.

A violation is told, not judged: effects done twice are the harm of an arm, counted elsewhere; a
false claim is a ledger, a reconcile or a tool that lies, or a fault that made it lie.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from hfr_bench.model.terms import LedgerState, SideEffect
from hfr_bench.model.trace import (
    AttemptEnded,
    AttemptStarted,
    EffectExecuted,
    LedgerMoved,
    TraceEvent,
)

# Looked up once: an enum's member costs as much as the rest of a line.
_READ, _BLIND = SideEffect.READ, SideEffect.IRREVERSIBLE
_PREPARED, _COMMITTED, _FAILED = LedgerState.PREPARED, LedgerState.COMMITTED, LedgerState.FAILED
_RECONCILED, _ABSENT = LedgerState.RECONCILED_COMMITTED, LedgerState.RECONCILED_ABSENT
_UNKNOWN = LedgerState.UNKNOWN
_OTHERS = frozenset({"decided", "step_ended", "upstream_hit", "said", "host"})

READ = frozenset({"trial_started", "attempt_started", "attempt_ended", "effect", "ledger_moved"})
"""The bodies that are read; a store may leave out all others."""


class Rule(StrEnum):
    """What must hold of a history."""

    ONCE_BY_NATURAL_KEY = "once by natural key"
    ONCE_BY_KEY = "once by idempotency key"
    COMMITTED = "COMMITTED only after it happened"
    RECONCILED = "RECONCILED_COMMITTED only after it happened"
    ABSENT = "RECONCILED_ABSENT only if it had not happened"
    FAILED = "FAILED only if it had not happened"
    PREPARED = "nothing happens to a settled key before a new PREPARED"
    OK = "what was answered was carried out"
    REFUSED = "what was refused changed nothing"


EXACTLY_ONCE = frozenset({Rule.ONCE_BY_NATURAL_KEY, Rule.ONCE_BY_KEY})
"""Broken by arms that do harm."""

CLAIMS = frozenset(Rule) - EXACTLY_ONCE
"""Broken by whoever says what is not so."""


class Violation(NamedTuple):
    """Where a history breaks a rule. `lines`: of the trace, from 1; the last one broke it."""

    rule: Rule
    key: str
    lines: tuple[int, ...]
    text: str

    def __str__(self) -> str:
        where = ", ".join(map(str, self.lines))
        return f"line {where}: {self.text} (key {self.key[:12]})"


class Operation(NamedTuple):
    """One attempt of the agent at a write. Lines count from 1; `ended` 0 = it has no end.

    `key`: of its ledger entry, or else of its step. `ran`: lines of its executions without a domain
    error; `effects`: lines of those that changed the world.
    """

    operation_id: str
    key: str
    stepless_key: str
    tool: str
    level: SideEffect
    invoked: int
    ended: int
    end: Literal["ok", "fail", "info"]
    ran: tuple[int, ...]
    effects: tuple[int, ...]


def violations(events: Iterable[TraceEvent]) -> tuple[Violation, ...]:
    """Where a trial's history breaks a rule, in the order in which it shows.

    `events`: the trial's trace, in order; bodies outside READ are ignored.
    """
    reader = _Reader()
    reader.read(events)
    return (*reader.found, *reader.repeated())


def false_claims(events: Iterable[TraceEvent]) -> tuple[str, ...]:
    """The violations of CLAIMS, in words."""
    return tuple(str(one) for one in violations(events) if one.rule in CLAIMS)


def history(events: Iterable[TraceEvent]) -> tuple[Operation, ...]:
    """The agent's writes, in the order in which they were invoked."""
    reader = _Reader()
    reader.read(events)
    return tuple(
        Operation(
            op.sent.operation_id,
            op.key,
            op.sent.stepless_key,
            op.sent.target,
            op.sent.level,
            op.invoked,
            op.ended,
            op.end,
            op.ran,
            op.effects,
        )
        for op in reader.ops.values()
    )


@dataclass(slots=True)
class _Op:
    """An operation on its way."""

    sent: AttemptStarted
    key: str
    invoked: int
    ended: int = 0
    end: Literal["ok", "fail", "info"] = "info"
    ran: tuple[int, ...] = ()
    effects: tuple[int, ...] = ()


@dataclass(slots=True)
class _Key:
    """What has become of an idempotency key. `since`: the line of its state; `opened`: of PREPARED.

    `shut`: nothing may happen to it until it is prepared anew. `effects`: of all its operations.
    """

    state: LedgerState | None = None
    since: int = 0
    opened: int = 0
    shut: bool = False
    ran: bool = False
    effects: tuple[int, ...] = ()


@dataclass(slots=True)
class _Reader:
    """One pass over a trace. Bodies are told apart by `type`: they may be the like of records."""

    found: list[Violation] = field(default_factory=list)
    ops: dict[str, _Op] = field(default_factory=dict)
    _keys: dict[str, _Key] = field(default_factory=dict)
    _entry_of: dict[str, str] = field(default_factory=dict)
    _ran: set[str] = field(default_factory=set)
    _natural: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _again: bool = False
    _expected: Mapping[str, int] = field(default_factory=dict)

    def read(self, events: Iterable[TraceEvent]) -> None:
        op: _Op | None = None
        for event in events:
            body: Any = event.body
            kind = body.type
            if kind in _OTHERS:  # most lines
                continue
            if kind == "attempt_ended":
                if op is not None:
                    self._ended(event.seq, op, body)
                    op = None
            elif kind == "attempt_started":
                if body.level is not _READ and body.purpose == "agent":
                    op = self._invoked(event.seq, body)
            elif kind == "effect":
                if body.level is not _READ and body.actor != "user":
                    self._happened(event.seq, body)
            elif kind == "ledger_moved":
                self._moved(event.seq, body)
            elif kind == "trial_started":
                self._expected = body.expected

    def repeated(self) -> Iterator[Violation]:
        """Effects beyond what the task wants of them, or beyond one."""
        for key, lines in self._natural.items() if self._again else ():
            wanted = max(1, self._expected.get(key, 0))
            if len(lines) > wanted:
                text = f"the same effect {len(lines)} times, at most {wanted} wanted"
                yield Violation(Rule.ONCE_BY_NATURAL_KEY, key, lines, text)

    # -- what happens -------------------------------------------------------------------------

    def _invoked(self, line: int, sent: AttemptStarted) -> _Op:
        """A write asked for anew goes on under its old entry, so the ledger knows its key best."""
        key = self._entry_of.get(sent.stepless_key) or sent.key
        op = self.ops[sent.operation_id] = _Op(sent, key, line)
        return op

    def _ended(self, line: int, op: _Op, seen: AttemptEnded) -> None:
        op.ended = line
        if seen.answered and not seen.domain_error:
            op.end = "ok"
            if not op.ran:
                self._tell(Rule.OK, op.key, (op.invoked, line), "answered, but nothing was done")
        elif seen.answered or not seen.sent:
            op.end = "fail"
            if op.effects:
                lines = (*op.effects, line)
                self._tell(Rule.REFUSED, op.key, lines, "refused, but the world was changed")

    def _happened(self, line: int, body: EffectExecuted) -> None:
        refused = body.domain_error
        changed = bool(body.changed) or (body.level is _BLIND and not refused)
        if changed:
            before = self._natural.get(body.natural_key, ())
            self._natural[body.natural_key] = (*before, line)
            self._again = self._again or before != ()
        op = self.ops.get(body.operation_id)
        if op is None:
            return
        key = self._keys.get(op.key)
        if key is None:
            key = self._keys[op.key] = _Key()
        if not refused:
            op.ran = (*op.ran, line)
            key.ran = True
            self._ran.add(op.sent.stepless_key)
        if changed:
            op.effects = (*op.effects, line)
            key.effects = (*key.effects, line)
            if len(key.effects) > 1:
                text = f"{len(key.effects)} effects under one key"
                self._tell(Rule.ONCE_BY_KEY, op.key, key.effects, text)
            if key.shut:
                text = f"an effect, though the entry is {key.state} and was not prepared anew"
                self._tell(Rule.PREPARED, op.key, (key.since, line), text)

    def _moved(self, line: int, body: LedgerMoved) -> None:
        name, to = body.key, body.after
        key = self._keys.get(name)
        if key is None:
            key = self._keys[name] = _Key()
        key.state, key.since = to, line
        self._entry_of[body.stepless_key] = name
        key.shut = to is not _PREPARED and to is not _UNKNOWN
        if to is _PREPARED:
            key.opened = line
        elif to is _COMMITTED:
            if not key.ran:
                self._tell(Rule.COMMITTED, name, (line,), "COMMITTED, and nothing had happened")
        else:
            self._doubted(line, body, key)

    def _doubted(self, line: int, body: LedgerMoved, key: _Key) -> None:
        """Claims about a write whose outcome was not known at once."""
        name, to = body.key, body.after
        if to is _RECONCILED:
            # An equal write of another step is the same to whoever asks the world.
            if not key.ran and body.stepless_key not in self._ran:
                text = "RECONCILED_COMMITTED, and nothing had happened"
                self._tell(Rule.RECONCILED, name, (line,), text)
        elif to is _ABSENT:
            if key.effects:
                text = "RECONCILED_ABSENT, but it had happened"
                self._tell(Rule.ABSENT, name, (*key.effects, line), text)
        elif to is _FAILED:
            done = tuple(at for at in key.effects if at > key.opened)
            if done:
                self._tell(Rule.FAILED, name, (*done, line), "FAILED, but it had happened")

    def _tell(self, rule: Rule, key: str, lines: tuple[int, ...], text: str) -> None:
        self.found.append(Violation(rule, key, lines, text))
