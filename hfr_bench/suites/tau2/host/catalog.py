"""What a domain offers, as plain data: policy, tools, tasks, digests."""

from typing import Any

from .canonical import digest_of
from .world import World


def catalog(world: World) -> dict[str, Any]:
    """Everything an adapter needs to know of a domain before it opens a task.

    `digests`: sha256 of the canonical JSON of the base tasks, the policy and the pristine
    database(s). `gold` is sealed knowledge: it must not reach agents, strategies or verifiers.
    """
    env = world.environment
    tasks = list(world.tasks.values())
    return {
        "domain": world.domain,
        "policy": env.get_policy(),
        "tools": _tools(env.tools),
        "user_tools": _tools(env.user_tools) if env.user_tools is not None else [],
        "tasks": [_task(world, task) for task in tasks],
        "digests": {
            "tasks": digest_of([task.model_dump() for task in tasks]),
            "policy": digest_of(env.get_policy()),
            "db": world.database.pristine,
        },
    }


def _tools(kit: Any) -> list[dict[str, Any]]:
    rows = []
    for name, tool in sorted(kit.get_tools().items()):
        function = tool.openai_schema["function"]
        rows.append(
            {
                "name": name,
                "description": function["description"],
                "parameters": function["parameters"],
                "kind": kit.tool_type(name).value,
            }
        )
    return rows


def _task(world: World, task: Any) -> dict[str, Any]:
    criteria = task.evaluation_criteria
    gold = [
        {
            "action_id": a.action_id,
            "name": a.name,
            "arguments": a.arguments,
            "requestor": a.requestor,
            "kind": world.kind(a.name, a.requestor),
        }
        for a in criteria.actions or []
    ]
    return {
        "task_id": task.id,
        "user": _user(task),
        "gold": gold,
        "communicate": list(criteria.communicate_info or []),
        "basis": sorted(b.value for b in criteria.reward_basis),
        "env_assertions": len(criteria.env_assertions or []),
        "n_writes": sum(row["kind"] == "write" for row in gold),
        "digest": digest_of(task.model_dump()),
    }


def _user(task: Any) -> dict[str, Any]:
    """The scenario's strings; `text` is the whole of it as upstream hands it to a user model."""
    scenario = task.user_scenario
    parts: dict[str, Any] = {
        "persona": scenario.persona,
        "text": str(scenario),
        "ticket": task.ticket,
    }
    if not isinstance(scenario.instructions, str):
        parts |= scenario.instructions.model_dump()
    return parts
