"""The plain arms: baselines and yardsticks. Each is a few lines, so that it can be believed."""

from collections.abc import Mapping
from typing import Any

from hfr_bench.faults.draw import uniform
from hfr_bench.model.attempt import (
    Attempted,
    Compressed,
    Decision,
    Observation,
    Proposed,
    Reconciled,
    Restored,
    StepView,
    StrategyEvent,
    Truth,
)
from hfr_bench.model.terms import Action, Channel, Landed, Rung
from hfr_bench.recovery.backoff import effective_us, full_jitter_us
from hfr_bench.recovery.classify import classify, retry_after_us
from hfr_bench.recovery.ladder import may_substitute, next_equal
from hfr_bench.recovery.plain import ACCEPT, DISPATCH, Plain, State, transient

_EITHER = "substitute or wait"


class NoRetry(Plain):
    """Stops at the first failure (paper §6.2, 1)."""

    name = "no_retry"

    def on_failure(self, event: Attempted) -> Decision:
        return Decision(Action.FAIL, "first failure")


class FixedRetry(Plain):
    """Retries a fixed number of times after a fixed delay; no classes, no key (paper §6.2, 2)."""

    name = "fixed_retry"
    defaults: Mapping[str, Any] = {"retries": 3, "delay_s": 1.0}

    def on_failure(self, event: Attempted) -> Decision:
        if event.view.attempts > self._config["retries"]:
            return Decision(Action.FAIL, "retries used up")
        return Decision(Action.RETRY, delay_us=round(self._config["delay_s"] * 1_000_000), debit=1)


class ExpRetry(Plain):
    """Exponential back-off with full jitter and Retry-After, under one key; no ladder (§6.6.3).

    What a careful user of a retry library does: it retries what looks transient by status or
    exception, and sends every attempt of a call under the same idempotency key, where the tool
    takes one. It keeps no ledger and asks no queries: where no key is taken, it knows nothing of
    what a lost answer may have left behind; and a call asked for anew is a new key.

    `retry_on`: the classes to retry (`T1 T2 T3`), told by our classifier, instead of what looks
    transient; that is the arm of paper §6.2, 3, which knows the classes.
    """

    name = "exp_retry"
    defaults: Mapping[str, Any] = {
        "retries": 3,
        "base_delay_ms": 200,
        "max_delay_ms": 2000,
        "multiplier": 2.0,
        "retry_on": "",
    }

    def on_proposed(self, view: StepView) -> Decision:
        intent = view.intent
        return (
            DISPATCH
            if intent.channel is Channel.MODEL
            else Decision(Action.DISPATCH, key=intent.key)
        )

    def on_failure(self, event: Attempted) -> Decision:
        if not self._retries(event):
            return Decision(Action.FAIL, "not transient")
        return self.again(event.view, event.view.attempts, retry_after_us(event.observation))

    def _retries(self, event: Attempted) -> bool:
        named: str = self._config["retry_on"]
        if not named:
            return transient(event.observation)
        fault = classify(event.view.intent.channel, event.observation)
        return fault.fault_class.value in named.split()

    def again(self, view: StepView, retry: int, told_us: int | None = None) -> Decision:
        """RETRY after the back-off before `retry` (from 1), or FAIL where there is none left.

        `told_us`: a stated wait, which is never undercut.
        """
        config = self._config
        if retry > config["retries"]:
            return Decision(Action.FAIL, "retries used up")
        u = uniform("jitter", *self._kit.chance_key, view.step, retry)
        base_us, cap_us = config["base_delay_ms"] * 1000, config["max_delay_ms"] * 1000
        jitter_us = full_jitter_us(retry, base_us, cap_us, u, config["multiplier"])
        return Decision(Action.RETRY, delay_us=effective_us(jitter_us, told_us), debit=1)


class DegradeOnly(Plain):
    """Never retries: goes down the ladder at the first failure (paper §6.2, 4 and §6.6.3).

    The ladder has one rung, an equal model: beyond it, and for tools, it fails. Handing a tool's
    failure to the agent (REPLAN) would have the agent retry for it. Set otherwise, it is the arm
    of paper §6.2, 4: `rungs` 2 goes on to smaller ones, and `tools` has a ladder for tools, too.
    """

    name = "degrade_only"
    defaults: Mapping[str, Any] = {"rungs": 1, "tools": False}

    def on_failure(self, event: Attempted) -> Decision:
        view = event.view
        fault = classify(view.intent.channel, event.observation)
        below = self._below(view)
        if below is None:
            return Decision(Action.FAIL, "no rung left", fault=fault)
        if not may_substitute(fault.fault_class):
            return Decision(Action.FAIL, "no rung goes around this", fault=fault)
        other, rung = below
        tool = view.intent.channel is Channel.TOOL
        action = Action.DEGRADE_TOOL if tool else Action.DEGRADE_MODEL
        return Decision(action, "first failure", substitute=other, rung=rung, fault=fault)

    def _below(self, view: StepView) -> tuple[str, Rung] | None:
        """What the ladder has below the target at hand, and which rung that is."""
        config, kit = self._config, self._kit
        tool = view.intent.channel is Channel.TOOL
        if view.attempts > config["rungs"] or (tool and not config["tools"]):
            return None
        equal = {view.target: view.equivalents} if tool else kit.substitutes
        other = next_equal(view.target, (view.target,), equal)
        if other is not None:
            return other, Rung.SAME_TIER
        lower = kit.lower.get(view.target, ()) if config["rungs"] > 1 else ()
        return (lower[0], Rung.LOWER_TIER) if lower else None


class BlindResend(Plain):
    """Known-bad yardstick: resends at once, whatever happened, up to `attempts` in all."""

    name = "blind_resend"
    defaults: Mapping[str, Any] = {"attempts": 8}

    def on_failure(self, event: Attempted) -> Decision:
        if event.view.attempts >= self._config["attempts"]:
            return Decision(Action.FAIL, "attempts used up")
        return Decision(Action.RETRY, debit=1)


class AlwaysEscalate(Plain):
    """Yardstick: calls a person at the first failure. Safe, and it must not look like winning."""

    name = "always_escalate"

    def on_failure(self, event: Attempted) -> Decision:
        return Decision(Action.ESCALATE, "first failure")


class OracleRecovery(Plain):
    """Upper bound: is told whether the write landed and what ends the fault, and acts on it.

    State: `landed`, after a crash: step-less keys of the writes that are in, which the agent may
    ask for anew.
    """

    name = "oracle_recovery"
    defaults: Mapping[str, Any] = {"attempts": 8, "wait_s": 1.0}

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        if isinstance(event, Restored):
            return {"landed": list(event.landed)}, ACCEPT
        if isinstance(event, Proposed) and state and _is_write(event.view):
            landed, key = list(state["landed"]), event.view.intent.stepless_key
            if key in landed:
                landed.remove(key)
                return {"landed": landed}, _taken(event.view)
        if isinstance(event, Compressed) and not event.done:
            return state, Decision(Action.ESCALATE, "the context cannot be made shorter")
        return super().decide(state, event)

    def on_failure(self, event: Attempted) -> Decision:
        truth = event.truth or Truth()
        view = event.view
        if truth.landed and _is_write(view):
            return _taken(view)
        if truth.clears_by == "compress":
            why = "only a shorter context helps"
            if self._kit.equipment.ladder and view.intent.channel is Channel.MODEL:
                return Decision(Action.COMPRESS, why, rung=Rung.COMPRESSED)
            return Decision(Action.ESCALATE, f"{why}, and nothing makes one")
        if truth.clears_by in ("substitute", _EITHER):
            other = next_equal(view.target, (view.target,), self._kit.substitutes)
            if other is None and truth.clears_by != _EITHER:
                return Decision(Action.ESCALATE, "only another model helps, and there is none")
            if other is not None and view.attempts < self._config["attempts"]:
                return Decision(
                    Action.DEGRADE_MODEL,
                    "only another model helps",
                    substitute=other,
                    rung=Rung.SAME_TIER,
                )
        if view.attempts >= self._config["attempts"]:
            return Decision(Action.ESCALATE, "nothing clears it")
        wait_us = self._wait_us(event.observation, truth, view.attempts)
        return Decision(Action.RETRY, delay_us=wait_us, debit=1)

    def on_reconciled(self, event: Reconciled) -> Decision:
        """The truth is known already; the read only fetches the answer, and may fail."""
        reason = "read" if event.landed is Landed.COMMITTED else "known to have landed"
        return Decision(Action.ACCEPT, reason)

    def _wait_us(self, observation: Observation, truth: Truth, attempts: int) -> int:
        """What is stated, else longer each time: nobody is told how long it still lasts."""
        if truth.clears_by not in ("wait", _EITHER):
            return 0
        stated = retry_after_us(observation)
        doubled = self._config["wait_s"] * 2.0 ** (attempts - 1)
        return round(doubled * 1_000_000) if stated is None else stated


def _is_write(view: StepView) -> bool:
    return view.intent.channel is Channel.TOOL and view.intent.level.writes


def _taken(view: StepView) -> Decision:
    """The write is in: its answer is read back where it can be."""
    if view.can_reconcile:
        return Decision(Action.RECONCILE, "it landed: read the answer from the world")
    return Decision(Action.ACCEPT, "it landed")
