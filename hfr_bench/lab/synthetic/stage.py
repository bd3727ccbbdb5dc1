"""What a strategy is told in the model world: the events that a guard would give it.

Where a configuration knows neither deadline nor breaker nor tenant budget, no decision depends on
the time, and every event is a constant: made once, and told again in every task. Else the events
carry the time (`timed`); a test holds both against each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

from hfr_bench.lab.synthetic.params import FAULTS, MODEL, WRITE
from hfr_bench.model.attempt import (
    Attempted,
    Compressed,
    Intent,
    Observation,
    Proposed,
    Reconciled,
    StepView,
    Verdict,
    Verified,
)
from hfr_bench.model.terms import Channel, CheckLevel, FaultClass, Landed, SideEffect

DEADLINE_US = 2**52

TARGETS = (
    ("main", "backup", "cheap"),
    ("read", "read-alternative", "read-cache"),
    ("write", "write-alternative", "write-cache"),
)
"""By kind and level."""

GOOD = Observation(
    answered=True,
    status=200,
    body="ok",
    payload={"role": "assistant", "content": "ok"},
    finish_reason="stop",
)
_F = FaultClass
_SEEN = {
    _F.TRANSIENT: Observation(answered=False, exception="ConnectError", sent=False),
    _F.RATE_LIMIT: Observation(answered=False, status=429, body="rate limit reached"),
    _F.TIMEOUT: Observation(answered=False, exception="ReadTimeout"),
    _F.OVERLOAD: Observation(answered=False, status=529, body="overloaded"),
    _F.TOOL_UNAVAILABLE: Observation(answered=False, status=503, body="tool unavailable"),
    _F.CONTEXT_OVERFLOW: Observation(
        answered=False, status=400, body='{"error": {"code": "context_length_exceeded"}}'
    ),
    _F.PERMANENT: Observation(answered=False, status=403),
    _F.REFUSAL: Observation(
        answered=False, status=400, body='{"error": {"code": "content_policy_violation"}}'
    ),
    # An answer that the check in the call did not let through; such a write is not in.
    _F.SEMANTIC: Observation(answered=False, status=200, body='{"rejected": "by its check"}'),
}
SEEN = (GOOD, *(_SEEN[cls] for cls in FAULTS))
"""What an attempt looks like, by the class that was drawn (0 = no fault)."""
_OFFERED = (CheckLevel.DETERMINISTIC,)
_PASSED = Verdict(CheckLevel.DETERMINISTIC, passed=True)


class Told(Protocol):
    """All that can be told about one attempt of a step; `attempted`: by class drawn."""

    @property
    def proposed(self) -> Proposed: ...
    @property
    def attempted(self) -> Sequence[Attempted]: ...
    @property
    def passed(self) -> Verified: ...
    @property
    def rejected(self) -> Verified: ...
    @property
    def compressed(self) -> Compressed: ...
    @property
    def committed(self) -> Reconciled: ...
    @property
    def absent(self) -> Reconciled: ...


class Now(NamedTuple):
    """What is told about an attempt (they count from 1) at a level, at a time: made when asked for.

    `rejected`: every answer is wrong in its own way, so that each rejection is new evidence, as a
    verifier that says what it found would give.
    """

    kind: int
    step: int
    level: int
    attempt: int
    now_us: int = 0

    @property
    def proposed(self) -> Proposed:
        return Proposed(self._view(self.attempt - 1))

    @property
    def attempted(self) -> Sequence[Attempted]:
        return Attempts(self)

    @property
    def passed(self) -> Verified:
        return Verified(self._answered(), _PASSED)

    @property
    def rejected(self) -> Verified:
        reasons = (f"wrong answer {self.attempt}",)
        found = Verdict(CheckLevel.DETERMINISTIC, passed=False, reasons=reasons)
        return Verified(self._answered(), found)

    @property
    def compressed(self) -> Compressed:
        return Compressed(self._view(self.attempt), done=True)

    @property
    def committed(self) -> Reconciled:
        return Reconciled(self._view(self.attempt), GOOD, Landed.COMMITTED)

    @property
    def absent(self) -> Reconciled:
        return Reconciled(self._view(self.attempt), GOOD, Landed.ABSENT)

    def after(self, drawn: int) -> Attempted:
        """The attempt as it ended, by class drawn."""
        return Attempted(self._view(self.attempt) if drawn else self._answered(), SEEN[drawn])

    def _answered(self) -> StepView:
        return self._view(self.attempt, _OFFERED if self.kind != WRITE else ())

    def _view(self, attempts: int, offered: tuple[CheckLevel, ...] = ()) -> StepView:
        kind, level = self.kind, self.level
        intent, targets = _intent(kind, self.step), TARGETS[kind]
        return StepView(
            self.step, intent, intent.target, targets[level], attempts, self.now_us, DEADLINE_US,
            can_reconcile=kind == WRITE, can_verify=offered,
            equivalents=targets[1:2] if kind != MODEL and level == 0 else (),
        )  # fmt: skip


class Attempts(Sequence[Attempted]):
    """Each made when it is asked for."""

    def __init__(self, now: Now) -> None:
        self._now = now

    def __getitem__(self, drawn: Any) -> Any:
        return self._now.after(drawn)

    def __len__(self) -> int:
        return len(SEEN)


@dataclass(frozen=True, slots=True)
class Point:
    """The same, made once."""

    proposed: Proposed
    attempted: tuple[Attempted, ...]
    passed: Verified
    rejected: Verified
    compressed: Compressed
    committed: Reconciled
    absent: Reconciled


def point(now: Now) -> Point:
    """All of it at once."""
    return Point(
        now.proposed,
        tuple(now.after(drawn) for drawn in range(len(SEEN))),
        now.passed,
        now.rejected,
        now.compressed,
        now.committed,
        now.absent,
    )


@cache
def _intent(kind: int, step: int) -> Intent:
    """A task's step; keys need be unique in a task only, for each begins with an empty ledger."""
    channel = Channel.MODEL if kind == MODEL else Channel.TOOL
    level = SideEffect.QUERYABLE if kind == WRITE else SideEffect.READ
    name = f"{TARGETS[kind][0]}/{step}"
    return Intent(name, channel, TARGETS[kind][0], level, str(step), name, name)


class Stage:
    """Points that were made once, whatever the time."""

    timed = False

    def __init__(self) -> None:
        self._known: dict[int, Point] = {}

    def point(self, kind: int, step: int, level: int, attempt: int, now_us: int) -> Told:
        key = ((step * 3 + kind) * 3 + level) * 64 + attempt
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = point(Now(kind, step, level, attempt))
        return known


class TimedStage(Stage):
    """Points that carry the time."""

    timed = True

    def point(self, kind: int, step: int, level: int, attempt: int, now_us: int) -> Told:
        return Now(kind, step, level, attempt, now_us)
