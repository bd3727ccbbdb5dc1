"""tau2-bench's verdicts: quick on the living world, and by its own evaluators."""

from collections.abc import Callable
from functools import partial
from typing import Any

from .domain import Log, Task, told
from .tau2_load import BILL_IDS, load, new_environment


def tool_call(number: str, name: str, arguments: dict[str, Any], requestor: str) -> Any:
    """A call as upstream's ToolCall."""
    return load("data_model.message").ToolCall(
        id=number, name=name, arguments=arguments, requestor=requestor
    )


def judges(
    env: Any, task: Task, log: Log, said: list[str], *, as_gold: bool
) -> dict[str, Callable[[], bool]]:
    """A judge for each part of a verdict.

    airline, retail: DB (state equals that after the gold calls) x COMMUNICATE (texts the agent
    said). telecom: ENV_ASSERTION on the living world, x ACTION where the basis has it. There the
    database hash is *not* valid (upstream's gold replay forgets to sync), and is only informative.
    """
    criteria = task.upstream.evaluation_criteria
    # upstream's rule: nothing is expected, so nothing is compared
    free = criteria.actions is None and criteria.env_assertions is None
    return {
        "DB": lambda: as_gold or free,
        "COMMUNICATE": lambda: told(task.communicate, said),
        "ENV_ASSERTION": lambda: _assertions(env, criteria),
        "ACTION": lambda: _actions(criteria, log),
        "NL_ASSERTION": lambda: True,  # tasks that have any are not offered
    }


def _assertions(env: Any, criteria: Any) -> bool:
    """Every assertion about the end state holds. They only look."""
    env.sync_tools()  # upstream ends its replay with one more sync, and each assertion syncs too
    wanted = criteria.env_assertions or []
    met = [env.run_env_assertion(a, raise_assertion_error=False) for a in wanted]
    return all(met)


def _actions(criteria: Any, log: Log) -> bool:
    """Every gold call was executed, by upstream's own comparison."""
    calls = [_logged(entry) for entry in log]
    wanted = criteria.actions or []
    return all(any(action.compare_with_tool_call(call) for call in calls) for action in wanted)


def _logged(entry: dict[str, Any]) -> Any:
    return tool_call(f"call_{entry['n']}", entry["name"], entry["arguments"], entry["requestor"])


def second_opinion(domain: str, task: Task, log: Log, said: list[str]) -> dict[str, Any]:
    """Upstream's evaluators on the executed log (calls and their true answers)."""
    trajectory = _trajectory(log, said)
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
                environment_constructor=partial(new_environment, domain),
                task=task.upstream,
                full_trajectory=trajectory,
            ),
            communicate.calculate_reward(task=task.upstream, full_trajectory=trajectory),
            action.calculate_reward(task=task.upstream, full_trajectory=trajectory),
        ]
    finally:
        BILL_IDS.count = living_ids
    offered: dict[str, float] = {}
    for verdict in verdicts:
        offered |= {k.value: float(v) for k, v in (verdict.reward_breakdown or {}).items()}
    check = verdicts[0].db_check
    return {
        # no breakdown: upstream returned early with a full reward, nothing being expected
        "components": {basis: offered.get(basis, 1.0) for basis in task.basis},
        "db_match": None if check is None else check.db_match,
    }


def _trajectory(log: Log, said: list[str]) -> list[Any]:
    message = load("data_model.message")
    authors = {
        "assistant": ("assistant", message.AssistantMessage),
        "user": ("user", message.UserMessage),
    }
    trajectory = []
    for entry in log:
        role, author = authors[entry["requestor"]]
        call = _logged(entry)
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
