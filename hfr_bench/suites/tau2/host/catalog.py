"""What a domain offers, as plain data: policy, tools, tasks, digests."""

from typing import Any

from .canonical import digest_of
from .domain import Domain, Task


def catalog(domain: Domain) -> dict[str, Any]:
    """Everything an adapter needs to know of a domain before it opens a task.

    `digests`: sha256 of the canonical JSON of the offered tasks, the policy and the pristine
    database(s). `ungraded`: tasks that are not offered, and why. `gold` is sealed knowledge: it
    must not reach agents, strategies or verifiers.
    """
    tasks = list(domain.tasks.values())
    return {
        "domain": domain.name,
        "policy": domain.policy,
        "tools": domain.tools,
        "user_tools": domain.user_tools,
        "tasks": [_task(task) for task in tasks],
        "ungraded": domain.ungraded,
        "digests": {
            "tasks": digest_of([task.data for task in tasks]),
            "policy": digest_of(domain.policy),
            "db": domain.database.pristine,
        },
    }


def _task(task: Task) -> dict[str, Any]:
    return {
        "task_id": task.task_id,
        "user": task.user,
        "gold": task.gold,
        "communicate": task.communicate,
        "basis": task.basis,
        "env_assertions": task.env_assertions,
        "n_writes": sum(call["kind"] == "write" for call in task.gold),
        "digest": digest_of(task.data),
    }
