"""What the world says of a trial: effects against the task's expected ones (DESIGN §7).

Reads only truth records (the executed log) and the sealed task; never the strategy's word.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from hfr_bench.lab.recorder import is_effect
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.task import OPEN, SealedTask
from hfr_bench.model.terms import SideEffect
from hfr_bench.model.trace import EffectExecuted, TraceEvent


class Effects(NamedTuple):
    """Counts of one trial. `partial`: atomic groups of which some but not all effects exist.

    `lost_effects`: effects (R2, R3) that landed while their answer was lost.
    """

    effects: int
    duplicates: int
    duplicate_dispatches: int
    unwanted: int
    partial: int
    lost_effects: int


def judge_effects(
    events: Iterable[TraceEvent],
    expected: Mapping[str, int],
    groups: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Effects:
    """Count effects of agent and strategy; the user's are left out.

    `expected`: how often the task wants each natural key; with OPEN among them nothing is
    unwanted. `groups`: keys of each atomic group.
    """
    done: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    fresh: list[EffectExecuted] = []
    repeats = lost = 0
    for event in events:
        body: Any = event.body
        kind = body.type
        if kind == "attempt_ended" and fresh:
            lost += sum(_doubles(one) for one in fresh) if body.exception else 0
            fresh = []
        if kind != "effect" or body.actor == "user" or not body.level.writes:
            continue
        fresh.append(body)
        if is_effect(body):
            done[body.natural_key] += 1
        elif tried[body.natural_key]:
            repeats += 1
        tried[body.natural_key] += 1
    duplicates = sum(max(0, n - max(1, expected.get(key, 0))) for key, n in done.items())
    unwanted = 0 if OPEN in expected else sum(1 for key in done if key not in expected)
    partial = sum(
        1 for keys in groups.values() if 0 < sum(done[key] > 0 for key in keys) < len(keys)
    )
    return Effects(sum(done.values()), duplicates, repeats, unwanted, partial, lost)


def expected_counts(sealed: SealedTask) -> dict[str, int]:
    """How often the task wants each effect, by natural key."""
    return {effect.natural_key: effect.count for effect in sealed.expected}


def atomic_groups(sealed: SealedTask) -> dict[str, list[str]]:
    """The natural keys of each atomic group."""
    groups: dict[str, list[str]] = {}
    for effect in sealed.expected:
        if effect.atomic_group is not None:
            groups.setdefault(effect.atomic_group, []).append(effect.natural_key)
    return groups


def _doubles(executed: EffectExecuted) -> bool:
    """An effect that a resend would bring about once more (or be refused)."""
    return is_effect(executed) and executed.level is not SideEffect.IDEMPOTENT


def packet_is_true(events: Iterable[TraceEvent], packet: EscalationPacket) -> bool:
    """Whether what the person was handed is true (for SCR-strict).

    Every write listed as committed really ran without a domain error; every one listed as unknown
    was sent and is without an answer; every write that changed the world is in one of the lists.
    """
    stepless: dict[str, str] = {}
    ran: set[str] = set()
    changed: set[str] = set()
    unanswered: set[str] = set()
    sent = ""
    for event in events:
        body = event.body
        if body.type == "attempt_started":
            sent = body.stepless_key if body.level.writes else ""
            if sent:
                stepless[body.operation_id] = sent
        elif body.type == "attempt_ended":
            if sent and not body.answered:
                unanswered.add(sent)
        elif body.type == "effect" and body.operation_id in stepless:
            key = stepless[body.operation_id]
            if not body.domain_error:
                ran.add(key)
            if is_effect(body):
                changed.add(key)
    committed, unknown = set(packet.committed), set(packet.unknown)
    return committed <= ran and unknown <= unanswered and changed <= committed | unknown
