"""A domain of tau2-bench: its environment, its base split, its state."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .domain import Log, Task
from .errors import HostError
from .states import DatabaseState, DumpState, TableState
from .tau2_judges import judges, second_opinion, tool_call
from .tau2_load import BILL_IDS, load, new_environment

SPLIT = "base"
JUDGED = {"DB", "COMMUNICATE", "ENV_ASSERTION", "ACTION"}


class Tau2Domain:
    """Implements `domain.Domain` over upstream's Environment."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._environment = env = new_environment(name)
        self.policy = env.get_policy()
        self.tools = _tools(env.tools)
        self.user_tools = _tools(env.user_tools) if env.user_tools is not None else []
        self._kinds = {
            requestor: {tool["name"]: tool["kind"] for tool in tools}
            for requestor, tools in (("assistant", self.tools), ("user", self.user_tools))
        }
        self.database: DatabaseState = _database(env)
        self.tasks: dict[str, Task] = {}
        self.ungraded: dict[str, str] = {}
        for task in _base_split(name):
            needs_model = _needs_model(task)
            if needs_model:
                self.ungraded[task.id] = f"is graded by {needs_model}, which needs a model as judge"
            else:
                self.tasks[task.id] = self._task(task)

    def kind(self, name: str, requestor: str) -> str | None:
        """See `Domain`."""
        return self._kinds[requestor].get(name)

    def prepare(self, task: Task) -> None:
        """See `Domain`."""
        initial = task.upstream.initial_state
        data = initial.initialization_data if initial else None
        if initial and initial.message_history:
            raise HostError("unsupported", f"task {task.task_id} starts from a message history")
        if data is not None and isinstance(self.database, TableState):
            # it would replace the watched tables by new ones
            raise HostError("unsupported", f"task {task.task_id} starts from other data")
        self._environment.set_state(
            initialization_data=data,
            initialization_actions=initial.initialization_actions if initial else None,
            message_history=[],
        )

    def respond(self, name: str, arguments: dict[str, Any], requestor: str) -> tuple[str, bool]:
        """See `Domain`. An unknown tool is answered as upstream answers it."""
        response = self._environment.get_response(tool_call("call", name, arguments, requestor))
        return response.content, bool(response.error)

    def judges(
        self, task: Task, log: Log, said: list[str], *, as_gold: bool
    ) -> dict[str, Callable[[], bool]]:
        """See `Domain`."""
        return judges(self._environment, task, log, said, as_gold=as_gold)

    def second_opinion(self, task: Task, log: Log, said: list[str]) -> dict[str, Any]:
        """See `Domain`. Takes seconds."""
        return second_opinion(self.name, task, log, said)

    def hashes(self) -> list[str]:
        """See `Domain`: the agent's database, the user's."""
        return [self._environment.get_db_hash(), self._environment.get_user_db_hash()]

    def _task(self, task: Any) -> Task:
        criteria = task.evaluation_criteria
        return Task(
            task_id=task.id,
            data=task.model_dump(),
            upstream=task,
            user=_user(task),
            gold=tuple(
                {
                    "action_id": a.action_id,
                    "name": a.name,
                    "arguments": a.arguments,
                    "requestor": a.requestor,
                    "kind": self.kind(a.name, a.requestor),
                }
                for a in criteria.actions or []
            ),
            communicate=tuple(criteria.communicate_info or []),
            basis=tuple(sorted(b.value for b in criteria.reward_basis)),
            env_assertions=len(criteria.env_assertions or []),
        )


def _tools(kit: Any) -> list[dict[str, Any]]:
    rows = []
    for name, tool in sorted(kit.get_tools().items()):
        function = tool.openai_schema["function"]
        rows.append(
            {
                "name": name,
                "description": function["description"],
                "parameters": function["parameters"],
                "kind": str(kit.tool_type(name).value),
            }
        )
    return rows


def _database(env: Any) -> DatabaseState:
    """Airline and retail have large tables, telecom two small databases."""
    if env.user_tools is not None:
        return DumpState(env.tools, env.user_tools, BILL_IDS)
    database = env.tools.db
    names = type(database).model_fields
    state = TableState(database, {name: getattr(database, name) for name in names})
    for name, table in state.tables.items():
        setattr(database, name, table)
    return state


def _base_split(domain: str) -> list[Any]:
    """The base split in file order. Reads only what it needs: telecom has 2285 tasks.

    Before it had splits, tau2-bench kept the base tasks alone in that file.
    """
    utils = load(f"domains.{domain}.utils")
    path = Path(getattr(utils, f"{domain.upper()}_TASK_SET_PATH"))
    rows = json.loads(path.read_text(encoding="utf-8"))
    rows = rows["tasks"] if isinstance(rows, dict) else rows
    splits = path.with_name(f"split_{path.stem}.json")
    if splits.is_file():
        wanted = set(json.loads(splits.read_text(encoding="utf-8"))[SPLIT])
        rows = [row for row in rows if row["id"] in wanted]
    model = load("data_model.tasks").Task
    return [model.model_validate(row) for row in rows]


def _needs_model(task: Any) -> str:
    """The part of the verdict that only a model can judge, if there is one.

    A basis NL_ASSERTION without any assertion is no such part: upstream passes it.
    """
    criteria = task.evaluation_criteria
    basis = {b.value for b in criteria.reward_basis}
    if not criteria.nl_assertions:
        basis.discard("NL_ASSERTION")
    return ", ".join(sorted(basis - JUDGED))


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
