"""An arm in the model world: its strategy objects, and what lies between them and the world."""

from itertools import product
from typing import Any

from hfr_bench import plugins
from hfr_bench.lab.synthetic.params import FAULTS, Rule, SyntheticArm, World
from hfr_bench.lab.synthetic.stage import TARGETS
from hfr_bench.model.terms import Criticality
from hfr_bench.ports.strategy import Strategy
from hfr_bench.recovery.kit import Kit

_CRITICALITIES = tuple(Criticality)
_MICRO = 1_000_000
WHOLE = 1000
"""Attempts are counted in thousandths: a rule may charge a part of one."""

SUBSTITUTES = {TARGETS[0][0]: TARGETS[0][1:2]}
LOWER = {target: (of[2],) for of in TARGETS for target in of[:2]}


class Crew:
    """One arm under one rule: see `SyntheticArm`.

    Strategies are pure and keep nothing between tasks, so one object of each equipment plays them
    all; `key` is the list that its Kit draws jitter by, and names the task at hand.
    """

    def __init__(self, name: str, arm: SyntheticArm, world: World, rule: Rule) -> None:
        self.key: list[str | int] = ["synthetic", 0, 0]
        in_call = arm.checks == "call"
        # By kind: is an answer that the check finds wrong a failed attempt? A write always is,
        # where there is a check at all: it is looked at before it lands.
        self.checked = in_call, in_call, arm.checks != "none"
        self.keyed = arm.keyed
        self.keys = world.keys
        self.false_absent = world.false_absent
        self.stickiness = rule.stickiness.get(name, world.paper.stickiness)
        self.later_faults = rule.later_faults
        levels = world.paper.model, world.paper.tool, world.paper.tool
        # By kind and level: cost in millionths, latency in microseconds.
        self.prices = tuple(
            tuple((round(at.cost * _MICRO), round(at.seconds * _MICRO)) for at in of)
            for of in levels
        )
        # In thousandths, by class drawn: what is given back of an attempt that is retried.
        self.refund = [0, *(WHOLE - round(rule.charged.get(c, 1.0) * WHOLE) for c in FAULTS)]
        self.person = round(world.paper.person.cost * _MICRO)
        self.person_us = round(world.paper.person.seconds * _MICRO)
        made: Any = plugins.find("strategies", arm.strategy)
        self._seats: list[Strategy] = [
            made(arm.config, self._kit(arm, criticality, permanent, exhausted))
            for criticality, permanent, exhausted in product(
                _CRITICALITIES, (False, True), (False, True)
            )
        ]

    def seat(self, criticality: int, permanent: bool, exhausted: bool) -> Strategy:
        """The strategy for a task of that criticality, with or without people (see `Kit`)."""
        return self._seats[criticality * 4 + permanent * 2 + exhausted]

    def _kit(
        self, arm: SyntheticArm, criticality: Criticality, permanent: bool, exhausted: bool
    ) -> Kit:
        return Kit(
            equipment=arm.equipment,
            substitutes=SUBSTITUTES,
            lower=LOWER,
            chance_key=self.key,
            criticality=criticality,
            estimate_us=0,
            escalates_permanent=permanent,
            escalates_exhausted=exhausted,
        )
