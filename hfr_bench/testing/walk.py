"""Random walks for strategies: what a guard would ask, with a world that answers by chance.

Every answer is a keyed draw, so a walk depends on its key and on the decisions alone.
"""

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from hfr_bench.faults.draw import choose, uniform
from hfr_bench.model.attempt import (
    Attempted,
    Compressed,
    Decision,
    Finishing,
    Intent,
    Known,
    Observation,
    Prepared,
    Proposed,
    Reconciled,
    Restored,
    StepView,
    StrategyEvent,
    Truth,
    Verdict,
    Verified,
)
from hfr_bench.model.shared import Part, Shared
from hfr_bench.model.terms import Action, Channel, CheckLevel, Landed, LedgerState, SideEffect
from hfr_bench.ports.strategy import Sharing, Strategy
from hfr_bench.recovery.guarded import UNAVAILABLE
from hfr_bench.recovery.ledger import check_move
from hfr_bench.testing.fakes import fine, lost, refused

MAX_STEPS = 8
MAX_DECISIONS = 200
DEADLINE_US = 120_000_000

FAILURE_RATES = (0.5, 0.05, 0.8, 0.2)  # walk by walk, so that some reach their end
CRASHES = 0.04
PROPOSED = (CheckLevel.TRANSPORT, CheckLevel.DETERMINISTIC, CheckLevel.AUTHORITY)
ANSWERED = tuple(CheckLevel)
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
    checked: bool = False
    short: bool = False


@dataclass
class _Walk:
    """One trial's worth of steps, on a clock of its own.

    `maybe`: step-less keys of writes that may have landed. `again`: the intent of a step that a
    crash of the runtime cut off; `saved`: the state that it comes back with.
    """

    strategy: Strategy
    key: tuple[int, int]
    reload: bool
    safe: bool
    defects: bool = False
    now_us: int = 0
    start_us: int = 0
    draws: int = 0
    taken: list[Decision] = field(default_factory=list)
    ledger: dict[str, tuple[str, LedgerState]] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    levels: dict[str, SideEffect] = field(default_factory=dict)
    maybe: set[str] = field(default_factory=set)
    again: Intent | None = None
    saved: dict[str, Any] = field(default_factory=dict)

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
        if not self.defects and decision.reason.startswith(UNAVAILABLE):
            raise BrokenRuleError(f"{decision.reason}, on {type(event).__name__}")
        self.taken.append(decision)
        if len(self.taken) > MAX_DECISIONS:
            raise BrokenRuleError(f"no end after {MAX_DECISIONS} decisions")
        return decision

    @property
    def deadline_us(self) -> int:
        return self.start_us + DEADLINE_US

    def chance(self, *what: str | int) -> float:
        self.draws += 1
        return uniform("walk", *self.key, self.draws, *what)


def decisions(
    strategy: Strategy, key: tuple[int, int], *, reload: bool, safe: bool, defects: bool = False
) -> list[Decision]:
    """Lead the strategy through one walk; its decisions in order.

    Raises BrokenRuleError, or LedgerConflictError for a ledger move that table 6 forbids.
    """
    walk = _Walk(strategy, key, reload, safe, defects)
    walk.state = strategy.begin()
    _led(walk)
    return walk.taken


def cohort(
    factory: Callable[[], Sharing], keys: Sequence[tuple[int, int]], *, reload: bool
) -> list[Decision]:
    """Lead strategies through walks that hand their shared state on; all decisions in order.

    Raises as `decisions` does; also for state that is handed on and is not JSON, is of no known
    part, or is changed by who gives or gets it.
    """
    shared: Shared = {}
    now_us, taken = 0, list[Decision]()
    for key in keys:
        walk = _Walk(factory(), key, reload, safe=False, now_us=now_us, start_us=now_us)
        shared = _handed(walk, shared)
        now_us, taken = walk.now_us, taken + walk.taken
    return taken


def _handed(walk: _Walk, shared: Shared) -> Shared:
    """One walk of a cohort: what it leaves for the next."""
    strategy, kept = walk.strategy, copy.deepcopy(shared)
    assert isinstance(strategy, Sharing)
    walk.state = strategy.begin_with(shared)
    if not shared and walk.state != strategy.begin():
        raise BrokenRuleError("begins with nothing otherwise than it begins")
    _led(walk)
    given = json.loads(_json(walk.state)) if walk.reload else walk.state
    before = copy.deepcopy(given)
    strategy.commons(given, walk.now_us)
    left = strategy.carry(given)
    if (shared, given) != (kept, before):
        raise BrokenRuleError("changed what it was handed, or the state that it hands on from")
    if strange := sorted(left.keys() - set(get_args(Part))):
        raise BrokenRuleError(f"hands on {strange[0]!r}, which is none of {get_args(Part)}")
    written = _json(left)
    return json.loads(written) if walk.reload else left


def _led(walk: _Walk) -> None:
    for number in range(1, MAX_STEPS + 1):
        if not _step(walk, number):
            return
    _legal_end(walk.ask(Finishing(walk.now_us, walk.deadline_us)))


def _step(walk: _Walk, number: int) -> bool:
    """One logical step; False if it ended the trial."""
    step = _new_step(walk, number)
    event: StrategyEvent | None = Proposed(_view(walk, step))
    walk.saved = walk.state
    while event is not None:
        if isinstance(event, Attempted):
            if walk.chance("crash") < CRASHES:
                return _crashed(walk, step)
            if event.observation.answered:
                walk.maybe.discard(step.intent.stepless_key)
        decision = walk.ask(event)
        _check_legal(walk, decision, step)
        _check_moves(walk, decision, step)
        walk.now_us += decision.delay_us
        if decision.action in (Action.ESCALATE, Action.FAIL):
            return False
        event = _following(walk, step, decision)
    return True


def _following(walk: _Walk, step: _Step, decision: Decision) -> StrategyEvent | None:
    """What the guard would tell next; None if the step is over."""
    match decision.action:
        case Action.ACCEPT | Action.REPLAN | Action.DEGRADE_SCOPE:
            return None
        case Action.RETRY:
            return Proposed(_view(walk, step))
        case Action.DEGRADE_MODEL | Action.DEGRADE_TOOL:
            step.target = decision.substitute or step.target
            return Proposed(_view(walk, step))
        case Action.COMPRESS:
            step.short = walk.chance("shorter") < 0.7
            return Compressed(_view(walk, step), step.short)
        case Action.VERIFY:
            return _verified(walk, step, decision)
        case Action.RECONCILE:
            return _reconciled(walk, step)
        case Action.DISPATCH if decision.prepare:
            return Prepared(_view(walk, step), _observation(walk))
    return _attempted(walk, step)


def _crashed(walk: _Walk, step: _Step) -> bool:
    """The runtime dies before the strategy hears of an attempt; False if that ended the trial."""
    walk.state, walk.again = walk.saved, step.intent
    known = tuple(
        Known(key, stepless, state, "tool", walk.levels[key])
        for key, (stepless, state) in walk.ledger.items()
    )
    decision = walk.ask(Restored(walk.now_us, walk.deadline_us, known))
    for move in decision.moves:
        check_move(walk.ledger[move.key][1], move.to)
        walk.ledger[move.key] = (move.stepless_key, move.to)
    if decision.action not in (Action.ACCEPT, Action.DISPATCH, Action.ESCALATE, Action.FAIL):
        raise BrokenRuleError(f"{decision.action} on Restored cannot be carried out")
    return decision.action in (Action.ACCEPT, Action.DISPATCH)


def _new_step(walk: _Walk, number: int) -> _Step:
    intent, walk.again = walk.again or _intent(walk, number), None
    intent = replace(intent, key=f"{intent.stepless_key}/{number}")
    level = intent.level
    contracted = level in (SideEffect.IDEMPOTENT, SideEffect.QUERYABLE)
    view = {
        "step": number,
        "intent": intent,
        "point": f"{intent.channel}:{intent.target}",
        "deadline_us": walk.deadline_us,
        "needs_before": contracted and walk.chance("before") < 0.5,
        "can_reconcile": contracted and walk.chance("contract") < 0.9,
    }
    view["needs_before"] = view["needs_before"] and view["can_reconcile"]
    if intent.channel is Channel.TOOL and level is not SideEffect.IRREVERSIBLE:
        view["equivalents"] = ("other",) if walk.chance("equal") < 0.3 else ()
    walk.levels[intent.key] = level
    return _Step(intent, view, target=intent.target, checked=walk.chance("checks") < 0.5)


def _intent(walk: _Walk, number: int) -> Intent:
    channel = Channel.MODEL if walk.chance("channel") < 0.3 else Channel.TOOL
    level = choose([(1.0, level) for level in SideEffect], "level", *walk.key, number)
    level = SideEffect.READ if channel is Channel.MODEL else level
    # Few different arguments, so that some writes are asked for anew.
    which = int(walk.chance("which") * 3)
    target = "m" if channel is Channel.MODEL else f"{level}-tool"
    name = f"{target}/{which}"
    return Intent(name, channel, target, level, str(which), "", name)


def _view(walk: _Walk, step: _Step) -> StepView:
    tool = step.intent.channel is Channel.TOOL
    levels: tuple[CheckLevel, ...] = ()
    if step.checked and (step.has_answer or (tool and not step.attempts)):
        levels = (ANSWERED if tool else ANSWERED[:2]) if step.has_answer else PROPOSED
    full = not tool and not step.short and uniform("full", *walk.key, step.view["step"]) < 0.1
    return StepView(
        target=step.target,
        attempts=step.attempts,
        now_us=walk.now_us,
        tokens=0 if tool else 1000,
        context_left=0 if full else None,
        can_verify=levels,
        **step.view,
    )


def _observation(walk: _Walk) -> Observation:
    walk.now_us += 400_000
    if walk.chance("fails") >= FAILURE_RATES[walk.key[1] % len(FAILURE_RATES)]:
        return fine(domain_error=walk.chance("refused") < 0.2)
    return choose(FAILURES, "failure", *walk.key, walk.draws)


def _attempted(walk: _Walk, step: _Step) -> Attempted:
    step.attempts += 1
    key = step.intent.stepless_key
    if walk.safe and key in walk.maybe and step.intent.level in UNREPEATABLE:
        raise BrokenRuleError(f"sent an {step.intent.level} write again that may have landed")
    seen = _observation(walk)
    step.has_answer = seen.answered
    landed = seen.answered and not seen.domain_error
    if not seen.answered and seen.sent:
        landed = walk.chance("lands") < 0.5
    if seen.sent:
        # Until the strategy has heard of an answer, it may have landed: it may die before.
        walk.maybe.add(key)
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
        walk.maybe.discard(step.intent.stepless_key)
    return Reconciled(_view(walk, step), seen, landed)


def _verified(walk: _Walk, step: _Step, decision: Decision) -> Verified:
    assert decision.check is not None
    passed = walk.chance("passes") < 0.8
    why = () if passed else (f"reason {int(walk.chance('why') * 2)}",)
    quality = walk.chance("quality") * 0.5 + 0.5 if passed else 0.0
    return Verified(_view(walk, step), Verdict(decision.check, passed, quality, why))


def _check_legal(walk: _Walk, decision: Decision, step: _Step) -> None:
    """What the guard could carry out here; anything else ends a trial as the strategy's failure."""
    tool = step.intent.channel is Channel.TOOL
    contracted = bool(step.view["can_reconcile"])
    possible = {
        Action.DISPATCH: contracted or not decision.prepare,
        Action.RETRY: True,
        Action.RECONCILE: contracted,
        Action.VERIFY: decision.check in _view(walk, step).can_verify,
        Action.COMPRESS: not tool,
        Action.DEGRADE_MODEL: not tool and bool(decision.substitute),
        Action.DEGRADE_TOOL: tool and decision.substitute in step.view.get("equivalents", ()),
        Action.DEGRADE_SCOPE: bool(decision.substitute) and not step.intent.level.writes,
        Action.ACCEPT: step.has_answer or (tool and step.intent.level.writes),
        Action.REPLAN: tool,
        Action.ESCALATE: True,
        Action.FAIL: True,
    }
    if not possible.get(decision.action, False):
        raise BrokenRuleError(f"{decision.action} at {step.view['point']} cannot be carried out")
    if decision.delay_us < 0 or decision.debit < 0:
        raise BrokenRuleError(f"{decision.action}: delay and debit are 0 or more")


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
