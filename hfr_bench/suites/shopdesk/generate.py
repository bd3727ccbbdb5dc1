"""From a seed to tasks: pure, so that a seed is all that a held-out set consists of."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from hfr_bench.model.record import digest
from hfr_bench.model.task import ExpectedEffect, SealedTask, TaskSpec
from hfr_bench.model.terms import Criticality
from hfr_bench.suites._tools import fault_points
from hfr_bench.suites.shopdesk.catalog import (
    SUITE,
    read_content,
    tools,
    with_what_they_need,
)
from hfr_bench.suites.shopdesk.draft import Chance, Draft, Tables, begin
from hfr_bench.suites.shopdesk.wishes import WISHES

DOMAIN = "desk"
WRITES = (1, 2, 3, 4)
CELLS = tuple((criticality, writes) for writes in WRITES for criticality in Criticality)
"""Twelve kinds of task, one after the other: criticality x difficulty (number of writes)."""


class Instance(NamedTuple):
    """A task: its public half, its sealed half, and the world that both are about."""

    public: TaskSpec
    sealed: SealedTask
    tables: Tables


def seed_digest(seed: str) -> str:
    """What commits to a seed: sha256 (hex) of its text (`printf %s SEED | sha256sum`)."""
    return hashlib.sha256(seed.encode()).hexdigest()


def generate(seed: str, number: int) -> Instance:
    """The task with this number (from 0) of a seed."""
    chance = Chance(seed, number)
    criticality, writes = CELLS[number % len(CELLS)]
    recipe = chance.pick(read_content("recipes")[criticality][str(writes)], "recipe")
    # Fault schedules are keyed by the name: tasks of another seed must not share it.
    name = f"{SUITE}/{seed_digest(seed)[:6]}-{number + 1:03d}-{criticality}-{writes}"
    return build(name, criticality, recipe, chance)


def build(name: str, criticality: Criticality, recipe: Sequence[str], chance: Chance) -> Instance:
    """A task of these wishes."""
    draft = begin(chance)
    for wish in recipe:
        WISHES[wish](draft)
    sealed = _sealed(name, draft)
    return Instance(_public(name, criticality, draft, sealed), sealed, draft.tables)


def _sealed(name: str, draft: Draft) -> SealedTask:
    return SealedTask(
        task_id=name,
        suite=SUITE,
        opening=" ".join(
            (
                f"Hello, I am {draft.customer['name']} ({draft.customer['email']}).",
                *draft.wishes,
            )
        ),
        oracle=tuple(draft.steps),
        say=tuple(draft.say),
        expected=_expected(draft),
        grading=draft.wanted,
    )


def _expected(draft: Draft) -> tuple[ExpectedEffect, ...]:
    """The agent's writes by natural key, with the atomic group that they belong to."""
    counts: Counter[tuple[str, str]] = Counter()
    groups: dict[str, str] = {}
    for n, step in enumerate(draft.steps):
        if step.actor != "agent" or not tools()[step.tool].level.writes:
            continue
        key = tools()[step.tool].natural_key(step.arguments)
        counts[key, step.tool] += 1
        if n in draft.groups:
            groups[key] = draft.groups[n]
    return tuple(
        ExpectedEffect(natural_key=key, tool=tool, count=count, atomic_group=groups.get(key))
        for (key, tool), count in counts.items()
    )


def _public(name: str, criticality: Criticality, draft: Draft, sealed: SealedTask) -> TaskSpec:
    manifest, policies = read_content("suite"), read_content("policies")
    offered = tuple(tools()[tool] for tool in _offered(draft))
    rules = [f"- {row['topic']}: {row['text']}" for row in draft.tables["policies"]]
    return TaskSpec(
        task_id=name,
        suite=SUITE,
        domain=DOMAIN,
        prompt="\n".join((policies["prompt"], "The desk's rules:", *rules)),
        criticality=criticality,
        quality_floor=manifest["criticality"][criticality]["quality_floor"],
        deadline_s=float(manifest["criticality"][criticality]["deadline_s"]),
        stratum=str(criticality),
        tools=offered,
        fault_points=fault_points(offered),
        source_digest=digest([draft.tables, sealed.model_dump(mode="json")]),
    )


def _offered(draft: Draft) -> list[str]:
    """What the solution needs, and others up to a drawn number, in the catalog's order."""
    agents = {step.tool for step in draft.steps if step.actor == "agent"}
    offered = with_what_they_need(agents)
    most = draft.chance.pick(read_content("suite")["tools_offered"], "tools")
    for name in draft.chance.shuffled(tuple(tools()), "distractors"):
        more = offered | with_what_they_need({name})
        if len(more) <= most:
            offered = more
    return [name for name in tools() if name in offered]
