"""What the guard needs to carry a decision out: an arm's gear, substitutes, fallbacks, papers.

Pure functions over a step and the task's public half; nothing here decides, waits or writes.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from hfr_bench.lab.compressing import RollingSummary
from hfr_bench.lab.step import Progress, Step, Tally
from hfr_bench.model.attempt import Decision, LedgerMove, Observation
from hfr_bench.model.ledger import EscalationPacket, LedgerEntry
from hfr_bench.model.prereg import Arm, ModelPins
from hfr_bench.model.record import json_digest
from hfr_bench.model.task import TaskSpec, ToolSpec
from hfr_bench.model.terms import Channel, LedgerState, SideEffect
from hfr_bench.ports.ledger import Ledger
from hfr_bench.ports.summarizer import Summarizer
from hfr_bench.ports.verifier import Checked, Verifier
from hfr_bench.recovery.adapter import Adaptation, Contract, ContractMismatch, adapt
from hfr_bench.recovery.ledger import LedgerConflictError

CONTEXT_TOKENS = "context_tokens"
"""Setting of `model.config` that is the guard's and not the model service's."""

_SAME = Adaptation(same_semantics=True)
_SURE = (LedgerState.COMMITTED, LedgerState.RECONCILED_COMMITTED)
_DOUBTFUL = (LedgerState.UNKNOWN, LedgerState.PREPARED)


How = Callable[[str, str], Adaptation]
"""Names of a tool and of its equivalent -> how a call of the one is said to the other."""


def same_names(_source: str, _target: str) -> Adaptation:
    """The same arguments under the same names: what holds where a suite registers nothing."""
    return _SAME


@runtime_checkable
class Adapting(Protocol):
    """A suite that registers how a call is said to an equivalent tool."""

    def adaptation(self, source: str, target: str) -> Adaptation: ...


@dataclass(frozen=True, slots=True)
class Gear:
    """What an arm's equipment lets the guard do for it.

    `verifier`: the suite's checks. `summarizer`: for COMPRESS. `ladder`: equivalents and request
    sizes are shown. `context_tokens`: what the model takes in all, where it is registered.
    `how`: how a call is said to an equivalent tool.
    """

    verifier: Verifier | None = None
    summarizer: Summarizer | None = None
    ladder: bool = False
    context_tokens: int | None = None
    how: How = same_names


def gear_of(arm: Arm, suite: object, task: TaskSpec, models: ModelPins) -> Gear:
    """The gear of one trial. A suite without checks offers none, whatever the arm may use."""
    equipment = arm.equipment
    how = suite.adaptation if isinstance(suite, Adapting) else same_names
    checks = equipment.verifier and isinstance(suite, Checked)
    return Gear(
        verifier=suite.verifier(task) if checks and isinstance(suite, Checked) else None,
        summarizer=RollingSummary() if equipment.ladder else None,
        ladder=equipment.ladder,
        context_tokens=models.config.get(CONTEXT_TOKENS) if equipment.ladder else None,
        how=how,
    )


def check_sound(decision: object) -> None:
    """Raises TypeError or ValueError for what no strategy may answer."""
    if not isinstance(decision, Decision):
        raise TypeError(f"{type(decision).__name__} is not a decision")
    if decision.delay_us < 0 or decision.debit < 0:
        raise ValueError(f"delay_us {decision.delay_us}, debit {decision.debit}")


def tokens_of(step: Step) -> int:
    """About how many tokens a model step sends: four characters each; 0 for other steps."""
    if step.intent.channel is not Channel.MODEL:
        return 0
    return len(json.dumps(step.payload, ensure_ascii=False)) // 4


# -- substitutes (rungs L2 to L4) ------------------------------------------------------------------


def equivalents(step: Step, task: TaskSpec, how: How) -> tuple[str, ...]:
    """Tools that can take this one's place: the arguments fit, the side effects are the same."""
    if step.tool is None:
        return ()
    return tuple(
        name
        for name in step.tool.equivalents
        if (other := task.tool(name)) and substituted(step, other, how)
    )


def substituted(step: Step, other: ToolSpec, how: How) -> Step | None:
    """The step as it is sent to an equivalent tool: a point of its own, the same intent.

    None where nothing may take its place (a write that cannot be undone), or this tool does not
    fit. That a suite lists it as an equivalent is its word that both do the same to the world.
    """
    spec = step.tool
    if spec is None or spec.irreversible or other.irreversible or other.level is not spec.level:
        return None
    if spec.level is SideEffect.IRREVERSIBLE:
        return None
    payload: Mapping[str, Any] = step.payload
    if other.parameters:
        source = Contract(spec.name, spec.level, spec.parameters)
        target = Contract(other.name, other.level, other.parameters)
        said = adapt(source, target, step.payload, how(spec.name, other.name))
        if isinstance(said, ContractMismatch):
            return None
        payload = said
    return replace(step, tool=other, point=f"tool:{other.name}", payload=payload)


def shortened(step: Step, messages: Iterable[Mapping[str, Any]]) -> Step:
    """A model step with a shorter conversation; its intent's digest is that of what is sent."""
    payload = {**step.payload, "messages": list(messages)}
    return replace(
        step, payload=payload, intent=replace(step.intent, args_digest=json_digest(payload))
    )


def fallback(channel: Channel, answer: str) -> Observation:
    """A registered answer in place of the step's own (DEGRADE_SCOPE)."""
    message = {"role": "assistant", "content": answer}
    payload: Any = message if channel is Channel.MODEL else answer
    return Observation(answered=True, sent=False, body=answer, payload=payload)


# -- papers ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Desk:
    """Where ledger entries are made out: whose they are, and under which operation."""

    tenant: str
    task: TaskSpec
    ledger: Ledger

    def entry(
        self, at: Progress | None, move: LedgerMove, now_us: int, operation_id: str
    ) -> tuple[LedgerEntry, LedgerState | None]:
        """A move as an entry, and the state before it.

        Outside a step (`at` None: after a restart, at the end) only entries that are there can be
        moved. Raises LedgerConflictError otherwise.
        """
        old = self.ledger.get(move.key)
        if at is None:
            if old is None:
                raise LedgerConflictError(f"ledger: nothing is at work under the key {move.key}")
            step, level, attempts = old.step, old.level, old.attempts
        else:
            step, level, attempts = at.step.number, at.step.intent.level, at.attempts
        made = LedgerEntry(
            key=move.key,
            stepless_key=move.stepless_key,
            tenant=self.tenant,
            task_id=self.task.task_id,
            step=step,
            tool=move.tool,
            level=level,
            state=move.to,
            goal_version=self.task.goal_version,
            attempts=attempts,
            evidence=move.evidence,
            operation_id=operation_id,
            updated_us=now_us,
        )
        return made, old.state if old else None


def packet(
    trial_id: str, where: tuple[int, str], decision: Decision, tally: Tally, ledger: Ledger | None
) -> EscalationPacket:
    """What is known: from the ledger where there is one, else from the answers seen.

    `where`: step and point, or 0 and what the runtime was at.
    """
    committed, unknown = list(tally.committed), []
    if ledger is not None:
        entries = ledger.entries()
        committed = [e.stepless_key for e in entries if e.state in _SURE]
        unknown = [e.stepless_key for e in entries if e.state in _DOUBTFUL]
    return EscalationPacket(
        trial_id=trial_id,
        step=where[0],
        reason=decision.reason,
        status=where[1],
        committed=tuple(committed),
        unknown=tuple(unknown),
        evidence=decision.fault.evidence if decision.fault else "",
        suggestion="find out whether the unknown writes are in" if unknown else "try again later",
    )
