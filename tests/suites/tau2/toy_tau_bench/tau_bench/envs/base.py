"""A toy environment with upstream's traps: grading steps the gold calls in the agent's own data."""

import contextlib
import hashlib

from litellm import completion  # noqa: F401 upstream's user needs it; here nobody calls it

from tau_bench.types import OutputInfo, Verdict


def to_hashable(item):
    if isinstance(item, dict):
        return tuple((key, to_hashable(value)) for key, value in sorted(item.items()))
    return tuple(map(to_hashable, item)) if isinstance(item, list) else item


def consistent_hash(value):
    return hashlib.sha256(str(value).encode()).hexdigest()


def info(name, **parameters):
    """A tool's description, as upstream's `get_info` gives it."""
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in parameters.items()},
    }
    function = {"name": name, "description": f"{name}.", "parameters": schema}
    return {"type": "function", "function": function}


class Env:
    def __init__(self, load_data, tools, tasks, wiki, index):
        self.data_load_func = load_data
        self.data = load_data()
        self.tools_info = [tool.get_info() for tool in tools]
        self.tools_map = {tool.get_info()["function"]["name"]: tool for tool in tools}
        self.tasks = tasks
        self.task = tasks[index]
        self.wiki = wiki
        self.actions = []
        self.terminate_tools = ["transfer_to_human_agents"]

    def step(self, action):
        self.actions.append(action)
        with contextlib.suppress(Exception):
            self.tools_map[action.name].invoke(data=self.data, **action.kwargs)

    def calculate_reward(self):
        reached = to_hashable(self.data)
        self.data = self.data_load_func()
        for action in self.task.actions:
            if action.name not in self.terminate_tools:
                self.step(action)
        same = reached == to_hashable(self.data)
        said = [a.kwargs["content"].lower() for a in self.actions if a.name == "respond"]
        told = all(any(text in line for line in said) for text in self.task.outputs)
        return Verdict(float(same and told), OutputInfo(float(told)))
