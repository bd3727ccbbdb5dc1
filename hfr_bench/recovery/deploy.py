"""Letting a strategy loose in steps (paper §5.6): in the shadow, as a canary, behind switches.

Every wrapper is itself a strategy: pure, with all that it remembers in its state. A canary's tally
outlives a task: `rollout_of` takes it out of one task's state, and the next task's canary is built
on it.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from hfr_bench.faults.draw import uniform
from hfr_bench.model.attempt import Attempted, Decision, Finishing, Proposed, StrategyEvent
from hfr_bench.model.terms import Action
from hfr_bench.recovery.guarded import (
    Decides,
    Guarded,
    State,
    guarded,
    sends_write,
    view_of,
    writes,
)
from hfr_bench.recovery.settings import Deployment, Rollback
from hfr_bench.recovery.shadow import Shadow, shadow_record

__all__ = [
    "CANDIDATE",
    "STABLE",
    "Canary",
    "Guarded",
    "Shadow",
    "Tally",
    "chosen",
    "deployed",
    "fresh_rollout",
    "guarded",
    "note",
    "rollout_of",
    "shadow_record",
    "switched_on",
    "throw_switch",
]

STABLE: Final = "stable"
CANDIDATE: Final = "candidate"


class Tally(NamedTuple):
    """What tasks of one lane came to. `duplicates` are effects; the others count tasks."""

    tasks: int = 0
    failed: int = 0
    escalated: int = 0
    duplicates: int = 0


def fresh_rollout() -> State:
    """A rollout before its first task: JSON; `rolled_back` says why, once it has happened."""
    return {STABLE: list(Tally()), CANDIDATE: list(Tally()), "rolled_back": ""}


def note(rollout: Mapping[str, Any], lane: str, one: Tally, bounds: Rollback) -> State:
    """The rollout with one more finished task, or with what was found out later.

    Duplicates and missed goals are seen by the world only: `Tally(duplicates=1)`,
    `Tally(failed=1)` add them to a task that is counted already. A rollback is sticky: it keeps
    its first reason and is not taken back by better numbers.
    """
    after = {**rollout, lane: [a + b for a, b in zip(rollout[lane], one, strict=True)]}
    if not rollout["rolled_back"]:
        after["rolled_back"] = _breach(Tally(*after[CANDIDATE]), Tally(*after[STABLE]), bounds)
    return after


def _breach(candidate: Tally, stable: Tally, bounds: Rollback) -> str:
    """Why the candidate must go, or ""; duplicates need no minimum sample.

    A stable lane with fewer tasks than that counts as flawless: a canary is rather taken back
    too early.
    """
    if candidate.duplicates > bounds.duplicates:
        return f"{candidate.duplicates} duplicate effects, {bounds.duplicates} allowed"
    if candidate.tasks < bounds.min_sample:
        return ""
    known = stable if stable.tasks >= bounds.min_sample else Tally(tasks=1)
    for word, ours, theirs, rise in (
        ("escalated", candidate.escalated, known.escalated, bounds.escalation_rise),
        ("failed", candidate.failed, known.failed, bounds.failure_rise),
    ):
        if ours / candidate.tasks > theirs / known.tasks + rise:
            return (
                f"{word}: {ours} of {candidate.tasks} tasks, stable {theirs} of {known.tasks}; "
                f"{rise:.0%} more allowed"
            )
    return ""


def chosen(percent: float, key: str, tenant: str, task_id: str) -> bool:
    """Whether a task is among `percent` of all; one that is stays so as the share grows."""
    return uniform("canary", key, tenant, task_id) * 100 < percent


class Canary:
    """Gives a share of the tasks to the candidate, and takes it back by itself (paper §5.6).

    The lane is drawn from `key`, tenant and task: a task meets the same one on every run. Tasks
    begun after a rollback, for a tenant whose switch is off, or under the kill switch are the
    stable strategy's. A task is counted when its lane ends it (see `note` for the rest).

    `throw_switch` takes a running task away from the candidate. Reads go on with the stable
    strategy, which begins afresh. Writes fail closed (§4.1) where the candidate has one under way
    or has sent any: nobody knows what it left open. Such a task is not counted.

    State: the lane, its inner state, the rollout. Raises ValueError for a share outside 0..100.
    """

    def __init__(
        self,
        stable: Decides,
        candidate: Decides,
        percent: float,
        key: str = "",
        *,
        tenant: str = "default",
        task_id: str = "",
        deployment: Deployment | None = None,
        rollout: Mapping[str, Any] | None = None,
    ) -> None:
        if not 0 <= percent <= 100:
            raise ValueError(f"a canary's share is 0 to 100 percent, got {percent!r}")
        self._lanes = {STABLE: stable, CANDIDATE: candidate}
        self._deployment = deployment or Deployment()
        self._rollout = {**fresh_rollout(), **(rollout or {})}
        self._on = (
            not self._rollout["rolled_back"]
            and switched_on(self._deployment, tenant)
            and chosen(percent, key, tenant, task_id)
        )

    def begin(self) -> State:
        lane = CANDIDATE if self._on else STABLE
        return {
            "lane": lane,
            "inner": self._lanes[lane].begin(),
            "rollout": self._rollout,
            "wrote": False,  # the lane has sent a write
            "counted": False,
            "taken": "",  # why the candidate was switched off
            "closed": False,  # writes fail closed
        }

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        """The lane's decision; its errors pass through (`guarded` goes around a lane)."""
        if state["taken"]:
            if state["lane"] == CANDIDATE:
                state = self._take_over(state, event)
            if state["closed"] and (writes(event) or view_of(event) is None):
                reason = f"switched off, fail-closed: {state['taken']}"
                return state, Decision(Action.ESCALATE, reason)
        known = state["inner"]
        inner, decision = self._lanes[state["lane"]].decide(known, event)
        if inner is not known:
            state = {**state, "inner": inner}
        return self._after(state, event, decision), decision

    def _take_over(self, state: State, event: StrategyEvent) -> State:
        """From the candidate to the stable lane, in the middle of a task.

        In the middle of a read that it does not know, the stable strategy waits for the next event
        that it can answer by itself.
        """
        first = isinstance(event, Proposed) and event.view.attempts == 0
        closed = state["wrote"] or (writes(event) and not first)
        state = {**state, "counted": True, "closed": closed}
        if closed and writes(event):
            return state
        if view_of(event) is not None and not isinstance(event, Proposed | Attempted):
            return state
        return {**state, "lane": STABLE, "inner": self._lanes[STABLE].begin()}

    def _after(self, state: State, event: StrategyEvent, decision: Decision) -> State:
        """The state once it is decided: whether a write is out, and the tally of an ended task."""
        action = decision.action
        finished = isinstance(event, Finishing)
        if action is Action.DISPATCH and not finished:
            sent = not state["wrote"] and sends_write(event, decision)
            return {**state, "wrote": True} if sent else state
        ends = finished or action is Action.ESCALATE or action is Action.FAIL
        if state["counted"] or not ends:
            return state
        called = action is Action.ESCALATE
        failed = not called and action is not Action.ACCEPT
        one = Tally(tasks=1, failed=int(failed), escalated=int(called))
        rollout = note(state["rollout"], state["lane"], one, self._deployment.rollback)
        return {**state, "counted": True, "rollout": rollout}


def rollout_of(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """The rollout in a `Canary`'s state: what the next task's canary is built on."""
    found: Mapping[str, Any] = state["rollout"]
    return found


def throw_switch(state: State, reason: str = "kill switch") -> State:
    """A `Canary`'s state with its candidate switched off, from the next decision on."""
    return {**state, "taken": reason or "kill switch"}


def switched_on(deployment: Deployment, tenant: str) -> bool:
    """Whether anything but the stable strategy may act for the tenant (§5.6, step 3)."""
    on = deployment.mode != "off" and not deployment.kill_switch
    return on and deployment.tenants.get(tenant, True)


def deployed(
    deployment: Deployment,
    stable: Decides,
    candidate: Decides,
    *,
    key: str = "",
    tenant: str = "default",
    task_id: str = "",
    rollout: Mapping[str, Any] | None = None,
) -> Decides:
    """The strategy that a deployment lets act for a task: one of the two, or a wrapper of both."""
    if not switched_on(deployment, tenant):
        return stable
    if deployment.mode == "active":
        return candidate
    if deployment.mode == "shadow":
        return Shadow(stable, candidate)
    return Canary(
        stable,
        candidate,
        deployment.canary_percent,
        key,
        tenant=tenant,
        task_id=task_id,
        deployment=deployment,
        rollout=rollout,
    )
