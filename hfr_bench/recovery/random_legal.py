"""`random_legal`: what the choice itself is worth. A yardstick: chance decides (DESIGN §6)."""

from collections.abc import Mapping
from typing import Any

from hfr_bench.faults.draw import uniform
from hfr_bench.model.attempt import Attempted, Decision, Reconciled, StepView, StrategyEvent
from hfr_bench.model.terms import Action, Channel, Rung
from hfr_bench.recovery.plain import Plain, State


class RandomLegal(Plain):
    """Yardstick: after a failure, any action that can be done there, all equally likely.

    Where nothing failed it goes on like every arm, so that without faults it is the plain run.
    Legal is what this harness could carry out: a write that may have landed can be taken for
    landed or looked up, a model changed where there is another, a tool's failure handed to the
    agent. It keeps no ledger, so it can make no illegal move of one, and it knows no class and no
    risk. After `attempts` physical attempts of a step, its own reads included, only what ends the
    step is left to it.

    State: `step`, `draws` and `reads` of the step at hand. Chance is keyed by step and draw.
    """

    name = "random_legal"
    defaults: Mapping[str, Any] = {"attempts": 8}

    def begin(self) -> State:
        return {"step": 0, "draws": 0, "reads": 0}

    def decide(self, state: State, event: StrategyEvent) -> tuple[State, Decision]:
        asked = isinstance(event, Attempted) and not event.observation.answered
        if asked or isinstance(event, Reconciled):
            return self._choose(state, event.view)  # type: ignore[union-attr]
        return super().decide(state, event)

    def _choose(self, state: State, view: StepView) -> tuple[State, Decision]:
        same = state["step"] == view.step
        draws, reads = (state["draws"], state["reads"]) if same else (0, 0)
        choices = self._legal(view, view.attempts + reads < self._config["attempts"])
        u = uniform("random_legal", *self._kit.chance_key, view.step, draws)
        chosen = choices[int(u * len(choices))]
        reads += chosen.action in (Action.RECONCILE, Action.COMPRESS)
        return {"step": view.step, "draws": draws + 1, "reads": reads}, chosen

    def _legal(self, view: StepView, may_go_on: bool) -> list[Decision]:
        """All that can be done after a failure, in a fixed order."""
        tool = view.intent.channel is Channel.TOOL
        found = [Decision(Action.ESCALATE, "chance"), Decision(Action.FAIL, "chance")]
        if tool:
            found.append(Decision(Action.REPLAN, "chance"))
            if view.intent.level.writes:
                found.append(Decision(Action.ACCEPT, "chance: taken for landed"))
        if not may_go_on:
            return found
        found.append(Decision(Action.RETRY, "chance", debit=1))
        if view.can_reconcile and self._kit.equipment.query:
            found.append(Decision(Action.RECONCILE, "chance"))
        if not tool and view.tokens:  # sizes are shown where the arm can compress
            found.append(Decision(Action.COMPRESS, "chance", rung=Rung.COMPRESSED))
        turn = Action.DEGRADE_TOOL if tool else Action.DEGRADE_MODEL
        others = view.equivalents if tool else self._kit.substitutes.get(view.target, ())
        found += [
            Decision(turn, "chance", substitute=other, rung=Rung.SAME_TIER) for other in others
        ]
        return found
