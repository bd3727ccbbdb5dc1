"""What the world says of a trial: effects against the task's expected ones (DESIGN §7).

Reads only truth records (the executed log) and the sealed task; never the strategy's word.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from hfr_bench.lab.recorder import is_effect
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.task import SealedTask
from hfr_bench.model.trace import AttemptStarted, EffectExecuted, TraceEvent


class Effects(NamedTuple):
    """Counts of one trial. `partial`: atomic groups of which some but not all effects exist."""

    effects: int
    duplicates: int
    duplicate_dispatches: int
    unwanted: int
    partial: int


def judge_effects(events: Iterable[TraceEvent], sealed: SealedTask) -> Effects:
    """Count expected, duplicate and unwanted effects of agent and strategy; users are left out."""
    done: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    repeats = 0
    for event in events:
        body = event.body
        if not isinstance(body, EffectExecuted) or body.actor == "user" or not body.level.writes:
            continue
        if is_effect(body):
            done[body.natural_key] += 1
        elif tried[body.natural_key]:
            repeats += 1
        tried[body.natural_key] += 1
    wanted = {effect.natural_key: effect.count for effect in sealed.expected}
    duplicates = sum(max(0, n - max(1, wanted.get(key, 0))) for key, n in done.items())
    unwanted = sum(1 for key in done if key not in wanted)
    return Effects(sum(done.values()), duplicates, repeats, unwanted, _partial(done, sealed))


def _partial(done: Counter[str], sealed: SealedTask) -> int:
    """Incomplete atomic groups: begun, not finished."""
    groups: dict[str, list[bool]] = {}
    for effect in sealed.expected:
        if effect.atomic_group is not None:
            groups.setdefault(effect.atomic_group, []).append(done[effect.natural_key] > 0)
    return sum(1 for parts in groups.values() if any(parts) and not all(parts))


def packet_is_true(events: Iterable[TraceEvent], packet: EscalationPacket) -> bool:
    """Whether what the person was handed is true (for SCR-strict).

    Every write listed as committed really ran without a domain error, and every write that
    changed the world is listed as committed or as unknown.
    """
    stepless: dict[str, str] = {}
    ran: set[str] = set()
    changed: set[str] = set()
    for event in events:
        body = event.body
        if isinstance(body, AttemptStarted) and body.level.writes:
            stepless[body.operation_id] = body.stepless_key
        elif isinstance(body, EffectExecuted) and body.operation_id in stepless:
            key = stepless[body.operation_id]
            if not body.domain_error:
                ran.add(key)
            if is_effect(body):
                changed.add(key)
    committed, unknown = set(packet.committed), set(packet.unknown)
    return committed <= ran and changed <= committed | unknown
