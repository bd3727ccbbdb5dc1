"""The sections of an HFR configuration, named and nested as in the paper's YAML (§5.2).

Every key is judged alone: no rule ties two keys together, so settings that are each valid stay
valid in any combination. Overrides rest on that. Users write milliseconds and dollars.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from hfr_bench.model.record import Record
from hfr_bench.model.terms import CheckLevel, Criticality, Rung

# Strict: "3", true and 3.0 are no counts. A YAML that means something else must not pass.
Count = Annotated[int, Field(strict=True, ge=0, lt=2**53)]
Positive = Annotated[int, Field(strict=True, ge=1, lt=2**53)]
Millis = Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
Factor = Annotated[float, Field(strict=True, ge=1, le=100, allow_inf_nan=False)]
Amount = Annotated[float, Field(strict=True, ge=0, le=1_000_000_000, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]

Retryable = Literal["T1", "T2", "T3_readonly", "T6_after_compress"]
Never = Literal["T7", "T8", "T3_write_without_idempotency"]
LedgerName = Literal["memory", "sqlite", "postgres"]
KEY_FIELDS = ("tenant", "task", "step", "tool", "canonical_args")


class Retry(Record):
    """Back-off, budgets and which classes may be tried again (paper §4.3).

    `max_attempts_per_step` counts the first attempt: 4 = one attempt and three retries.
    `max_retries_per_task`: None = no task budget. `max_retries_per_tenant_per_min`: None = no
    tenant budget. `same_class_k`: so many failures of one class in a row, with no new evidence,
    end the retries. `retry_on` and `never_retry_on` use the paper's own words.
    """

    base_delay_ms: Millis = 200
    max_delay_ms: Millis = 2000
    jitter: Literal["full"] = "full"
    multiplier: Factor = 2.0
    max_attempts_per_step: Annotated[int, Field(strict=True, ge=1, le=1000)] = 4
    max_retries_per_task: Count | None = 10
    max_retries_per_tenant_per_min: Count | None = 600
    respect_retry_after: Flag = True
    retry_on: tuple[Retryable, ...] = ("T1", "T2", "T3_readonly", "T6_after_compress")
    never_retry_on: tuple[Never, ...] = ("T7", "T8", "T3_write_without_idempotency")
    same_class_k: Positive = 4

    @field_validator("retry_on", mode="before")
    @classmethod
    def _not_the_hopeless(cls, given: Any) -> Any:
        """Boundary 1 (paper §3.5): no number of attempts clears these."""
        for name in ("T7", "T8"):
            if isinstance(given, list | tuple) and name in given:
                raise ValueError(f"{name} is never retried (boundary 1); take it out")
        return given

    @field_validator("never_retry_on")
    @classmethod
    def _always_the_hopeless(cls, given: tuple[Never, ...]) -> tuple[Never, ...]:
        if not {"T7", "T8"} <= set(given):
            raise ValueError("T7 and T8 stay in it (boundary 1)")
        return given


class Floors(Record):
    """The owner's least acceptable quality by criticality (0..1); never the model's own view."""

    low: Share = 0.60
    medium: Share = 0.80
    high: Share = 0.92


class AutoRungs(Record):
    """Rungs that may be taken without asking, by criticality (paper table 5)."""

    low: tuple[Rung, ...] = (Rung.COMPRESSED, Rung.SAME_TIER, Rung.LOWER_TIER, Rung.FALLBACK)
    medium: tuple[Rung, ...] = (Rung.COMPRESSED, Rung.SAME_TIER, Rung.LOWER_TIER)
    high: tuple[Rung, ...] = (Rung.COMPRESSED, Rung.SAME_TIER)


class HumanRungs(Record):
    """Rungs that a person must confirm, by criticality, and for irreversible steps (R3).

    Medium's L4 is table 5's "medium needs a person's confirmation".
    """

    low: tuple[Rung, ...] = ()
    medium: tuple[Rung, ...] = (Rung.FALLBACK,)
    high: tuple[Rung, ...] = (Rung.LOWER_TIER, Rung.FALLBACK)
    irreversible: tuple[Rung, ...] = (Rung.SAME_TIER, Rung.LOWER_TIER, Rung.FALLBACK)


class Degradation(Record):
    """The ladder (paper §4.4).

    `history`: measured quality by rung (`L3`) or rung and target (`L3:small-model`), frozen with
    the registration. `charge_budget`: a rung costs a retry, and proposition 1 holds as it stands.
    `cache_similarity`: how like a request must be to one whose answer is kept (third seed).
    `descent`: `by_class` is table 2; `next`: whatever may not be retried takes the next rung down,
    and below the last one nothing is handed back to the agent (the model of paper §6.2).
    """

    ladder: tuple[Rung, ...] = tuple(Rung)
    quality_floor: Floors = Floors()
    allow_auto_degrade: AutoRungs = AutoRungs()
    require_human_for: HumanRungs = HumanRungs()
    charge_budget: Flag = True
    history: dict[str, Share] = {}
    cache_similarity: Share = 0.8
    descent: Literal["by_class", "next"] = "by_class"

    @field_validator("ladder")
    @classmethod
    def _downwards(cls, given: tuple[Rung, ...]) -> tuple[Rung, ...]:
        if given[:1] != (Rung.NORMAL,) or list(given) != sorted(set(given)):
            raise ValueError("starts with L0 and goes down, each rung once")
        return given

    @field_validator("history")
    @classmethod
    def _of_rungs(cls, given: dict[str, float]) -> dict[str, float]:
        for name in given:
            if name.partition(":")[0] not in set(Rung) or name.endswith(":"):
                raise ValueError(f"{name!r} is neither a rung (L0..L4) nor rung:target")
        return given


class Idempotency(Record):
    """Keys, ledger and reconciliation (paper §4.5).

    `settle_ms`: wait before the world is asked. `key_ttl_ms`: how long tools remember a key; None
    = for ever. `reconcile_attempts`: queries in all, the first included.
    """

    enabled: Flag = True
    key_fields: tuple[str, ...] = KEY_FIELDS
    ledger: LedgerName = "memory"
    reconcile_timeout_ms: Millis = 1500
    settle_ms: Millis = 0
    key_ttl_ms: Millis | None = None
    reconcile_attempts: Annotated[int, Field(strict=True, ge=1, le=100)] = 3

    @field_validator("key_fields")
    @classmethod
    def _all_five(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        """With fewer, two different actions would share a key; the order does not matter."""
        if sorted(given) != sorted(KEY_FIELDS):
            raise ValueError(f"is exactly {', '.join(KEY_FIELDS)}")
        return given


class Levels(Record):
    """Check level by criticality; one left out takes `default_level`."""

    low: CheckLevel | None = None
    medium: CheckLevel | None = None
    high: CheckLevel | None = None


class Verification(Record):
    """Acceptance (paper §4.6). `enabled: false`: what passes V0 is accepted.

    `confirm_irreversible`: criticalities at which an irreversible write waits for a person (§5.4).
    """

    enabled: Flag = True
    default_level: CheckLevel = CheckLevel.DETERMINISTIC
    levels: Levels = Levels(
        low=CheckLevel.DETERMINISTIC, medium=CheckLevel.SEMANTIC, high=CheckLevel.SEMANTIC
    )
    human_spot_check_rate: Share = 0.05
    confirm_irreversible: tuple[Criticality, ...] = (Criticality.HIGH,)


class CircuitBreaker(Record):
    """When an upstream is left alone, and for how long (paper §4.7). A rate of 1 never trips."""

    enabled: Flag = True
    error_rate_threshold: Share = 0.5
    rate_limit_threshold: Share = 0.5
    p95_ms: Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)] | None = None
    min_sample: Positive = 10
    window_ms: Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)] = 60_000
    consecutive_failures: Positive = 5
    cooldown_ms: Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)] = 30_000
    cooldown_jitter: Share = 0.2
    cooldown_factor: Factor = 2.0
    cooldown_max_ms: Millis = 300_000
    half_open_probes: Positive = 2


class PoolSize(Record):
    """Calls in flight at once, and how many of them only critical tasks may take.

    `degrade_low_at`: how full (0..1) it is when tasks of low criticality take a cheaper path.
    """

    capacity: Positive
    reserved: Count = 0
    degrade_low_at: Share = 0.75

    @model_validator(mode="after")
    def _fits(self) -> "PoolSize":
        if self.reserved > self.capacity:
            raise ValueError(f"reserved is at most capacity ({self.capacity})")
        return self


class Aimd(Record):
    """Concurrency that grows by one and halves on failure (third seed).

    `interval_ms`: the least time between a change and the next increase.
    """

    max_workers: Positive = 10
    interval_ms: Millis = 300_000


class Bulkhead(Record):
    """Separate pools by provider, tool or tenant (`tool:refund`); `aimd`: None = fixed size."""

    pools: dict[str, PoolSize] = {}
    aimd: Aimd | None = None


class Weights(Record):
    """c_i: how much a step's criticality weighs when retries are shared out (paper §4.8)."""

    low: Amount = 1.0
    medium: Amount = 2.0
    high: Amount = 3.0


class Reserve(Record):
    """Time held back at admission, for the query and the check that may have to follow."""

    reconcile_ms: Millis = 1500
    verify_ms: Millis = 500


class TaskBudget(Record):
    """A task's admission vector besides its attempts (second seed); None = not limited."""

    tokens: Count | None = None
    time_ms: Count | None = None
    cost_usd: Amount | None = None
    weights: Weights = Weights()
    last_step_reserve: Count = 1
    reserve: Reserve = Reserve()


class Telemetry(Record):
    """What is recorded of decisions (paper §5.5)."""

    sample_rate: Share = 1.0
    redact_pii: Flag = True
    emit_decision_events: Flag = True


class Rollback(Record):
    """When a canary is taken back (paper §5.6): judged from `min_sample` tasks on.

    More than `duplicates` duplicates roll back at once. The rates are those by which the
    candidate may be worse than the stable strategy.
    """

    min_sample: Positive = 20
    duplicates: Count = 0
    escalation_rise: Share = 0.10
    failure_rise: Share = 0.05


class Deployment(Record):
    """How far HFR is let loose (paper §5.6). `tenants`: a switch each; not named = on.

    `mode: off` may be written without quotes: YAML 1.1 reads it as false.
    """

    mode: Literal["active", "shadow", "canary", "off"] = "active"
    canary_percent: Annotated[float, Field(strict=True, ge=0, le=100, allow_inf_nan=False)] = 1.0
    rollback: Rollback = Rollback()
    tenants: dict[str, Flag] = {}
    kill_switch: Flag = False

    @field_validator("mode", mode="before")
    @classmethod
    def _off(cls, given: Any) -> Any:
        return "off" if given is False else given


class Override(Record):
    """Other settings for one tenant, task or tool (paper §5.2); a name ending in `*` is a prefix.

    `set`: nested as the configuration is, or dotted (`retry.max_attempts_per_step: 2`).
    """

    tenant: str | None = None
    task: str | None = None
    tool: str | None = None
    set: dict[str, Any]

    @model_validator(mode="after")
    def _of_something(self) -> "Override":
        if self.names == 0:
            raise ValueError("names a tenant, a task or a tool")
        return self

    @property
    def names(self) -> int:
        """How many of tenant, task and tool it names: more is more specific."""
        return sum(name is not None for name in (self.tenant, self.task, self.tool))

    def fits(self, tenant: str, task: str, tool: str) -> bool:
        pairs = ((self.tenant, tenant), (self.task, task), (self.tool, tool))
        return all(pattern is None or _alike(pattern, name) for pattern, name in pairs)

    def nested(self) -> dict[str, Any]:
        """`set` with its dotted keys unfolded; what follows the second dot is one name."""
        found: dict[str, Any] = {}
        for path, value in self.set.items():
            *outer, last = path.split(".", 2)
            inner: dict[str, Any] = {last: value}
            for name in reversed(outer):
                inner = {name: inner}
            found = merged(found, inner)
        return found


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`under` with `over` laid upon it, mapping by mapping; anything else is replaced whole."""
    found = dict(under)
    for name, value in over.items():
        below = found.get(name)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        found[name] = merged(below, value) if both and below is not None else value
    return found


def _alike(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
