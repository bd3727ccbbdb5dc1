"""Trace events: one line of JSON each, a closed tagged set of bodies, truth beside belief.

`t_us` is the trial clock, `wall_us` measured time (outside digests and comparisons), `prev` the
SHA-256 of the line before. Bodies named *seen* hold what the strategy saw; *truth* what the
world did. That gap is the subject of the project.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from hfr_bench.model.cassette import Mark
from hfr_bench.model.ledger import Checkpoint, EscalationPacket
from hfr_bench.model.record import Record, is_unset
from hfr_bench.model.terms import (
    Action,
    Channel,
    CheckLevel,
    FaultClass,
    Landed,
    LedgerState,
    Origin,
    Rung,
    SideEffect,
)
from hfr_bench.model.trial import TrialResult
from hfr_bench.model.web import WebHit, WebSeen


class CohortPlace(Record):
    """Where a trial stands in its cohort.

    `position` from 1; `start_us`: the cohort's clock as the trial begins, which its latency and
    deadline count from; `shared`: what those before it have handed on, by part.
    """

    position: int
    start_us: int
    shared: dict[str, Any] = {}


class TrialStarted(Record):
    """First line of a trial: everything it was registered as.

    `expected`: how often the task wants each effect, by the digest of its natural key.
    `cohort`: only where cohorts are registered. `replayed`: recorded responses played the model.
    `prefix_digest`: SHA-256 of the cassette that plays it up to its first fault (live forks).
    """

    type: Literal["trial_started"] = "trial_started"
    prereg_digest: str
    schedule_digest: str
    suite: str
    task_id: str
    seed: int
    profile: str
    rate: float
    arm: str
    arm_digest: str
    pair_group: str
    cohort_id: str
    round: int = 1
    tenant: str = "default"
    origin: Origin
    sandbox: str
    image_id: str | None = None
    goal_version: int = 1
    clock: str
    injected: bool = True
    source: str = ""
    expected: dict[str, int] = {}
    cohort: CohortPlace | None = Field(default=None, exclude_if=is_unset)
    replayed: bool = Field(default=False, exclude_if=is_unset)
    prefix_digest: str = Field(default="", exclude_if=is_unset)


class AttemptStarted(Record):
    """Seen: an attempt goes out. `told`: the caller named the coordinate (else inferred).

    `request_size`: bytes of a model request without the model's name, where the schedule holds
    an event that ends when the request gets smaller; else 0.
    """

    type: Literal["attempt_started"] = "attempt_started"
    point: str
    occurrence: int
    channel: Channel
    target: str
    purpose: str = "agent"
    timeout_us: int
    intent_id: str = ""
    key: str = ""
    stepless_key: str = ""
    level: SideEffect = SideEffect.READ
    request_digest: str
    operation_id: str = ""
    told: bool = True
    request_size: int = 0


class AttemptEnded(Record):
    """Seen: what came back. `response_digest` of the raw body; money in micro-dollars.

    `retry_after`: that header as it was seen, or null. `exit_code`: of a command. `signs`: names of
    the system errors that a failed tool's answer speaks of (`model.signs`).
    """

    type: Literal["attempt_ended"] = "attempt_ended"
    answered: bool
    sent: bool = True
    status: int | None = None
    exception: str | None = None
    domain_error: bool = False
    response_digest: str = ""
    retry_after: str | None = None
    returned_model: str | None = None
    finish_reason: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    cost_microusd: int | None = 0
    latency_us: int = 0
    exit_code: int | None = None
    signs: tuple[str, ...] = ()


class UpstreamHit(Record):
    """Truth, model layer: a request reached the gateway; what was done with it.

    `forwarded`: the model server got it. `injection_id`: the event that was live, or null.
    Neither answered by the model server (`upstream_status`) nor injected: an organic error.
    `response_digest`: of what went out. `upstream_digest`: of the model server's own answer, where
    that was altered, else empty. `absorbed`: organic errors that were met and tried again on the
    way, above the injector. `prefix`: in a live fork, before its first fault: the answer was
    played from the calm trial's recording, or was missed there and is the live model's.
    """

    type: Literal["upstream_hit"] = "upstream_hit"
    point: str
    occurrence: int
    attempt: int = 0
    target: str
    told: bool
    forwarded: bool
    upstream_status: int | None = None
    injection_id: str | None = None
    kind: str | None = None
    request_digest: str = ""
    response_digest: str = ""
    upstream_digest: str = ""
    stall_us: int = 0
    absorbed: int = 0
    prefix: Mark = Field(default="", exclude_if=is_unset)

    @property
    def organic(self) -> bool:
        """Our own upstream failed: nobody injected this."""
        return self.upstream_status is None and self.injection_id is None


class FaultInjected(Record):
    """Truth, tool layer: an event was live at this attempt. Never read by the delivery audit."""

    type: Literal["fault_injected"] = "fault_injected"
    injection_id: str
    kind: str
    effect_lands: bool | None = None


class HostLooked(Record):
    """Truth, environment layer: a tool's host as its sandbox sees it from outside.

    `when`: before the call went in, when it ended or was given up, and once all was undone.
    `operation_id`: the call's. `at_work`, `stopped`: its processes, and those of them that are
    halted. `struck`: how many of them the sandbox has hit. `free_kib`, `oom_kills`: null where the
    host is frozen, so that nobody can look. `cut`: who is out of reach; `*` is everybody.
    `restarted`: the host was started anew before the call. `left`: a lock that was left is there.
    `protected`, `app`, `app_stopped`, `modal`, `skew_s`: as in `ports.sandbox.HostState`.
    """

    type: Literal["host"] = "host"
    operation_id: str
    when: Literal["before", "after", "healed"]
    paused: bool = False
    watched: bool = False
    struck: int = 0
    at_work: int = 0
    stopped: int = 0
    memory_mib: int = 0
    free_kib: int | None = None
    oom_kills: int | None = None
    cut: tuple[str, ...] = ()
    restarted: bool = Field(default=False, exclude_if=lambda so: not so)
    left: bool = Field(default=False, exclude_if=lambda so: not so)
    protected: bool = Field(default=False, exclude_if=lambda so: not so)
    app: int | None = Field(default=None, exclude_if=lambda hit: hit is None)
    app_stopped: int = Field(default=0, exclude_if=lambda halted: not halted)
    modal: bool = Field(default=False, exclude_if=lambda so: not so)
    skew_s: int = Field(default=0, exclude_if=lambda off: not off)


class EffectExecuted(Record):
    """Truth: a tool really ran. An *effect* is an execution with `changed` (or at level R3).

    `natural_key`: digest of tool and identifying arguments (they are benchmark text, which stays
    out of traces). `changed`: rows that changed. `actor`: agent, user or strategy.
    """

    type: Literal["effect"] = "effect"
    operation_id: str
    point: str
    tool: str
    actor: str
    level: SideEffect
    natural_key: str
    args_digest: str
    domain_error: bool = False
    changed: tuple[str, ...] = ()
    response_digest: str = ""


class Decided(Record):
    """Belief and choice: one decision of the strategy (paper §5.5's twelve fields)."""

    type: Literal["decided"] = "decided"
    on: str
    action: Action
    reason: str = ""
    fault_class: FaultClass | None = None
    confidence: float | None = None
    evidence: str = ""
    delay_us: int = 0
    substitute: str | None = None
    rung: Rung | None = None
    check: CheckLevel | None = None
    debit: int = 0
    step_left: int | None = None
    task_left: int | None = None
    deadline_left_us: int | None = None


class LedgerMoved(Record):
    """The ledger moved, before anything was done about it."""

    type: Literal["ledger_moved"] = "ledger_moved"
    key: str
    stepless_key: str
    tool: str
    level: SideEffect
    before: LedgerState | None = None
    after: LedgerState
    evidence: str = ""
    lease: str | None = None
    fencing: int = 0
    expires_us: int | None = None
    operation_id: str | None = None


class ReconcileAnswered(Record):
    """The suite's predicate judged the reads: committed, absent or unknown."""

    type: Literal["reconciled"] = "reconciled"
    tool: str
    landed: Landed


class VerifyAnswered(Record):
    """A check gave its verdict."""

    type: Literal["verified"] = "verified"
    level: CheckLevel
    passed: bool
    quality: float = 1.0
    reasons: tuple[str, ...] = ()
    undecided: bool = False


class StepEnded(Record):
    """A logical step is over: how often it was tried; `result_digest` of the last answer's body."""

    type: Literal["step_ended"] = "step_ended"
    channel: Channel
    point: str
    occurrence: int
    attempts: int
    action: Action
    result_digest: str = ""


class Said(Record):
    """A message between agent and user; text itself stays out of the trace."""

    type: Literal["said"] = "said"
    who: Literal["agent", "user"]
    text_digest: str
    length: int


class Escalated(Record):
    """A person was called."""

    type: Literal["escalated"] = "escalated"
    packet: EscalationPacket


class Checkpointed(Record):
    """The runtime's state was saved."""

    type: Literal["checkpointed"] = "checkpointed"
    checkpoint: Checkpoint


class CircuitMoved(Record):
    """Belief, in cohorts: a breaker opened (or stays open for longer), or closed."""

    type: Literal["circuit_moved"] = "circuit_moved"
    target: str
    state: Literal["open", "closed"]
    until_us: int | None = None


class Withheld(Record):
    """Belief, in cohorts: an attempt that the shared state has prevented.

    `breaker`: a call that did not go out, since a breaker of its target, provider or tenant is
    open. `tenant_budget`: a retry that was not made, since the tenant has none left.
    """

    type: Literal["withheld"] = "withheld"
    why: Literal["breaker", "tenant_budget"]
    scope: str


class Carried(Record):
    """In cohorts: what the trial hands on, by part. `problem`: why it is nothing, if so."""

    type: Literal["carried"] = "carried"
    shared: dict[str, Any] = {}
    problem: str = ""


class TrialEnded(Record):
    """Last line of a trial. `cassette`: SHA-256 of its recorded or played responses, if any."""

    type: Literal["trial_ended"] = "trial_ended"
    result: TrialResult
    cassette: str = Field(default="", exclude_if=is_unset)


Body = Annotated[
    TrialStarted
    | AttemptStarted
    | AttemptEnded
    | UpstreamHit
    | FaultInjected
    | HostLooked
    | WebHit
    | WebSeen
    | EffectExecuted
    | Decided
    | LedgerMoved
    | ReconcileAnswered
    | VerifyAnswered
    | StepEnded
    | Said
    | Escalated
    | Checkpointed
    | CircuitMoved
    | Withheld
    | Carried
    | TrialEnded,
    Field(discriminator="type"),
]


class TraceEvent(Record):
    """One line of a trial's trace. `step` 0 = outside any step; `attempt` 0 = outside any."""

    trial_id: str
    seq: int
    t_us: int
    wall_us: int = 0
    step: int = 0
    attempt: int = 0
    prev: str = ""
    body: Body
