"""The configuration of HFR (paper §5.2), its presets, and its compiled form for the hot path.

`HfrConfig.of` reads what a user wrote and says in one line what is wrong with it. `compiled`
turns it into a `Policy`: microseconds, enums and frozensets, which no decision has to convert.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from hfr_bench.model.record import Record
from hfr_bench.model.terms import CheckLevel, Criticality, Rung
from hfr_bench.recovery.settings import (
    Bulkhead,
    CircuitBreaker,
    Degradation,
    Deployment,
    Idempotency,
    Override,
    Retry,
    TaskBudget,
    Telemetry,
    Verification,
    merged,
)

UNLIMITED = 2**53
"""Stands for None where a number is counted down: more than any task can use."""

FLAT: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "base_delay_ms": ("base_delay_ms", 0),
        "max_delay_ms": ("max_delay_ms", 0),
        "retries_per_step": ("max_attempts_per_step", 1),  # retries, where the paper counts all
        "retries_per_task": ("max_retries_per_task", 0),
    }
)
"""Older flat keys -> (key of `retry`, what to add)."""

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "hfr": {},
        "hfr-verifier": {"verification": {"enabled": False}},
        # Key and ledger both, and the rule that rests on them: a write whose answer was lost is
        # sent again like any read (paper §6.4).
        "hfr-idempotency": {
            "idempotency": {"enabled": False},
            "retry": {"never_retry_on": ("T7", "T8")},
        },
        "hfr-budget": {"retry": {"max_retries_per_task": None}},
        "hfr-breaker": {"circuit_breaker": {"enabled": False}},
    }
)
"""The registered arms (paper §6.6.3): what each changes in the defaults."""

# One tenant, task or tool has no deployment, pools or version of its own.
_OVERRIDABLE = frozenset(
    {"retry", "degradation", "idempotency", "verification", "circuit_breaker", "budget"}
)


class HfrConfig(Record):
    """Everything that may be set, with the paper's values as defaults (§5.2).

    `ledger` alone differs: the paper's example says `postgres`, a trial keeps it in memory.
    """

    version: Literal["1.0"] = "1.0"
    retry: Retry = Retry()
    degradation: Degradation = Degradation()
    idempotency: Idempotency = Idempotency()
    verification: Verification = Verification()
    circuit_breaker: CircuitBreaker = CircuitBreaker()
    bulkhead: Bulkhead = Bulkhead()
    budget: TaskBudget = TaskBudget()
    telemetry: Telemetry = Telemetry()
    deployment: Deployment = Deployment()
    overrides: tuple[Override, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "HfrConfig":
        """Read a mapping, with or without the top key `hfr`; the older flat keys are understood.

        Raises ValueError, in one line: the path of each bad key, its value, what is allowed.
        """
        config = _checked(_sections(given))
        for n, override in enumerate(config.overrides):
            _overridden(config, override, f"overrides.{n}.set.")
        return config

    @classmethod
    def preset(cls, name: str, given: Mapping[str, Any]) -> "HfrConfig":
        """An arm of `PRESETS` with a user's settings.

        Raises ValueError for an unknown name, and for settings that undo what the arm is.
        """
        if name not in PRESETS:
            raise ValueError(f"hfr config: no preset {name!r}; there are: {', '.join(PRESETS)}")
        own, sections = PRESETS[name], _sections(given)
        for path, value in _leaves(own):
            told = _at(sections, path)
            if told is not _MISSING and (tuple(told) if isinstance(told, list) else told) != value:
                where = ".".join(path)
                raise ValueError(f"hfr config: {where}: {told!r} undoes the arm {name!r}")
        return cls.of(merged(sections, own))

    def for_(self, tenant: str = "", task: str = "", tool: str = "") -> "HfrConfig":
        """The configuration that holds there. Not cached: ask once for each tool.

        Overrides apply in their order, those that name more of tenant, task and tool later.
        """
        config = self
        for override in sorted(self.overrides, key=lambda o: o.names):
            if override.fits(tenant, task, tool):
                config = _overridden(config, override)
        return config

    def plain(self) -> dict[str, Any]:
        """As YAML has it: `{"hfr": {...}}` of plain values; `of` reads it back."""
        return {"hfr": _unversioned(self.model_dump(mode="json"))}


class Policy(NamedTuple):
    """A configuration made ready for the hot path: times in microseconds, rates 0..1.

    `resend_unknown`: a write whose answer was lost may be sent again without asking (only the
    ablation without key and ledger). `allowed`: rungs that may be taken without asking, already
    cut down to the ladder; `human`: those that a person must confirm. `pools`: capacity, reserved
    and where low criticality gives way; `aimd_max_workers`: None = pools of a fixed size.
    """

    base_us: int
    cap_us: int
    multiplier: float
    step_attempts: int
    task_retries: int
    tenant_per_min: int
    respect_retry_after: bool
    same_class_k: int
    retry_on: frozenset[str]
    never_retry_on: frozenset[str]
    resend_unknown: bool
    floors: Mapping[Criticality, float]
    allowed: Mapping[Criticality, frozenset[Rung]]
    human: Mapping[Criticality, frozenset[Rung]]
    human_irreversible: frozenset[Rung]
    charge_rungs: bool
    next_rung: bool
    history: Mapping[str, float]
    cache_similarity: float
    ledger_on: bool
    ledger: str
    reconcile_timeout_us: int
    reconcile_attempts: int
    settle_us: int
    key_ttl_us: int | None
    verifier_on: bool
    levels: Mapping[Criticality, CheckLevel]
    spot_check_rate: float
    confirm: frozenset[Criticality]
    breaker_on: bool
    trip_error_rate: float
    trip_rate_limit_rate: float
    trip_p95_us: int | None
    trip_min_sample: int
    trip_window_us: int
    trip_consecutive: int
    trip_cooldown_us: int
    trip_cooldown_jitter: float
    trip_cooldown_factor: float
    trip_cooldown_max_us: int
    trip_probes: int
    pools: Mapping[str, tuple[int, int, float]]
    aimd_max_workers: int | None
    aimd_interval_us: int
    budget_tokens: int | None
    budget_time_us: int | None
    budget_cost_microusd: int | None
    weights: Mapping[Criticality, float]
    last_step_reserve: int
    reserve_reconcile_us: int
    reserve_verify_us: int


def compiled(config: HfrConfig) -> Policy:
    """The policy of a configuration; overrides are applied by `HfrConfig.for_` before this."""
    return Policy(
        **_retry(config), **_ladder(config), **_safety(config), **_trip(config), **_budget(config)
    )


def _retry(config: HfrConfig) -> dict[str, Any]:
    retry = config.retry
    guarded = "T3_write_without_idempotency" in retry.never_retry_on
    return {
        "base_us": retry.base_delay_ms * 1000,
        "cap_us": retry.max_delay_ms * 1000,
        "multiplier": retry.multiplier,
        "step_attempts": retry.max_attempts_per_step,
        "task_retries": _or_unlimited(retry.max_retries_per_task),
        "tenant_per_min": _or_unlimited(retry.max_retries_per_tenant_per_min),
        "respect_retry_after": retry.respect_retry_after,
        "same_class_k": retry.same_class_k,
        "retry_on": frozenset(retry.retry_on),
        "never_retry_on": frozenset(retry.never_retry_on),
        "resend_unknown": not config.idempotency.enabled and not guarded,
    }


def _ladder(config: HfrConfig) -> dict[str, Any]:
    ladder = config.degradation
    rungs = frozenset(ladder.ladder) - {Rung.NORMAL}
    human = ladder.require_human_for
    person = {c: rungs & frozenset(getattr(human, c)) for c in Criticality}
    auto = ladder.allow_auto_degrade
    return {
        "floors": {c: getattr(ladder.quality_floor, c) for c in Criticality},
        "allowed": {c: (rungs & frozenset(getattr(auto, c))) - person[c] for c in Criticality},
        "human": person,
        "human_irreversible": rungs & frozenset(human.irreversible),
        "charge_rungs": ladder.charge_budget,
        "next_rung": ladder.descent == "next",
        "history": dict(ladder.history),
        "cache_similarity": ladder.cache_similarity,
    }


def _safety(config: HfrConfig) -> dict[str, Any]:
    keys, checks = config.idempotency, config.verification
    return {
        "ledger_on": keys.enabled,
        "ledger": keys.ledger,
        "reconcile_timeout_us": keys.reconcile_timeout_ms * 1000,
        "reconcile_attempts": keys.reconcile_attempts,
        "settle_us": keys.settle_ms * 1000,
        "key_ttl_us": _micro(keys.key_ttl_ms),
        "verifier_on": checks.enabled,
        "levels": {c: getattr(checks.levels, c) or checks.default_level for c in Criticality},
        "spot_check_rate": checks.human_spot_check_rate,
        "confirm": frozenset(checks.confirm_irreversible),
    }


def _trip(config: HfrConfig) -> dict[str, Any]:
    trip, pools, aimd = config.circuit_breaker, config.bulkhead.pools, config.bulkhead.aimd
    return {
        "breaker_on": trip.enabled,
        "trip_error_rate": trip.error_rate_threshold,
        "trip_rate_limit_rate": trip.rate_limit_threshold,
        "trip_p95_us": _micro(trip.p95_ms),
        "trip_min_sample": trip.min_sample,
        "trip_window_us": trip.window_ms * 1000,
        "trip_consecutive": trip.consecutive_failures,
        "trip_cooldown_us": trip.cooldown_ms * 1000,
        "trip_cooldown_jitter": trip.cooldown_jitter,
        "trip_cooldown_factor": trip.cooldown_factor,
        "trip_cooldown_max_us": max(trip.cooldown_ms, trip.cooldown_max_ms) * 1000,
        "trip_probes": trip.half_open_probes,
        "pools": {n: (p.capacity, p.reserved, p.degrade_low_at) for n, p in pools.items()},
        "aimd_max_workers": None if aimd is None else aimd.max_workers,
        "aimd_interval_us": 0 if aimd is None else aimd.interval_ms * 1000,
    }


def _budget(config: HfrConfig) -> dict[str, Any]:
    budget = config.budget
    cost = budget.cost_usd
    return {
        "budget_tokens": budget.tokens,
        "budget_time_us": _micro(budget.time_ms),
        "budget_cost_microusd": None if cost is None else round(cost * 1_000_000),
        "weights": {c: getattr(budget.weights, c) for c in Criticality},
        "last_step_reserve": budget.last_step_reserve,
        "reserve_reconcile_us": budget.reserve.reconcile_ms * 1000,
        "reserve_verify_us": budget.reserve.verify_ms * 1000,
    }


def _micro(millis: int | None) -> int | None:
    return None if millis is None else millis * 1000


def _or_unlimited(count: int | None) -> int:
    return UNLIMITED if count is None else count


# -- reading -----------------------------------------------------------------------------------

_MISSING = object()


def _checked(sections: Mapping[str, Any], where: str = "") -> HfrConfig:
    try:
        return HfrConfig.model_validate(sections)
    except ValidationError as error:
        told = "; ".join(f"{where}{line}" for line in _lines(error))
        raise ValueError(f"hfr config: {told}") from None


def _overridden(config: HfrConfig, override: Override, where: str = "") -> HfrConfig:
    nested = override.nested()
    for name in nested:
        if name not in _OVERRIDABLE:
            allowed = ", ".join(sorted(_OVERRIDABLE))
            raise ValueError(f"hfr config: {where}{name}: not overridden; allowed: {allowed}")
    return _checked(merged(config.model_dump(mode="json"), nested), where)


def _sections(given: Mapping[str, Any]) -> dict[str, Any]:
    """The sections alone: `hfr` taken off, flat keys moved to `retry`."""
    if set(given) == {"hfr"}:
        given = given["hfr"] or {}
    if not isinstance(given, Mapping):
        raise ValueError(f"hfr config: {given!r} is not allowed; a mapping is")
    sections = {name: value for name, value in given.items() if name not in FLAT}
    for name in FLAT.keys() & given.keys():
        key, extra = FLAT[name]
        value, retry = given[name], sections.get("retry") or {}
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ValueError(f"hfr config: {name}: {value!r} is not allowed; a count from 0 is")
        if key in retry:
            raise ValueError(f"hfr config: {name}: {value!r} says retry.{key} a second time")
        sections["retry"] = {**retry, key: value + extra}
    return sections


def _lines(error: ValidationError) -> list[str]:
    """Each mistake as `path: value is not allowed; what is`."""
    lines = []
    for item in error.errors(include_url=False):
        path = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            known = ", ".join(name for name in _fields(item["loc"][:-1]) if name != "v")
            lines.append(f"{path}: unknown key; known: {known}")
            continue
        if item["type"] == "missing":
            lines.append(f"{path}: is missing")
            continue
        what = item["msg"].removeprefix("Value error, ").replace("Input", "input", 1)
        lines.append(f"{path}: {item['input']!r} is not allowed; {what}")
    return lines


def _fields(path: tuple[int | str, ...]) -> list[str]:
    """The keys of the record at `path`; a name that is no field is a key of a mapping."""
    model: type[BaseModel] = HfrConfig
    for part in path:
        field = model.model_fields.get(str(part))
        model = next(_records(field.annotation), model) if field else model
    return list(model.model_fields)


def _records(annotation: Any) -> Iterator[type[BaseModel]]:
    """The records that a field may hold, itself or in a container."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _records(part)


def _leaves(tree: Mapping[str, Any]) -> list[tuple[tuple[str, ...], Any]]:
    return [
        ((name, *path), leaf)
        for name, value in tree.items()
        for path, leaf in (_leaves(value) if isinstance(value, Mapping) else [((), value)])
    ]


def _at(tree: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(tree, Mapping) or name not in tree:
            return _MISSING
        tree = tree[name]
    return tree


def _unversioned(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: _unversioned(value) for name, value in tree.items() if name != "v"}
    return [_unversioned(item) for item in tree] if isinstance(tree, list) else tree
