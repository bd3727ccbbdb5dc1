"""Values that live inside the attempt loop: what is asked, what is seen, what is decided.

Slotted dataclasses, not records: they are made several times an attempt. What a file needs of
them is copied into a trace body. Nobody changes one; those that a strategy makes several times an
attempt are not frozen only because that makes them three times dearer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hfr_bench.model.terms import (
    Action,
    Channel,
    CheckLevel,
    FaultClass,
    Landed,
    LedgerState,
    Rung,
    SideEffect,
)


@dataclass(frozen=True, slots=True)
class Intent:
    """What the agent wants done; the same for every attempt, and across replanning.

    `key` is the idempotency key (tenant, task, step, tool, canonical arguments; paper §4.5);
    `stepless_key` leaves the step out, so that a write asked for anew still meets its old entry.
    """

    intent_id: str
    channel: Channel
    target: str
    level: SideEffect
    args_digest: str
    key: str
    stepless_key: str


@dataclass(frozen=True, slots=True)
class Call:
    """One physical execution to be made: the coordinate, the target and what to send.

    `occurrence` and `attempt` count from 1. `purpose`: `agent` for the agent's own calls, else
    what the strategy needs it for (`prepare`, `reconcile`, `verify`, `compress`).
    `payload`: a model request or a tool's arguments. `intent`: only of the agent's own calls.
    """

    step: int
    point: str
    occurrence: int
    attempt: int
    channel: Channel
    target: str
    timeout_us: int
    payload: Mapping[str, Any]
    purpose: str = "agent"
    operation_id: str = ""
    intent: Intent | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """What came back from one attempt, as any runtime could see it.

    `answered`: the call was answered and the answer could be parsed. A tool's domain error is an
    answer (`domain_error`). `status`: HTTP-like; None when nothing arrived. `exception`: class
    name of what the client raised (`ReadTimeout`, `ConnectError`, ...). `sent`: the request left
    us, so a write may have landed. `headers`: lower-case. `body`: raw answer text.
    `payload`: the parsed answer. Times in microseconds; money in micro-dollars (None = unknown).
    `exit_code`: of a command; `rpc_code`: a JSON-RPC (MCP) error's; `schema_error`: what the
    contract's check said of the answer; `phase`: how far the connection came (`connect`, `send`,
    `headers`, `body`), empty where nobody knows.
    """

    answered: bool
    status: int | None = None
    exception: str | None = None
    sent: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    payload: Any = None
    domain_error: bool = False
    finish_reason: str | None = None
    returned_model: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    cost_microusd: int | None = 0
    latency_us: int = 0
    exit_code: int | None = None
    rpc_code: int | None = None
    schema_error: str = ""
    phase: str = ""


@dataclass(frozen=True, slots=True)
class Truth:
    """What really happened to the last attempt; shown only to arms equipped with `truth`.

    `landed` is None where nothing could land; `clears_by` is None where no fault was injected.
    """

    landed: bool | None = None
    clears_by: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A check's answer: passed or not, how good (0..1), and why.

    `undecided`: the check could not tell. That passes, and is worth no more than no check.
    """

    level: CheckLevel
    passed: bool
    quality: float = 1.0
    reasons: tuple[str, ...] = ()
    undecided: bool = False


@dataclass(slots=True, unsafe_hash=True)
class Fault:
    """What the strategy believes happened (paper §3.2).

    `repairable`: the call itself was bad in a way that its sender can mend (tables 2 and 11).
    """

    fault_class: FaultClass
    confidence: float = 1.0
    secondary: FaultClass | None = None
    retry_after_us: int | None = None
    evidence: str = ""
    repairable: bool = False


@dataclass(slots=True, unsafe_hash=True)
class BudgetView:
    """What is left when a decision is taken; None = not limited."""

    step_left: int | None = None
    task_left: int | None = None
    deadline_left_us: int | None = None


@dataclass(slots=True, unsafe_hash=True)
class LedgerMove:
    """One move of a side effect's state, made durable before anything is done about it."""

    key: str
    stepless_key: str
    to: LedgerState
    tool: str
    evidence: str = ""


@dataclass(slots=True, unsafe_hash=True)
class Decision:
    """What the strategy chooses next.

    `prepare`: with DISPATCH, make the before-read of the write's recovery contract instead.
    `delay_us`: wait before going on. `substitute`: the new target of a DEGRADE; of a DEGRADE_SCOPE,
    the name of the registered fallback, whose text is `answer`.
    `debit`: retries taken from the budgets, in one transaction with `moves`. `key`: the
    idempotency key to send under; default the one of the step's last PREPARED move.
    """

    action: Action
    reason: str = ""
    delay_us: int = 0
    prepare: bool = False
    substitute: str | None = None
    rung: Rung | None = None
    check: CheckLevel | None = None
    fault: Fault | None = None
    moves: tuple[LedgerMove, ...] = ()
    debit: int = 0
    key: str = ""
    budget: BudgetView = BudgetView()
    answer: str = ""


@dataclass(frozen=True, slots=True)
class StepView:
    """The step a decision is asked about, as the runtime knows it.

    `tokens`: about how large the model request is, and `context_left`: how much more the model
    would take (None = unknown). `equivalents`: tools with the same side effects, which an adapter
    can put in this one's place. `can_verify`: levels at which the answer can be checked.
    """

    step: int
    intent: Intent
    point: str
    target: str
    attempts: int
    now_us: int
    deadline_us: int
    needs_before: bool = False
    can_reconcile: bool = False
    goal_version: int = 1
    tokens: int = 0
    context_left: int | None = None
    equivalents: tuple[str, ...] = ()
    can_verify: tuple[CheckLevel, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposed:
    """Asked before every attempt: may it go out?"""

    view: StepView


@dataclass(frozen=True, slots=True)
class Prepared:
    """The before-read of a write was tried."""

    view: StepView
    observation: Observation


@dataclass(frozen=True, slots=True)
class Attempted:
    """An attempt ended."""

    view: StepView
    observation: Observation
    truth: Truth | None = None


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The world was asked whether a write landed."""

    view: StepView
    observation: Observation
    landed: Landed


@dataclass(frozen=True, slots=True)
class Verified:
    """A check gave its verdict."""

    view: StepView
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Finishing:
    """The agent says it is done; the strategy accepts, or does not (paper §5.4)."""

    now_us: int
    deadline_us: int


@dataclass(frozen=True, slots=True)
class Compressed:
    """The context was to be made shorter (rung L1); `done` is false where it could not be."""

    view: StepView
    done: bool


@dataclass(frozen=True, slots=True)
class Known:
    """What the ledger's store says of one write, whoever wrote it down."""

    key: str
    stepless_key: str
    state: LedgerState
    tool: str
    level: SideEffect
    goal_version: int = 1


@dataclass(frozen=True, slots=True)
class Restored:
    """The runtime under test came back from a crash: its state is the last checkpoint's.

    `ledger`: the store's entries, which know more than the checkpoint (paper §5.4: the ledger is
    replayed first). `drifted`: the configuration is not the one that the checkpoint was made under.
    `landed`: step-less keys of all writes that are in, for arms equipped with the truth.
    """

    now_us: int
    deadline_us: int
    ledger: tuple[Known, ...]
    drifted: bool = False
    landed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """A late answer about a write of an earlier step or goal; it settles that entry only."""

    now_us: int
    key: str
    landed: Landed
    goal_version: int = 1


@dataclass(frozen=True, slots=True)
class GoalChanged:
    """The user wants something else: a new goal version, never a reopened old one."""

    now_us: int
    goal_version: int


StrategyEvent = (
    Proposed
    | Prepared
    | Attempted
    | Reconciled
    | Verified
    | Compressed
    | Finishing
    | Restored
    | Receipt
    | GoalChanged
)
