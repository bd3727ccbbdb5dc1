"""The plain arms: baselines and yardsticks. Each is a few lines, so that it can be believed."""

from collections.abc import Mapping
from typing import Any

from hfr_bench.faults.draw import uniform
from hfr_bench.model.attempt import (
    Attempted,
    Decision,
    Observation,
    Reconciled,
    StrategyEvent,
    Truth,
)
from hfr_bench.model.terms import Action, Channel, Landed, Rung
from hfr_bench.recovery.backoff import effective_us, full_jitter_us
from hfr_bench.recovery.classify import classify, retry_after_us
from hfr_bench.recovery.kit import Kit, take
from hfr_bench.recovery.ladder import may_substitute, next_equal

State = dict[str, Any]


class _Plain:
    """Dispatch what is proposed, accept what is answered; a subclass says what a failure means."""

    name = ""
    defaults: Mapping[str, Any] = {}

    def __init__(self, config: Mapping[str, Any], kit: Kit) -> None:
        self._config = take(config, self.defaults, self.name)
        self._kit = kit

    def begin(self) -> State:
        return {}

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        if isinstance(event, Attempted):
            if event.observation.answered:
                return state, Decision(Action.ACCEPT)
            return state, self.on_failure(event)
        if isinstance(event, Reconciled):
            return state, self.on_reconciled(event)
        finishing = not hasattr(event, "view")
        return state, Decision(Action.ACCEPT if finishing else Action.DISPATCH)

    def on_failure(self, event: Attempted) -> Decision:
        raise AssertionError("a plain strategy says what a failure means")

    def on_reconciled(self, event: Reconciled) -> Decision:
        return Decision(Action.ESCALATE, f"asked for nothing, told {event.landed}")


class NoRetry(_Plain):
    """Stops at the first failure (paper §6.2, 1)."""

    name = "no_retry"

    def on_failure(self, event: Attempted) -> Decision:
        return Decision(Action.FAIL, "first failure")


class FixedRetry(_Plain):
    """Retries a fixed number of times after a fixed delay; no classes, no key (paper §6.2, 2)."""

    name = "fixed_retry"
    defaults: Mapping[str, Any] = {"retries": 3, "delay_s": 1.0}

    def on_failure(self, event: Attempted) -> Decision:
        if event.view.attempts > self._config["retries"]:
            return Decision(Action.FAIL, "retries used up")
        return Decision(Action.RETRY, delay_us=round(self._config["delay_s"] * 1_000_000), debit=1)


class ExpRetry(_Plain):
    """Exponential back-off with full jitter and Retry-After; no ledger, key or query (§6.6.3).

    What any retry library does: it retries what looks transient by status or exception, and knows
    nothing of what a lost answer may have left behind.
    """

    name = "exp_retry"
    defaults: Mapping[str, Any] = {
        "retries": 3,
        "base_delay_ms": 200,
        "max_delay_ms": 2000,
        "multiplier": 2.0,
    }

    def on_failure(self, event: Attempted) -> Decision:
        seen, retry, config = event.observation, event.view.attempts, self._config
        if not _transient(seen):
            return Decision(Action.FAIL, "not transient")
        if retry > config["retries"]:
            return Decision(Action.FAIL, "retries used up")
        u = uniform("jitter", *self._kit.chance_key, event.view.step, retry)
        base_us, cap_us = config["base_delay_ms"] * 1000, config["max_delay_ms"] * 1000
        jitter_us = full_jitter_us(retry, base_us, cap_us, u, config["multiplier"])
        return Decision(
            Action.RETRY, delay_us=effective_us(jitter_us, retry_after_us(seen)), debit=1
        )


class DegradeOnly(_Plain):
    """Never retries: goes down the ladder at the first failure (paper §6.2, 4 and §6.6.3).

    The ladder has one rung, an equal model: beyond it, and for tools, it fails. Handing a tool's
    failure to the agent (REPLAN) would have the agent retry for it.
    """

    name = "degrade_only"

    def on_failure(self, event: Attempted) -> Decision:
        view = event.view
        fault = classify(view.intent.channel, event.observation)
        other = next_equal(view.target, (view.target,), self._kit.substitutes)
        if view.intent.channel is not Channel.MODEL or other is None or view.attempts > 1:
            return Decision(Action.FAIL, "no rung left", fault=fault)
        if not may_substitute(fault.fault_class):
            return Decision(Action.FAIL, "no rung goes around this", fault=fault)
        rung = Rung.SAME_TIER
        return Decision(
            Action.DEGRADE_MODEL, "first failure", substitute=other, rung=rung, fault=fault
        )


class BlindResend(_Plain):
    """Known-bad yardstick: resends at once, whatever happened, up to `attempts` in all."""

    name = "blind_resend"
    defaults: Mapping[str, Any] = {"attempts": 8}

    def on_failure(self, event: Attempted) -> Decision:
        if event.view.attempts >= self._config["attempts"]:
            return Decision(Action.FAIL, "attempts used up")
        return Decision(Action.RETRY, debit=1)


class AlwaysEscalate(_Plain):
    """Yardstick: calls a person at the first failure. Safe, and it must not look like winning."""

    name = "always_escalate"

    def on_failure(self, event: Attempted) -> Decision:
        return Decision(Action.ESCALATE, "first failure")


class OracleRecovery(_Plain):
    """Upper bound: is told whether the write landed and what ends the fault, and acts on it."""

    name = "oracle_recovery"
    defaults: Mapping[str, Any] = {"attempts": 8, "wait_s": 1.0}

    def on_failure(self, event: Attempted) -> Decision:
        truth = event.truth or Truth()
        view = event.view
        if truth.landed and view.intent.channel is Channel.TOOL and view.intent.level.writes:
            if view.can_reconcile:
                return Decision(Action.RECONCILE, "it landed: read the answer from the world")
            return Decision(Action.ACCEPT, "it landed")
        if truth.clears_by == "substitute":
            other = next_equal(view.target, (view.target,), self._kit.substitutes)
            if other is None:
                return Decision(Action.ESCALATE, "only another model helps, and there is none")
            if view.attempts < self._config["attempts"]:
                return Decision(
                    Action.DEGRADE_MODEL,
                    "only another model helps",
                    substitute=other,
                    rung=Rung.SAME_TIER,
                )
        if view.attempts >= self._config["attempts"]:
            return Decision(Action.ESCALATE, "nothing clears it")
        return Decision(Action.RETRY, delay_us=self._wait_us(event.observation, truth), debit=1)

    def on_reconciled(self, event: Reconciled) -> Decision:
        """The truth is known already; the read only fetches the answer, and may fail."""
        reason = "read" if event.landed is Landed.COMMITTED else "known to have landed"
        return Decision(Action.ACCEPT, reason)

    def _wait_us(self, observation: Observation, truth: Truth) -> int:
        if truth.clears_by != "wait":
            return 0
        stated = retry_after_us(observation)
        return round(self._config["wait_s"] * 1_000_000) if stated is None else stated


def _transient(seen: Observation) -> bool:
    """What SDKs and retry libraries retry: no answer, 408, 409, 429 and every 5xx."""
    status = seen.status or 0
    return seen.exception is not None or status in (408, 409, 429) or status >= 500
