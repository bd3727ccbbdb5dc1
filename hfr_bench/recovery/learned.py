"""`hfr-learned`: what a failure asks for is learned, inside a fence of rules (paper §8).

    failure -> HFR's rules -> nothing to choose (a write that may have landed, a closed class,
                              nothing else affordable): the rules decide
                           -> several moves that the rules allow here: the table, else the rules

The rules are a fence that the table can never leave: every option is made by the rule that guards
it (retry conditions, budget, deadline, breaker, ladder, persons), and one that its rule refuses is
not an option. So no table makes a strategy send a write that may be in, spend what is not there, or
turn to a rung that is closed.

A table is the arm's registered configuration, so freezing fixes it. `explore` is the chance of a
uniform draw among the options instead; each choice says in its reason what it was made of and how
likely it was, and that is what `stats.offpolicy` learns from.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from hfr_bench.model.attempt import Decision
from hfr_bench.model.terms import Action, Channel
from hfr_bench.recovery.choices import CLOSED, Choices
from hfr_bench.recovery.kit import Kit, take
from hfr_bench.recovery.means import Trouble
from hfr_bench.recovery.memory import State
from hfr_bench.recovery.retry import Standing
from hfr_bench.recovery.sharing import SharingController

Table = Mapping[str, Mapping[str, float]]
"""Context -> action -> what it is worth; see `context_of`."""

_RETRIES: Final = 3  # more are all alike
_TOLD = re.compile(r" \[learned (\S+) (\S+) of (\S+), rules (\S+), p=(\d(?:\.\d+)?(?:e-\d+)?)\]$")


class Chosen(NamedTuple):
    """A choice as a decision's reason tells it. `p`: how likely it was to be made."""

    context: str
    action: str
    options: tuple[str, ...]
    rules: str
    p: float

    def __str__(self) -> str:
        of = "|".join(self.options)
        return f" [learned {self.context} {self.action} of {of}, rules {self.rules}, p={self.p!r}]"


def chosen(reason: str) -> Chosen | None:
    """What a reason tells of a choice, or None where there was none to make."""
    found = _TOLD.search(reason)
    if found is None:
        return None
    context, action, options, rules, p = found.groups()
    return Chosen(context, action, tuple(options.split("|")), rules, float(p))


def context_of(trouble: Trouble, retries: int, criticality: str) -> str:
    """What a table looks up: class, channel, whether it writes, retries so far, criticality."""
    kind = "write" if trouble.level.writes else "read"
    if trouble.view.intent.channel is Channel.MODEL:
        kind = "model"
    return f"{trouble.fault.fault_class}/{kind}/{min(retries, _RETRIES)}/{criticality}"


class Learner(NamedTuple):
    """What is known, and how often chance decides instead."""

    table: Table
    explore: float

    def pick(self, context: str, options: tuple[str, ...], rules: str, u: float) -> Chosen:
        """One of the options.

        Args:
            context: `context_of` the failure.
            options: what the rules allow, at least one, in a fixed order.
            rules: the one that the rules would take.
            u: a uniform draw from [0, 1).
        """
        known = self.table.get(context, {})
        best = max(
            (one for one in options if one in known), key=lambda one: known[one], default=rules
        )
        each = self.explore / len(options)
        if u < self.explore:
            # The draw is used up to the place: u / explore is uniform again.
            action = options[min(int(u / self.explore * len(options)), len(options) - 1)]
        else:
            action = best
        p = each + (1.0 - self.explore) * (action == best)
        return Chosen(context, action, options, rules, p)


class LearnedChoices(Choices):
    """HFR's choices about failures; where its rules leave several open, a table picks."""

    learner = Learner({}, 0.0)

    def _resume(
        self, state: State, step: State, trouble: Trouble, standing: Standing
    ) -> tuple[State, Decision]:
        ruled = super()._resume(state, step, trouble, standing)
        options = self._options(state, step, trouble, standing, ruled)
        if len(options) < 2:
            return ruled
        context = context_of(trouble, step["retries"], self._means.kit.criticality.value)
        u = self._means.u("learned", trouble.view.step, trouble.view.attempts)
        one = self.learner.pick(context, tuple(options), ruled[1].action.value, u)
        after, decision = options[one.action]
        return after, replace(decision, reason=f"{decision.reason}{one}")

    def _options(
        self,
        state: State,
        step: State,
        trouble: Trouble,
        standing: Standing,
        ruled: tuple[State, Decision],
    ) -> dict[str, tuple[State, Decision]]:
        """What the rules allow here, by action; each is made by the rule that guards it."""
        found = {ruled[1].action.value: ruled}
        if trouble.fault.fault_class in CLOSED or ruled[1].action is Action.RECONCILE:
            return found
        if self._left_open(state, step, trouble):
            return found
        again = self.retry(state, step, trouble, standing)
        rung = self._means.rung(state, step, trouble)
        below = None
        if rung is not None:
            below = self.take(state, trouble.view, rung, trouble.fault, trouble.moves)
        back = None
        if trouble.view.intent.channel is Channel.TOOL and self._means.hands_back:
            back = self._hand_back(state, step, trouble, "learned")
        person = self._last(state, trouble, trouble.fault.evidence)
        for one in (again, below, back, person):
            if one is not None:
                found.setdefault(one[1].action.value, one)
        return dict(sorted(found.items()))


class HfrLearned(SharingController):
    """HFR with a learned choice inside its rules; `learned: {table, explore}` beside its settings.

    Without a table it is HFR; with `explore: 1` it draws among what HFR's rules allow, which is how
    the traces are made that a table is learned from. Raises ValueError for a setting that it does
    not know, and for a chance that is none.
    """

    preset = "hfr"

    def __init__(self, config: Mapping[str, Any], kit: Kit) -> None:
        rest = {key: value for key, value in config.items() if key != "learned"}
        own = take(config.get("learned", {}), {"table": {}, "explore": 0.0}, "hfr-learned.learned")
        super().__init__(rest, kit)
        self._choices: LearnedChoices = LearnedChoices(self._means)
        self._choices.learner = Learner(_table(own["table"]), _chance(own["explore"]))


def _chance(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"hfr-learned: explore is a chance from 0 to 1, not {value!r}")
    return float(value)


def _table(value: Any) -> Table:
    """The table, checked. Raises ValueError saying where it is wrong."""
    actions = {action.value for action in Action}
    if not isinstance(value, Mapping):
        raise ValueError("hfr-learned: table is {context: {action: worth}}")
    for context, worths in value.items():
        if not isinstance(worths, Mapping) or not worths:
            raise ValueError(f"hfr-learned: table: {context}: is {{action: worth}}")
        for action, worth in worths.items():
            if action not in actions:
                raise ValueError(
                    f"hfr-learned: table: {context}: no action {action!r}; there are: "
                    f"{', '.join(sorted(actions))}"
                )
            if isinstance(worth, bool) or not isinstance(worth, int | float):
                raise ValueError(f"hfr-learned: table: {context}: {action}: is no number")
    return value
