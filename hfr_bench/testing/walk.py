"""Random walks for strategies: what a guard would ask, with a world that answers by chance.

Every answer is a keyed draw, so a walk depends on its key and on the decisions alone.
"""

import copy
import json
from dataclasses import dataclass, field
from typing import Any

from hfr_bench.faults.draw import choose, uniform
from hfr_bench.model.attempt import (
    Attempted,
    Decision,
    Finishing,
    Intent,
    Observation,
    Prepared,
    Proposed,
    Reconciled,
    StepView,
    StrategyEvent,
    Truth,
)
from hfr_bench.model.terms import Action, Channel, Landed, LedgerState, SideEffect
from hfr_bench.ports.strategy import Strategy
from hfr_bench.recovery.ledger import check_move
from hfr_bench.testing.fakes import fine, lost, refused

MAX_STEPS = 8
MAX_DECISIONS = 200
DEADLINE_US = 120_000_000

FAILURE_RATES = (0.5, 0.05, 0.8, 0.2)  # walk by walk, so that some reach their end
UNREPEATABLE = (SideEffect.QUERYABLE, SideEffect.IRREVERSIBLE)

FAILURES = (
    (3.0, lost()),
    (1.0, lost("ConnectionClosed")),
    (1.0, lost("ConnectError", sent=False)),
    (1.0, lost("SomethingNew")),
    (2.0, refused(500)),
    (1.0, refused(503, '{"error": {"message": "overloaded"}}')),
    (1.0, refused(529)),
    (2.0, refused(429, retry_after="3")),
    (0.5, refused(429, '{"error": {"code": "insufficient_quota"}}')),
    (0.5, refused(429, retry_after="soon")),
    (0.5, refused(400, '{"error": {"code": "context_length_exceeded"}}')),
    (0.5, refused(400, '{"error": {"code": "content_policy_violation"}}')),
    (0.5, refused(403)),
    (0.5, refused(408)),
    (0.5, refused(200, "{")),
    (0.3, refused(418, "[" * 5000)),
    (0.3, Observation(answered=False)),
)
"""What a failed attempt may look like, with weights; the last ones are shapes nobody planned."""


class BrokenRuleError(AssertionError):
    """The strategy did something that no strategy may do."""


@dataclass
class _Step:
    intent: Intent
    view: dict[str, Any]
    attempts: int = 0
    target: str = ""
    has_answer: bool = False
    may_have_landed: bool = False


@dataclass
class _Walk:
    """One trial's worth of steps, on a clock of its own."""

    strategy: Strategy
    key: tuple[int, int]
    reload: bool
    safe: bool
    now_us: int = 0
    draws: int = 0
    taken: list[Decision] = field(default_factory=list)
    ledger: dict[str, tuple[str, LedgerState]] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)

    def ask(self, event: StrategyEvent) -> Decision:
        """One decision, with the rules of purity and JSON around it."""
        written = _json(self.state)
        given = json.loads(written) if self.reload else self.state
        kept = copy.deepcopy(given)
        try:
            self.state, decision = self.strategy.decide(given, event)
        except Exception as error:
            raise BrokenRuleError(
                f"raised {type(error).__name__}: {error} on {type(event).__name__}"
            ) from error
        if given != kept:
            raise BrokenRuleError(f"changed the state it was given, on {type(event).__name__}")
        _json(self.state)
        self.taken.append(decision)
        if len(self.taken) > MAX_DECISIONS:
            raise BrokenRuleError(f"no end after {MAX_DECISIONS} decisions")
        return decision

    def chance(self, *what: str | int) -> float:
        self.draws += 1
        return uniform("walk", *self.key, self.draws, *what)


def decisions(
    strategy: Strategy, key: tuple[int, int], *, reload: bool, safe: bool
) -> list[Decision]:
    """Lead the strategy through one walk; its decisions in order.

    Raises BrokenRuleError, or LedgerConflictError for a ledger move that table 6 forbids.
    """
    walk = _Walk(strategy, key, reload, safe)
    walk.state = strategy.begin()
    for number in range(1, MAX_STEPS + 1):
        if not _step(walk, number):
            return walk.taken
    _legal_end(walk.ask(Finishing(walk.now_us, DEADLINE_US)))
    return walk.taken


def _step(walk: _Walk, number: int) -> bool:
    """One logical step; False if it ended the trial."""
    step = _new_step(walk, number)
    event: StrategyEvent = Proposed(_view(walk, step))
    while True:
        decision = walk.ask(event)
        _check_legal(decision, event, step)
        _check_moves(walk, decision, step)
        walk.now_us += decision.delay_us
        match decision.action:
            case Action.ACCEPT | Action.REPLAN:
                return True
            case Action.ESCALATE | Action.FAIL:
                return False
            case Action.RETRY:
                event = Proposed(_view(walk, step))
            case Action.DEGRADE_MODEL:
                step.target = decision.substitute or step.target
                event = Proposed(_view(walk, step))
            case Action.RECONCILE:
                event = _reconciled(walk, step)
            case Action.DISPATCH if decision.prepare:
                event = Prepared(_view(walk, step), _observation(walk))
            case _:
                event = _attempted(walk, step)


def _new_step(walk: _Walk, number: int) -> _Step:
    channel = Channel.MODEL if walk.chance("channel") < 0.3 else Channel.TOOL
    level = choose([(1.0, level) for level in SideEffect], "level", *walk.key, number)
    level = SideEffect.READ if channel is Channel.MODEL else level
    contracted = level in (SideEffect.IDEMPOTENT, SideEffect.QUERYABLE)
    # Few different arguments, so that some writes are asked for anew.
    which = int(walk.chance("which") * 3)
    target = "m" if channel is Channel.MODEL else f"{level}-tool"
    intent = Intent(
        intent_id=f"{target}/{which}",
        channel=channel,
        target=target,
        level=level,
        args_digest=str(which),
        key=f"{target}/{which}/{number}",
        stepless_key=f"{target}/{which}",
    )
    view = {
        "step": number,
        "intent": intent,
        "point": f"{channel}:{target}",
        "deadline_us": DEADLINE_US,
        "needs_before": contracted and walk.chance("before") < 0.5,
        "can_reconcile": contracted and walk.chance("contract") < 0.9,
    }
    view["needs_before"] = view["needs_before"] and view["can_reconcile"]
    return _Step(intent, view, target=target)


def _view(walk: _Walk, step: _Step) -> StepView:
    return StepView(target=step.target, attempts=step.attempts, now_us=walk.now_us, **step.view)


def _observation(walk: _Walk) -> Observation:
    walk.now_us += 400_000
    if walk.chance("fails") >= FAILURE_RATES[walk.key[1] % len(FAILURE_RATES)]:
        return fine(domain_error=walk.chance("refused") < 0.2)
    return choose(FAILURES, "failure", *walk.key, walk.draws)


def _attempted(walk: _Walk, step: _Step) -> Attempted:
    step.attempts += 1
    if walk.safe and step.may_have_landed and step.intent.level in UNREPEATABLE:
        raise BrokenRuleError(f"sent an {step.intent.level} write again that may have landed")
    seen = _observation(walk)
    step.has_answer = seen.answered
    landed = seen.answered and not seen.domain_error
    if not seen.answered and seen.sent:
        landed = walk.chance("lands") < 0.5
        step.may_have_landed = True
    clears_by = choose(
        [(1.0, c) for c in (None, "retry", "wait", "substitute")], "clears", *walk.key, walk.draws
    )
    return Attempted(_view(walk, step), seen, Truth(landed, clears_by))


def _reconciled(walk: _Walk, step: _Step) -> Reconciled:
    seen = _observation(walk)
    landed = Landed.UNKNOWN
    if seen.answered:
        landed = choose(
            [(4.0, Landed.COMMITTED), (4.0, Landed.ABSENT), (1.0, Landed.UNKNOWN)],
            *("landed", *walk.key, walk.draws),
        )
    if landed is Landed.ABSENT:
        step.may_have_landed = False
    return Reconciled(_view(walk, step), seen, landed)


def _check_legal(decision: Decision, event: StrategyEvent, step: _Step) -> None:
    """What the guard could carry out here; anything else ends a trial as the strategy's failure."""
    what = f"{decision.action} on {type(event).__name__}"
    tool = step.intent.channel is Channel.TOOL
    contracted = bool(step.view["can_reconcile"])
    possible = {
        Action.DISPATCH: contracted or not decision.prepare,
        Action.RETRY: not isinstance(event, Proposed),
        Action.RECONCILE: contracted,
        Action.DEGRADE_MODEL: not tool and bool(decision.substitute),
        Action.ACCEPT: step.has_answer or (tool and step.intent.level.writes),
        Action.REPLAN: tool,
        Action.ESCALATE: True,
        Action.FAIL: True,
    }
    if not possible.get(decision.action, False):
        raise BrokenRuleError(f"{what} cannot be carried out")
    if decision.delay_us < 0 or decision.debit < 0:
        raise BrokenRuleError(f"{what}: delay and debit are 0 or more")


def _check_moves(walk: _Walk, decision: Decision, step: _Step) -> None:
    """Moves are of the write at hand, under its own key or its twin's, and legal."""
    for move in decision.moves:
        known = walk.ledger.get(move.key)
        if move.stepless_key != step.intent.stepless_key:
            raise BrokenRuleError(f"moved the entry of another write: {move.stepless_key}")
        if move.key != step.intent.key and known is None:
            raise BrokenRuleError(f"moved an entry under a key of its own: {move.key}")
        check_move(known[1] if known else None, move.to)
        walk.ledger[move.key] = (move.stepless_key, move.to)


def _legal_end(decision: Decision) -> None:
    if decision.action not in (Action.ACCEPT, Action.ESCALATE, Action.FAIL):
        raise BrokenRuleError(f"{decision.action} on Finishing cannot be carried out")


def _json(state: Any) -> str:
    try:
        written = json.dumps(state, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BrokenRuleError(f"its state is not JSON: {error}") from error
    if json.loads(written) != state:
        raise BrokenRuleError("its state changes when it is written out and read back")
    return written
