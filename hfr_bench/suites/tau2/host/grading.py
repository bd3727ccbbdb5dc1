"""Grading: quick on the living world, and by upstream's own (slow) code as a second opinion.

Both judge what was *executed*, never what the agent saw: upstream compares each recorded answer
with a replay, so a trajectory with an injected answer cannot be graded by it at all.
"""

from typing import Any

from .world import World


def grade(world: World, said: list[str]) -> dict[str, Any]:
    """The official verdict by the task's reward basis, from the living world."""
    task = world.require_task()
    state = world.database.digest()
    judges = world.domain.judges(task, world.executed, said, as_gold=state == world.gold_state)
    components = {basis: float(judges[basis]()) for basis in task.basis}
    return {
        "official": float(all(components.values())),
        "components": components,
        "state": state,
        "gold_state": world.gold_state,
        "executed": world.executed,
    }


def grade_official(world: World, said: list[str]) -> dict[str, Any]:
    """Upstream's verdict on the executed log (calls and their true answers). Takes seconds."""
    verdict = world.domain.second_opinion(world.require_task(), world.executed, said)
    return {"official": float(all(verdict["components"].values())), **verdict}
