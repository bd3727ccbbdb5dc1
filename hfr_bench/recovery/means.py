"""What a decision may spend and where it may turn: budgets, breakers, time, rungs (paper §4.3-4.8).

For one task; keeps nothing but what its configuration says. State comes in and goes out.
"""

from dataclasses import dataclass
from typing import Any, Final

from hfr_bench.faults.draw import uniform
from hfr_bench.model.attempt import BudgetView, Decision, Fault, LedgerMove, Observation, StepView
from hfr_bench.model.terms import Action, Channel, Criticality, Rung, SideEffect
from hfr_bench.recovery import breaker
from hfr_bench.recovery.breaker import Heard, Trip
from hfr_bench.recovery.bucket import Bucket, left, take
from hfr_bench.recovery.budget import Vector, admit, affords, settle, shares
from hfr_bench.recovery.budget import in_time as _in_time
from hfr_bench.recovery.config import HfrConfig, Policy, compiled
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.ladder import Choice, Offer, choose
from hfr_bench.recovery.memory import State, entry_of, is_open

_UNTIL: Final = 0  # the place in a breaker's state that is None while it is closed
_MODEL, _TOOL, _READ = Channel.MODEL, Channel.TOOL, SideEffect.READ


@dataclass(slots=True)
class Trouble:
    """A failure to decide on.

    `level`: of the call that failed, which may be a read made for a write. `absent`: the world was
    asked, and does not have the write. `moves`: of the ledger, that go with what is decided.
    """

    fault: Fault
    view: StepView
    level: SideEffect
    status: int | None = None
    sent: bool = True
    absent: bool = False
    moves: tuple[LedgerMove, ...] = ()


class Means:
    """Of one task: see above."""

    def __init__(self, config: HfrConfig, kit: Kit) -> None:
        self.config, self.kit = config, kit
        self._differs = bool(config.overrides)
        self._policies: dict[str, Policy] = {}
        self._models: dict[str, tuple[tuple[str, Trip], ...]] = {}
        self._tools: dict[str, tuple[tuple[str, Trip], ...]] = {}
        self.policy = self.policy_of("")
        self._trips = breaker.by_scope(_trip(self.policy)) if self.policy.breaker_on else {}
        rate = self.policy.tenant_per_min
        self.bucket = Bucket(rate, rate)
        total, held = self.policy.task_retries, self.policy.last_step_reserve
        self._shares = shares(total, kit.weights, held) if kit.weights else ()
        # Where neither a tool nor a step differs from the others: looked up once.
        self._retries = None if self._differs or self._shares else self.policy.step_attempts - 1
        self.left = self._left()
        self._keeps_ledger = self.policy.ledger_on and kit.equipment.ledger
        self._verify_us = self.policy.reserve_verify_us if self.policy.verifier_on else 0
        self.is_high = kit.criticality is Criticality.HIGH

    def policy_of(self, tool: str) -> Policy:
        """The policy for a tool (`overrides`); "" for everything else."""
        if not self._differs:
            tool = ""
        known = self._policies.get(tool)
        if known is None:
            kit = self.kit
            known = compiled(self.config.for_(kit.tenant, kit.task_id, tool))
            self._policies[tool] = known
        return known

    # -- resources (second seed: admission before acting) ------------------------------------------

    def _left(self) -> list[int | None] | None:
        """What a task may use in all; None where nothing is limited."""
        policy = self.policy
        amounts = [policy.budget_tokens, policy.budget_time_us, policy.budget_cost_microusd]
        return [None, *amounts] if any(amount is not None for amount in amounts) else None

    def admitted(self, state: State, view: StepView) -> State | None:
        """The state with this action's needs set aside, or None: they do not fit."""
        policy, kit = self.policy, self.kit
        need = Vector(1, view.tokens, kit.estimate_us, kit.estimate_microusd)
        held_us = policy.reserve_verify_us
        if view.intent.level.writes:
            held_us += policy.reserve_reconcile_us
        rest = admit(Vector(*state["left"]), need, Vector(0, 0, held_us, 0))
        return None if rest is None else {**state, "left": list(rest), "need": list(need)}

    @staticmethod
    def settled(state: State, seen: Observation) -> State:
        """The state with what the action really took."""
        if state["need"] is None:
            return state
        used = Vector(1, seen.tokens_in + seen.tokens_out, seen.latency_us, seen.cost_microusd)
        rest = settle(Vector(*state["left"]), Vector(*state["need"]), used)
        return {**state, "left": list(rest), "need": None}

    # -- breakers ----------------------------------------------------------------------------------

    def _guards(self, channel: Channel, target: str) -> tuple[tuple[str, Trip], ...]:
        """Whose breakers a call concerns, narrowest first, and when they open."""
        cache = self._models if channel is _MODEL else self._tools
        known = cache.get(target)
        if known is None:
            kit = self.kit
            scopes = breaker.scopes(channel, target, kit.provider, kit.breaker_tenant)
            trips = self._trips
            known = tuple((scope, trips[scope.partition(":")[0]]) for scope in scopes if trips)
            cache[target] = known
        return known

    def shut(self, states: breaker.Breakers, channel: Channel, target: str, now_us: int) -> str:
        """Whose breaker lets nothing out now; "" for nobody's."""
        for scope, trip in self._guards(channel, target):
            if not breaker.allows(trip, states.get(scope), now_us):
                return scope
        return ""

    def let_out(self, state: State, view: StepView) -> State:
        """The state once the call goes out: it may be a probe."""
        new = dict(state["breakers"])
        for scope, trip in self._guards(view.intent.channel, view.target):
            new[scope] = breaker.admit(trip, new.get(scope), view.now_us)
        return {**state, "breakers": new}

    def heard(self, state: State, view: StepView, heard: Heard, latency_us: int) -> State:
        """The state once it is known how the call ended: a copy, the caller's own."""
        new, now_us = state.copy(), view.now_us
        states = new["breakers"] = state["breakers"].copy()
        channel, target = view.intent.channel, view.target
        guards = (self._models if channel is _MODEL else self._tools).get(target)
        for scope, trip in guards or self._guards(channel, target):
            old = states.get(scope)
            after = states[scope] = breaker.record(trip, old, now_us, heard, latency_us, 0.0)
            if after is not None and after[_UNTIL] is None:
                continue  # closed, and it was before: only a new state follows on an open one
            if breaker.retry_at_us(after) != breaker.retry_at_us(old):
                # Opened, for longer, or closed: chance is only asked for now.
                u = self.u("breaker", view.step, view.attempts)
                states[scope] = breaker.record(trip, old, now_us, heard, latency_us, u)
                new["shut"] = True
        if new["shut"]:
            new["shut"] = breaker.any_open(states)
        return new

    # -- rungs -------------------------------------------------------------------------------------

    def may_compress(self, view: StepView) -> bool:
        """Is L1 open to this step?"""
        policy, kit = self.policy, self.kit
        allowed = Rung.COMPRESSED in policy.allowed[kit.criticality]
        return allowed and kit.equipment.ladder and view.intent.channel is _MODEL

    def rung(
        self, state: State, step: State, trouble: Trouble, *, exhausted: bool = False
    ) -> Choice | None:
        """The rung to take, or None: none is to be had without a person."""
        kit, view = self.kit, trouble.view
        if not kit.equipment.ladder or not self.in_time(view, 0):
            return None
        offers = self._offers(state, view)
        if not offers:
            return None  # without an offer, the ladder has only what needs a person
        if not exhausted and not self._affords_rung(state, step, trouble):
            return None
        entry = entry_of(state, step["key"])
        choice = choose(
            self.policy_of(view.target), trouble.fault,
            channel=view.intent.channel, level=view.intent.level, criticality=kit.criticality,
            quality_floor=kit.quality_floor, compressed=True,
            used=(*step["targets"], view.target), offers=offers,
            budget_exhausted=exhausted, unsettled=entry is not None and is_open(entry),
        )  # fmt: skip
        taken = choice.offer is not None and choice.offer.kind != "human" and not choice.confirm
        return choice if taken else None

    def _offers(self, state: State, view: StepView) -> list[Offer]:
        """What there is to turn to, where no breaker is open, in order of preference."""
        kit = self.kit
        if view.intent.channel is _MODEL:
            equal = [
                Offer(Rung.SAME_TIER, "model", to) for to in kit.substitutes.get(view.target, ())
            ]
            lower = [Offer(Rung.LOWER_TIER, "model", to) for to in kit.lower.get(view.target, ())]
            offers = [*equal, *lower]
        else:
            equal = [Offer(Rung.SAME_TIER, "tool", to) for to in view.equivalents]
            lower = [Offer(Rung.LOWER_TIER, "tool", to) for to in kit.lower.get(view.target, ())]
            offers = [*equal, *lower]
        if not state["shut"]:
            return offers
        states, channel = state["breakers"], view.intent.channel
        return [o for o in offers if not self.shut(states, channel, o.target, view.now_us)]

    # -- budget and time ---------------------------------------------------------------------------

    @property
    def hands_back(self) -> bool:
        """May a tool's failure go back to the agent, which then goes on without the answer?"""
        return not (self.is_high or self.policy.next_rung)

    def keeps(self, trouble: Trouble) -> bool:
        intent = trouble.view.intent
        return self._keeps_ledger and intent.channel is _TOOL and intent.level is not _READ

    def step_retries(self, view: StepView) -> int:
        """Retries of this step: the policy's, or less where the plan's shares say so (§4.8)."""
        if self._retries is not None:
            return self._retries
        most = self.policy_of(view.target).step_attempts - 1
        if view.step <= len(self._shares):
            most = min(most, self._shares[view.step - 1])
        return most

    def affords(self, state: State, step: State, trouble: Trouble) -> bool:
        """One more retry, by step, task and tenant (paper §4.3)?"""
        view = trouble.view
        return affords(
            self.step_retries(view) - step["retries"],
            self.policy.task_retries - state["used"],
            left(self.bucket, state["bucket"], view.now_us),
            self.held(trouble),
        )

    def _affords_rung(self, state: State, step: State, trouble: Trouble) -> bool:
        return not self.policy.charge_rungs or self.affords(state, step, trouble)

    def held(self, trouble: Trouble) -> int:
        """Retries kept back for the writes, with which tasks are submitted (paper §4.8)."""
        if self._shares or trouble.view.intent.level is not _READ:
            return 0
        return self.policy.last_step_reserve

    def charged(
        self, state: State, step: State, now_us: int, standing: list[Any] | None = None
    ) -> State:
        """One retry less, everywhere at once; `standing`: the step's from now on."""
        bucket, _ = take(self.bucket, state["bucket"], now_us)
        step, new = step.copy(), state.copy()
        step["retries"] += 1
        if standing is not None:
            step["standing"] = standing
        new["step"] = step
        new["used"] += 1
        new["bucket"] = None if bucket is None else list(bucket)
        return new

    def in_time(self, view: StepView, delay_us: int) -> bool:
        now_us, deadline_us = view.now_us, view.deadline_us
        return _in_time(now_us, delay_us, self.kit.estimate_us, deadline_us, self._verify_us)

    def u(self, what: str, *key: int) -> float:
        return uniform(what, *self.kit.chance_key, *key)

    def decision(
        self,
        state: State,
        trouble: Trouble,
        action: Action,
        reason: str,
        *,
        delay_us: int = 0,
        debit: int = 0,
        moves: tuple[LedgerMove, ...] = (),
        substitute: str | None = None,
        rung: Rung | None = None,
    ) -> Decision:
        """A decision, with the fault that it is about and what is left by now."""
        view, step = trouble.view, state["step"]
        spent = step["retries"] if step is not None and step["n"] == view.step else 0
        budget = BudgetView(
            self.step_retries(view) - spent,
            self.policy.task_retries - state["used"],
            view.deadline_us - view.now_us,
        )
        # Names of arguments would cost as much again.
        return Decision(
            action, reason, delay_us, False, substitute, rung, None, trouble.fault, moves, debit,
            "", budget,
        )  # fmt: skip


def _trip(policy: Policy) -> Trip:
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
