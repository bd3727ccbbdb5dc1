"""Grading: quick on the living world, and by upstream's own (slow) evaluators as a second opinion.

Both judge what was *executed*, never what the agent saw: upstream compares each recorded answer
with a replay, so a trajectory with an injected answer cannot be graded by it at all.
"""

from functools import partial
from typing import Any

from .errors import HostError
from .upstream import BILL_IDS, load, new_environment
from .world import World


def grade(world: World, said: list[str]) -> dict[str, Any]:
    """The official verdict by the task's reward basis, from the living world.

    airline, retail: DB (state equals that after the gold calls) x COMMUNICATE (texts the agent
    said). telecom: ENV_ASSERTION on the living world, x ACTION where the basis has it. There the
    database hash is *not* valid (upstream's gold replay forgets to sync), and is only informative.
    """
    task = world.require_task()
    state = world.database.digest()
    judges = {
        "DB": lambda: _database(world, state),
        "COMMUNICATE": lambda: _communicate(task, said),
        "ENV_ASSERTION": lambda: _assertions(world),
        "ACTION": lambda: _actions(world),
    }
    components: dict[str, float] = {}
    for basis in sorted(b.value for b in task.evaluation_criteria.reward_basis):
        if basis not in judges:
            message = f"task {task.id} is graded by {basis}, which needs a model as a judge"
            raise HostError("unsupported", message)
        components[basis] = float(judges[basis]())
    return {
        "official": float(all(components.values())),
        "components": components,
        "state": state,
        "gold_state": world.gold_state,
        "executed": world.executed,
    }


def _database(world: World, state: str) -> bool:
    criteria = world.require_task().evaluation_criteria
    if criteria.actions is None and criteria.env_assertions is None:
        return True  # upstream's rule: nothing is expected, so nothing is compared
    return state == world.gold_state


def _communicate(task: Any, said: list[str]) -> bool:
    """Upstream's rule: each string is part of something said; case and commas do not count."""
    spoken = [text.lower().replace(",", "") for text in said if text.strip()]
    wanted = task.evaluation_criteria.communicate_info or []
    return all(any(info.lower() in text for text in spoken) for info in wanted)


def _assertions(world: World) -> bool:
    """Every assertion about the end state holds. They only look."""
    env = world.environment
    env.sync_tools()  # upstream ends its replay with one more sync, and each assertion syncs too
    wanted = world.require_task().evaluation_criteria.env_assertions or []
    met = [env.run_env_assertion(a, raise_assertion_error=False) for a in wanted]
    return all(met)


def _actions(world: World) -> bool:
    """Every gold call was executed, by upstream's own comparison."""
    calls = [world.tool_call(n, entry) for n, entry in enumerate(world.executed)]
    wanted = world.require_task().evaluation_criteria.actions or []
    return all(any(action.compare_with_tool_call(call) for call in calls) for action in wanted)


def grade_official(world: World, said: list[str]) -> dict[str, Any]:
    """Upstream's evaluators on the executed log (calls and their true answers). Takes seconds."""
    task = world.require_task()
    trajectory = _trajectory(world, said)
    environment, communicate, action = (
        getattr(load(f"evaluator.evaluator_{name}"), f"{long}Evaluator")
        for name, long in (
            ("env", "Environment"),
            ("communicate", "Communicate"),
            ("action", "Action"),
        )
    )
    living_ids = BILL_IDS.count  # each new environment starts the numbers over
    try:
        verdicts = [
            environment.calculate_reward(
                environment_constructor=partial(new_environment, world.domain),
                task=task,
                full_trajectory=trajectory,
            ),
            communicate.calculate_reward(task=task, full_trajectory=trajectory),
            action.calculate_reward(task=task, full_trajectory=trajectory),
        ]
    finally:
        BILL_IDS.count = living_ids
    offered: dict[str, float] = {}
    for verdict in verdicts:
        offered |= {k.value: float(v) for k, v in (verdict.reward_breakdown or {}).items()}
    components = {}
    for basis in sorted(b.value for b in task.evaluation_criteria.reward_basis):
        # no breakdown: upstream returned early with a full reward, nothing being expected
        components[basis] = offered.get(basis, 1.0)
    check = verdicts[0].db_check
    return {
        "official": float(all(components.values())),
        "components": components,
        "db_match": None if check is None else check.db_match,
    }


def _trajectory(world: World, said: list[str]) -> list[Any]:
    message = load("data_model.message")
    authors = {
        "assistant": ("assistant", message.AssistantMessage),
        "user": ("user", message.UserMessage),
    }
    trajectory = []
    for number, entry in enumerate(world.executed):
        role, author = authors[entry["requestor"]]
        call = world.tool_call(number, entry)
        trajectory.append(author(role=role, tool_calls=[call]))
        trajectory.append(
            message.ToolMessage(
                id=call.id,
                role="tool",
                content=entry["content"],
                requestor=entry["requestor"],
                error=entry["error"],
            )
        )
    trajectory += [message.AssistantMessage(role="assistant", content=text) for text in said]
    return trajectory
