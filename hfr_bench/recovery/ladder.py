"""The degradation ladder (paper §4.4, table 5): which rung, and what to turn to there.

A rung is taken only if the step's criticality allows it and what is turned to has shown enough
quality. No rung leads around a refusal or a missing permission, an irreversible write goes no
lower than L1 by itself, and a write of unknown outcome gets no rung before it is reconciled.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from hfr_bench.model.attempt import Fault
from hfr_bench.model.terms import Action, Channel, Criticality, FaultClass, Rung, SideEffect
from hfr_bench.recovery.config import Policy

Kind = Literal["model", "tool", "scope", "cache", "template", "human"]


class Offer(NamedTuple):
    """Something to turn to. `quality`: measured, 0..1; None = not known."""

    rung: Rung
    kind: Kind
    target: str
    quality: float | None = None


class Choice(NamedTuple):
    """What the ladder says.

    `rung` L0: no rung; the caller goes on without. L1: compress (needs no offer). L4 without an
    offer: hand over to a person. `confirm`: not before a person agrees (table 5).
    """

    rung: Rung
    offer: Offer | None
    reason: str
    confirm: bool = False

    @property
    def action(self) -> Action | None:
        """The action of table 3 that carries the choice out; None for no rung."""
        if self.rung is _NORMAL:
            return None
        if self.rung is _COMPRESSED:
            return Action.COMPRESS
        return _ACTIONS[self.offer.kind] if self.offer is not None else Action.ESCALATE


_ACTIONS: Mapping[Kind, Action] = {
    "model": Action.DEGRADE_MODEL,
    "tool": Action.DEGRADE_TOOL,
    "scope": Action.DEGRADE_SCOPE,
    "cache": Action.DEGRADE_SCOPE,
    "template": Action.DEGRADE_SCOPE,
    "human": Action.ESCALATE,
}
_NONE: frozenset[Rung] = frozenset()
# Looked up once: a member of an enum costs ten times a global.
_NORMAL, _COMPRESSED, _SAME, _LOWER, _FALLBACK = Rung
_OVERFLOW, _R3, _TOOL = FaultClass.CONTEXT_OVERFLOW, SideEffect.IRREVERSIBLE, Channel.TOOL
_CLOSED = (FaultClass.REFUSAL, FaultClass.PERMANENT)

# Table 2. The same model or tool is not worth another try: T4 may go all the way down, T5 only to
# an equivalent tool. V1 arrives here when there is no new evidence to retry with.
_DOWN: Mapping[FaultClass, tuple[Rung, ...]] = {
    FaultClass.OVERLOAD: (_SAME, _LOWER, _FALLBACK),
    FaultClass.TOOL_UNAVAILABLE: (_SAME,),
    FaultClass.SEMANTIC: (_SAME, _LOWER),
}
# Where the retry budget is used up (choose_degradation of §4.4).
_EXHAUSTED: Mapping[Criticality, tuple[Rung, ...]] = {
    Criticality.LOW: (_FALLBACK,),
    Criticality.MEDIUM: (_LOWER, _FALLBACK),
    Criticality.HIGH: (),
}
# Where every class goes down one rung at a time (`descent: next`).
_NEXT = (_SAME, _LOWER)
# An answer that is made without an attempt; nobody may make up the answer of a write.
_MADE_UP = ("scope", "cache", "template")


def choose(
    policy: Policy,
    fault: Fault,
    *,
    channel: Channel,
    level: SideEffect,
    criticality: Criticality,
    quality_floor: float | None = None,
    compressed: bool = False,
    used: Sequence[str] = (),
    offers: Sequence[Offer] = (),
    budget_exhausted: bool = False,
    unsettled: bool = False,
) -> Choice:
    """choose_degradation of paper §4.4, under its constraints.

    `quality_floor`: the task's own, never below the policy's for the criticality. `used`: targets
    that the step has tried. `unsettled`: a write whose outcome is not known. An open breaker or a
    near deadline asks with a fault of class T4: the same target is not worth a try. Offers are
    tried in the order given; a rung that nobody may take is passed over, and so is one whose
    offers are used or too poor. What is left in the end is a person.
    """
    barred = _barred(fault, level, unsettled)
    if barred:
        return Choice(_NORMAL, None, barred)
    broke = budget_exhausted and policy.charge_rungs
    wanted = _wanted(policy, fault, criticality, compressed, budget_exhausted, broke)
    if not wanted and not budget_exhausted:
        return Choice(_NORMAL, None, f"{fault.fault_class} asks for no rung")
    irreversible = level is _R3
    if irreversible and _COMPRESSED not in wanted:
        return _person(offers, "irreversible: no lower than L1 without a person")
    person = policy.human[criticality] | (policy.human_irreversible if irreversible else _NONE)
    floor = max(policy.floors[criticality], quality_floor or 0.0)
    skipped: list[str] = []
    for rung in wanted[:1] if irreversible else wanted:  # L1 comes first
        confirm = rung in person
        if not confirm and rung not in policy.allowed[criticality]:
            skipped.append(f"{rung} is not allowed at {criticality}")
            continue
        if rung is _COMPRESSED:
            return Choice(rung, None, "shorten the context", confirm)
        for offer in _fitting(offers, rung, channel, level, used):
            against = _against(policy, offer, floor, broke)
            if not against:
                return Choice(rung, offer, f"{fault.fault_class}: {offer.target}", confirm)
            skipped.append(against)
    empty = "the retry budget is used up" if budget_exhausted else "nothing to turn to"
    return _person(offers, "; ".join(skipped) or empty)


def quality(policy: Policy, offer: Offer) -> float | None:
    """What is known of an offer's quality: the lower of its own and the history's; else None."""
    known = policy.history.get(f"{offer.rung}:{offer.target}", policy.history.get(offer.rung))
    if known is None or offer.quality is None:
        return offer.quality if known is None else known
    return min(known, offer.quality)


def next_equal(
    target: str, used: tuple[str, ...], substitutes: Mapping[str, tuple[str, ...]]
) -> str | None:
    """An equal target (rung L2) that the step has not used yet, or None."""
    for candidate in substitutes.get(target, ()):
        if candidate not in used:
            return candidate
    return None


def may_substitute(fault_class: FaultClass | None) -> bool:
    """Safety invariant (paper §4.4): no rung routes around a refusal or a missing permission."""
    return fault_class not in _CLOSED


def _barred(fault: Fault, level: SideEffect, unsettled: bool) -> str:
    """Why no rung may be taken at all, or nothing. The secondary class counts: it may be right."""
    if not (may_substitute(fault.fault_class) and may_substitute(fault.secondary)):
        return "no rung goes around a refusal or a missing permission"
    if unsettled and level.writes:
        # R1 too: another tool does not know the key that makes a repeat harmless.
        return "outcome unknown: reconcile first"
    return ""


def _wanted(
    policy: Policy,
    fault: Fault,
    criticality: Criticality,
    compressed: bool,
    exhausted: bool,
    broke: bool,
) -> tuple[Rung, ...]:
    """The rungs to look at, in order.

    `broke`: the budget is used up and rungs are charged to it, so that only what needs no further
    attempt is left, and proposition 1 holds as it stands.
    """
    if policy.next_rung:
        return _NEXT
    wanted = _DOWN.get(fault.fault_class, ())
    if fault.fault_class is _OVERFLOW and not compressed:
        wanted = (_COMPRESSED,)
    if not exhausted:
        return wanted
    last = _EXHAUSTED[criticality]
    return last if broke else (*wanted, *(rung for rung in last if rung not in wanted))


def _fitting(
    offers: Sequence[Offer], rung: Rung, channel: Channel, level: SideEffect, used: Sequence[str]
) -> Iterator[Offer]:
    """Offers of the rung that can stand in for such a step; a person is no substitute."""
    swap = "tool" if channel is _TOOL else "model"
    for offer in offers:
        if offer.rung is not rung or offer.target in used:
            continue
        if offer.kind == swap or (offer.kind in _MADE_UP and not _is_write(channel, level)):
            yield offer


def _is_write(channel: Channel, level: SideEffect) -> bool:
    return channel is _TOOL and level.writes


def _against(policy: Policy, offer: Offer, floor: float, broke: bool) -> str:
    """What speaks against an offer, or nothing.

    L2 is equal by contract until a history says otherwise; lower rungs must have been measured.
    """
    if broke and offer.kind not in _MADE_UP:
        return f"{offer.target} would cost an attempt"
    known = quality(policy, offer)
    if known is None:
        return "" if offer.rung is _SAME else f"{offer.target}: quality was never measured"
    return "" if known >= floor else f"{offer.target}: {known:g} is under the floor {floor:g}"


def _person(offers: Sequence[Offer], reason: str) -> Choice:
    person = next((offer for offer in offers if offer.kind == "human"), None)
    return Choice(_FALLBACK, person, reason, confirm=True)
