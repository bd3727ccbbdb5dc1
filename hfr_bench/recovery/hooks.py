"""The four places where a harness asks its strategy (paper §5.4), for one with a loop of its own.

    hooks = Hooks(Hfr(config, kit))
    decision = hooks.before_tool_call(view)           # DISPATCH, or what must be done instead
    decision = hooks.after_tool_call(view, seen)      # ACCEPT, RETRY, RECONCILE, ...

A decision's ledger moves are made durable before it is carried out (docs/ledger.md); what was done
about it is told by `tell`. `state` is JSON: it is what a checkpoint keeps.
"""

from hfr_bench.model.attempt import (
    Attempted,
    Decision,
    Finishing,
    Observation,
    Proposed,
    StepView,
    StrategyEvent,
)
from hfr_bench.model.terms import Channel
from hfr_bench.recovery.guarded import Decides, State


class Hooks:
    """One task's hooks around any strategy. `state`: given, to go on from a checkpoint."""

    def __init__(self, strategy: Decides, state: State | None = None) -> None:
        self._strategy = strategy
        self.state = strategy.begin() if state is None else state

    def before_model_call(self, view: StepView) -> Decision:
        """May the model be called? Budget, breaker, and whether the context still fits."""
        return self.tell(Proposed(_of(Channel.MODEL, view)))

    def after_model_call(self, view: StepView, seen: Observation) -> Decision:
        """What the model's answer, or its failure, asks for."""
        return self.tell(Attempted(_of(Channel.MODEL, view), seen))

    def before_tool_call(self, view: StepView) -> Decision:
        """May the tool be called? Side-effect level, key, a person's word, the tool's health."""
        return self.tell(Proposed(_of(Channel.TOOL, view)))

    def after_tool_call(self, view: StepView, seen: Observation) -> Decision:
        """What the tool's answer, or its silence, asks for."""
        return self.tell(Attempted(_of(Channel.TOOL, view), seen))

    def at_the_end(self, now_us: int, deadline_us: int) -> Decision:
        """Final acceptance (paper §5.4)."""
        return self.tell(Finishing(now_us, deadline_us))

    def tell(self, event: StrategyEvent) -> Decision:
        """Any other event: a reconcile's answer, a verdict, a restart, a late receipt."""
        self.state, decision = self._strategy.decide(self.state, event)
        return decision


def _of(channel: Channel, view: StepView) -> StepView:
    if view.intent.channel is not channel:
        raise ValueError(f"a {view.intent.channel} step at the hook of the {channel}'s")
    return view
