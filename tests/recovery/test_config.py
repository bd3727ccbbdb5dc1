"""The configuration: the paper's YAML is read, mistakes are told in words, ablations stay exact."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.model.terms import CheckLevel, Criticality, Rung
from hfr_bench.recovery.breaker import Trip
from hfr_bench.recovery.config import FLAT, PRESETS, UNLIMITED, HfrConfig, compiled

# Paper §5.2, key by key.
PAPER = """
hfr:
  version: "1.0"
  retry:
    base_delay_ms: 200
    max_delay_ms: 2000
    jitter: full
    max_attempts_per_step: 4
    max_retries_per_task: 10
    max_retries_per_tenant_per_min: 600
    respect_retry_after: true
    retry_on: [T1, T2, T3_readonly, T6_after_compress]
    never_retry_on: [T7, T8, T3_write_without_idempotency]
  degradation:
    ladder: [L0, L1, L2, L3, L4]
    quality_floor: {low: 0.60, medium: 0.80, high: 0.92}
    allow_auto_degrade:
      low: [L1, L2, L3, L4]
      medium: [L1, L2, L3]
      high: [L1, L2]
    require_human_for:
      high: [L3, L4]
      irreversible: [L2, L3, L4]
  idempotency:
    enabled: true
    key_fields: [tenant, task, step, tool, canonical_args]
    ledger: postgres
    reconcile_timeout_ms: 1500
  verification:
    default_level: V1
    levels: {low: V1, medium: V2, high: V2}
    human_spot_check_rate: 0.05
  circuit_breaker:
    error_rate_threshold: 0.50
    consecutive_failures: 5
    cooldown_ms: 30000
    half_open_probes: 2
  telemetry:
    sample_rate: 1.0
    redact_pii: true
    emit_decision_events: true
"""


def test_the_papers_yaml_is_the_default_but_for_where_the_ledger_lies() -> None:
    config = HfrConfig.of(yaml.safe_load(PAPER))
    assert config.idempotency.ledger == "postgres"
    memory = config.idempotency.model_copy(update={"ledger": "memory"})
    assert config.model_copy(update={"idempotency": memory}) == HfrConfig()


def test_the_top_key_may_be_left_out_and_nothing_at_all_is_the_default() -> None:
    whole = yaml.safe_load(PAPER)
    assert HfrConfig.of(whole["hfr"]) == HfrConfig.of(whole)
    assert HfrConfig.of({}) == HfrConfig.of({"hfr": None}) == HfrConfig()


def test_the_manual_shows_every_key_with_its_default() -> None:
    manual = Path(__file__).parents[2] / "docs" / "hfr-config.md"
    shown = yaml.safe_load(manual.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0])
    assert HfrConfig.of(shown) == HfrConfig()
    assert _keys(shown) == _keys(HfrConfig().plain())


def _keys(tree: dict[str, Any], under: str = "") -> set[str]:
    inner = [(under + k, v) for k, v in tree.items()]
    return {path for path, _ in inner}.union(
        *(_keys(v, f"{path}.") for path, v in inner if isinstance(v, dict))
    )


@pytest.mark.parametrize("name", PRESETS)
def test_it_survives_yaml(name: str) -> None:
    given = {
        "degradation": {"history": {"L3:small-1.5": 0.7}},
        "bulkhead": {"pools": {"tool:refund": {"capacity": 4, "reserved": 1}}, "aimd": {}},
        "deployment": {"mode": "off", "tenants": {"acme": False}},
        "overrides": [{"tool": "refund*", "set": {"retry.max_attempts_per_step": 2}}],
    }
    config = HfrConfig.preset(name, given)
    text = yaml.safe_dump(config.plain())
    assert "v:" not in text.split()
    assert HfrConfig.of(yaml.safe_load(text)) == config
    assert HfrConfig.loads(config.dumps()) == config


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"retri": {}}, "retri: unknown key; known: version, retry, degradation,"),
        ({"retry": {"max_attempts": 3}}, "retry.max_attempts: unknown key; known: base_delay_ms,"),
        ({"retry": {"base_delay_ms": -5}}, "retry.base_delay_ms: -5 is not allowed; .* than or eq"),
        ({"retry": {"base_delay_ms": "200"}}, "retry.base_delay_ms: '200' is not allowed; .*int"),
        ({"retry": {"base_delay_ms": True}}, "retry.base_delay_ms: True is not allowed; .*int"),
        ({"retry": {"max_attempts_per_step": 0}}, "step: 0 is not allowed; .*equal to 1"),
        ({"retry": {"multiplier": float("nan")}}, "retry.multiplier: nan is not allowed"),
        ({"retry": {"jitter": "none"}}, "retry.jitter: 'none' is not allowed; input .*'full'"),
        ({"retry": None}, "retry: None is not allowed"),
        ({"retry": {"retry_on": ["T1", "T7"]}}, "retry.retry_on: .*T7 is never retried"),
        ({"retry": {"retry_on": ["T8"]}}, "retry.retry_on: .*T8 is never retried"),
        ({"retry": {"retry_on": ["T4"]}}, "retry.retry_on.0: 'T4' is not .*'T3_readonly'"),
        ({"retry": {"never_retry_on": ["T7"]}}, "retry.never_retry_on: .*T7 and T8 stay in it"),
        ({"degradation": {"ladder": ["L0", "L2", "L1"]}}, "ladder: .*; starts with L0 and goes"),
        ({"degradation": {"ladder": ["L1"]}}, "ladder: .*; starts with L0"),
        ({"degradation": {"ladder": ["L0", "L1", "L1"]}}, "ladder: .*each rung once"),
        ({"degradation": {"history": {"L9": 0.2}}}, "history: .*'L9' is neither a rung"),
        ({"degradation": {"history": {"L2:": 0.2}}}, "history: .*'L2:' is neither a rung"),
        ({"degradation": {"history": {"L2": 1.2}}}, "history.L2: 1.2 is not allowed"),
        ({"degradation": {"quality_floor": {"hi": 1}}}, "floor.hi: unknown key; known: low, med"),
        (
            {"idempotency": {"key_fields": ["tenant"]}},
            "key_fields: .*is exactly tenant, task, step",
        ),
        ({"idempotency": {"ledger": "redis"}}, "ledger: 'redis' is not .*'postgres'"),
        ({"verification": {"default_level": "V9"}}, "default_level: 'V9' is not allowed; .*'V0'"),
        ({"verification": {"levels": {"hi": "V2"}}}, "levels.hi: unknown key; known: low, medium"),
        ({"bulkhead": {"pools": {"a": {"capacity": 1, "x": 2}}}}, "a.x: unknown key; known: capac"),
        ({"bulkhead": {"pools": {"a": {}}}}, "bulkhead.pools.a.capacity: is missing"),
        ({"bulkhead": {"pools": {"a": {"capacity": 1, "reserved": 2}}}}, "at most capacity"),
        ({"bulkhead": {"aimd": {"x": 2}}}, "bulkhead.aimd.x: unknown key; known: max_workers, "),
        ({"deployment": {"mode": "on"}}, "deployment.mode: 'on' is not allowed; .*'shadow'"),
        ({"deployment": {"canary_percent": 101}}, "canary_percent: 101 is not allowed"),
        ({"overrides": [{"set": {}}]}, "overrides.0: .*names a tenant, a task or a tool"),
        ({"overrides": [{"tool": "x"}]}, "overrides.0.set: is missing"),
        ({"version": "2.0"}, "version: '2.0' is not allowed; .*'1.0'"),
        ({"retries_per_step": True}, "retries_per_step: True is not allowed; a count from 0 is"),
        ({"retries_per_task": -1}, "retries_per_task: -1 is not allowed; a count from 0 is"),
        ({"base_delay_ms": 1, "retry": {"base_delay_ms": 2}}, "says retry.base_delay_ms a second"),
        ({"hfr": 3}, "3 is not allowed; a mapping is"),
    ],
)
def test_a_mistake_is_told_in_one_line(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^hfr config: .*{message}") as caught:
        HfrConfig.of(config)
    assert "\n" not in str(caught.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ValueError, match=r"retry\.x: unknown key.*; telemetry\.sample_rate: 2 is"):
        HfrConfig.of({"retry": {"x": 1}, "telemetry": {"sample_rate": 2}})


def test_off_may_be_written_as_yaml_reads_it() -> None:
    assert HfrConfig.of(yaml.safe_load("deployment: {mode: off}")).deployment.mode == "off"


# -- attempts and retries ----------------------------------------------------------------------


@given(st.integers(0, 900))
def test_attempts_count_the_first_one_and_retries_do_not(retries: int) -> None:
    """The off-by-one that §5.2 warns of."""
    flat = compiled(HfrConfig.of({"retries_per_step": retries}))
    nested = compiled(HfrConfig.of({"retry": {"max_attempts_per_step": retries + 1}}))
    assert flat == nested
    assert flat.step_attempts == retries + 1


def test_the_older_flat_keys_mean_what_they_meant() -> None:
    old = {"base_delay_ms": 50, "max_delay_ms": 70, "retries_per_step": 1, "retries_per_task": 5}
    assert old.keys() == FLAT.keys()
    policy = compiled(HfrConfig.of(old))
    assert (policy.base_us, policy.cap_us) == (50_000, 70_000)
    assert (policy.step_attempts, policy.task_retries) == (2, 5)


# -- presets -----------------------------------------------------------------------------------


def _changed(name: str) -> set[str]:
    full, arm = compiled(HfrConfig()), compiled(HfrConfig.preset(name, {}))
    return {field for field in full._fields if getattr(full, field) != getattr(arm, field)}


def test_each_arm_drops_exactly_what_it_is_named_for() -> None:
    assert {name: _changed(name) for name in PRESETS} == {
        "hfr": set(),
        "hfr-verifier": {"verifier_on"},
        "hfr-idempotency": {"ledger_on", "never_retry_on", "resend_unknown"},
        "hfr-budget": {"task_retries"},
        "hfr-breaker": {"breaker_on"},
    }
    budget = compiled(HfrConfig.preset("hfr-budget", {}))
    assert (budget.task_retries, budget.step_attempts) == (UNLIMITED, 4)


def test_without_a_ledger_a_lost_write_is_resent_only_where_the_rule_is_dropped_too() -> None:
    careful = compiled(HfrConfig.of({"idempotency": {"enabled": False}}))
    assert not careful.ledger_on
    assert not careful.resend_unknown
    kept = compiled(HfrConfig.of({"retry": {"never_retry_on": ["T8", "T7"]}}))
    assert not kept.resend_unknown, "with a ledger it is reconciled, whatever the list says"


def test_an_arm_takes_settings_that_do_not_undo_it() -> None:
    config = HfrConfig.preset("hfr-budget", {"hfr": {"retry": {"base_delay_ms": 1}}})
    assert config.retry.base_delay_ms == 1
    assert config.retry.max_retries_per_task is None
    same = {"retry": {"never_retry_on": ["T7", "T8"]}}
    assert HfrConfig.preset("hfr-idempotency", same) == HfrConfig.preset("hfr-idempotency", {})
    for undoing in ({"retries_per_task": 5}, {"retry": {"max_retries_per_task": 5}}):
        with pytest.raises(ValueError, match=r"max_retries_per_task: 5 undoes the arm 'hfr-budg"):
            HfrConfig.preset("hfr-budget", undoing)
    with pytest.raises(ValueError, match="no preset 'hfr-ledger'; there are: hfr, hfr-verifier"):
        HfrConfig.preset("hfr-ledger", {})


# -- overrides ---------------------------------------------------------------------------------


def _attempts(overrides: list[dict[str, Any]], **where: str) -> int:
    return HfrConfig.of({"overrides": overrides}).for_(**where).retry.max_attempts_per_step


def _set(attempts: int, **names: str) -> dict[str, Any]:
    return {**names, "set": {"retry.max_attempts_per_step": attempts}}


def test_an_override_holds_where_it_says_and_nowhere_else() -> None:
    only = [_set(2, tool="refund")]
    assert _attempts(only, tool="refund") == 2
    assert _attempts(only, tool="refunds") == 4
    assert _attempts(only) == 4
    prefix = [_set(2, task="retail-*")]
    assert _attempts(prefix, task="retail-17") == 2
    assert _attempts(prefix, task="airline-17") == 4
    odd = [_set(2, task="[a]|x?")]  # suites name tasks like this: no pattern is meant
    assert _attempts(odd, task="[a]|x?") == 2
    assert _attempts(odd, task="a|xy") == 4


def test_the_later_one_wins_and_the_more_specific_one_over_it() -> None:
    assert _attempts([_set(2, tool="t"), _set(3, tool="t")], tool="t") == 3
    both = [_set(5, tenant="a", tool="t"), _set(2, tool="t"), _set(3, tenant="a")]
    assert _attempts(both, tenant="a", tool="t") == 5
    assert _attempts(both, tenant="a") == 3
    assert _attempts(both, tenant="b", tool="t") == 2


def test_nested_and_dotted_mean_the_same() -> None:
    dotted = {"tool": "t", "set": {"degradation.history.L2:m.1": 0.5, "retry.same_class_k": 1}}
    nested = {
        "tool": "t",
        "set": {"degradation": {"history": {"L2:m.1": 0.5}}, "retry": {"same_class_k": 1}},
    }
    base = {"degradation": {"history": {"L3": 0.9}}, "retry": {"multiplier": 3}}
    one, two = (HfrConfig.of({**base, "overrides": [o]}).for_(tool="t") for o in (dotted, nested))
    assert one.degradation.history == {"L3": 0.9, "L2:m.1": 0.5}
    assert (one.retry.multiplier, one.retry.same_class_k) == (3, 1)
    assert one.model_copy(update={"overrides": ()}) == two.model_copy(update={"overrides": ()})


def test_a_bad_override_is_found_when_the_configuration_is_read() -> None:
    bad = [_set(2, tool="t"), {"tenant": "a", "set": {"retry.max_attempts": 2}}]
    with pytest.raises(ValueError, match=r"overrides\.1\.set\.retry\.max_attempts: unknown key"):
        HfrConfig.of({"overrides": bad})
    with pytest.raises(ValueError, match=r"set\.deployment: not overridden; allowed: budget, "):
        HfrConfig.of({"overrides": [{"tool": "t", "set": {"deployment.kill_switch": True}}]})
    with pytest.raises(ValueError, match=r"overrides\.0\.set\.retry: 3 is not allowed"):
        HfrConfig.of({"overrides": [{"tool": "t", "set": {"retry": 3}}]})


names = st.none() | st.sampled_from(["a", "b", "a*"])
settings_ = st.dictionaries(
    st.sampled_from(
        [
            "retry.base_delay_ms",
            "retry.max_delay_ms",
            "circuit_breaker.cooldown_ms",
            "circuit_breaker.cooldown_max_ms",
            "budget.reserve.verify_ms",
            "budget.tokens",
        ]
    ),
    st.integers(1, 100_000),
)
overrides = st.lists(
    st.fixed_dictionaries({"tenant": names, "task": names, "tool": names, "set": settings_}).filter(
        lambda o: o["tenant"] or o["task"] or o["tool"]
    ),
    max_size=5,
)


@given(overrides, *[st.sampled_from(["", "a", "b", "ab"])] * 3)
def test_what_is_valid_alone_is_valid_together(
    given: list[dict[str, Any]], tenant: str, task: str, tool: str
) -> None:
    """No combination may fail in the middle of a run: `of` has looked at each only alone."""
    config = HfrConfig.of({"overrides": given}).for_(tenant, task, tool)
    policy = compiled(config)
    _trip(policy)
    at = {"tenant": tenant, "task": task, "tool": tool}
    for path in ("retry.base_delay_ms", "budget.tokens"):
        said = [
            (sum(o[n] is not None for n in at), k, o["set"][path])
            for k, o in enumerate(given)
            if path in o["set"] and all(o[n] is None or _like(o[n], at[n]) for n in at)
        ]
        section, key = path.split(".")
        value = getattr(getattr(config, section), key)
        assert value == (max(said)[2] if said else getattr(getattr(HfrConfig(), section), key))


def _like(pattern: str, name: str) -> bool:
    return name.startswith("a") if pattern == "a*" else name == pattern


# -- compiled ----------------------------------------------------------------------------------


def _trip(policy: Any) -> Trip:
    return Trip(
        error_rate=policy.trip_error_rate,
        rate_limit_rate=policy.trip_rate_limit_rate,
        p95_us=policy.trip_p95_us,
        consecutive=policy.trip_consecutive,
        min_sample=policy.trip_min_sample,
        window_us=policy.trip_window_us,
        cooldown_us=policy.trip_cooldown_us,
        cooldown_jitter=policy.trip_cooldown_jitter,
        cooldown_factor=policy.trip_cooldown_factor,
        cooldown_max_us=policy.trip_cooldown_max_us,
        half_open_probes=policy.trip_probes,
    )


def test_the_defaults_are_the_breakers_own() -> None:
    assert _trip(compiled(HfrConfig())) == Trip()


def test_everything_is_in_microseconds_and_ready() -> None:
    given = {
        "idempotency": {"settle_ms": 3, "key_ttl_ms": 4},
        "circuit_breaker": {"p95_ms": 5, "cooldown_ms": 900_000},
        "budget": {"time_ms": 6, "cost_usd": 0.25, "reserve": {"verify_ms": 7}},
        "bulkhead": {"pools": {"t": {"capacity": 2, "reserved": 1}}, "aimd": {"interval_ms": 8}},
        "verification": {"levels": {"high": "V3"}, "confirm_irreversible": []},
    }
    policy = compiled(HfrConfig.of(given))
    assert (policy.base_us, policy.cap_us, policy.reconcile_timeout_us) == (
        200_000,
        2_000_000,
        1_500_000,
    )
    assert (policy.settle_us, policy.key_ttl_us, policy.trip_p95_us) == (3_000, 4_000, 5_000)
    assert (policy.budget_time_us, policy.budget_cost_microusd) == (6_000, 250_000)
    assert (policy.reserve_verify_us, policy.reserve_reconcile_us) == (7_000, 1_500_000)
    assert policy.trip_cooldown_max_us == 900_000_000, "never below the first wait"
    assert policy.pools == {"t": (2, 1, 0.75)}
    assert (policy.aimd_max_workers, policy.aimd_interval_us) == (10, 8_000)
    assert policy.levels == {
        Criticality.LOW: CheckLevel.DETERMINISTIC,  # default_level: the others were not named
        Criticality.MEDIUM: CheckLevel.DETERMINISTIC,
        Criticality.HIGH: CheckLevel.AUTHORITY,
    }
    assert policy.confirm == frozenset()


def test_a_rung_that_needs_a_person_is_not_taken_without_asking() -> None:
    given = {
        "degradation": {
            "ladder": ["L0", "L1", "L3", "L4"],
            "require_human_for": {"low": ["L4"]},
        }
    }
    policy = compiled(HfrConfig.of(given))
    assert policy.allowed[Criticality.LOW] == {Rung.COMPRESSED, Rung.LOWER_TIER}
    assert policy.human[Criticality.LOW] == {Rung.FALLBACK}
    assert policy.allowed[Criticality.HIGH] == {Rung.COMPRESSED}, "L2 is not on this ladder"
    assert policy.human_irreversible == {Rung.LOWER_TIER, Rung.FALLBACK}
