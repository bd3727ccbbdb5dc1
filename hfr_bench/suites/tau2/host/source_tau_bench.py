"""The older tau-bench as a source: a checkout of sierra-research/tau-bench.

Its world is a dict of tables and its tools are classes that change it. It has no types of tools, no
error flags and no task ids: those are told here by name, by text ("Error: ...") and by index.

Two traps of its own grading are stayed out of: it plays the gold calls through the very `step` that
agents use (so it must never be wrapped or shared), and leaves the data in the gold state behind.
Here the living data is ours, and upstream's verdict comes from an Env of its own.
"""

import importlib
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

from .checkout import enter, stand_in, version_of
from .domain import Log, Task, told
from .states import DatabaseState, TableState

SPLIT = "test"  # the one that both domains have
# The tools that change the data. Of the others, OTHERS do not even read it.
WRITES = {
    "airline": (
        "book_reservation", "cancel_reservation", "send_certificate",
        "update_reservation_baggages", "update_reservation_flights",
        "update_reservation_passengers",
    ),
    "retail": (
        "cancel_pending_order", "exchange_delivered_order_items", "modify_pending_order_address",
        "modify_pending_order_items", "modify_pending_order_payment", "modify_user_address",
        "return_delivered_order_items",
    ),
}  # fmt: skip
OTHERS = {"calculate": "generic", "think": "think", "transfer_to_human_agents": "generic"}


class TauBenchCheckout:
    """A checkout of tau-bench. It has no telecom."""

    NAME = "tau-bench checkout"
    LAYOUT = ("tau_bench/envs/airline", "tau_bench/envs/retail")
    domains: tuple[str, ...] = ("airline", "retail")

    def __init__(self, checkout: Path) -> None:
        self._checkout = checkout

    def distribution(self) -> dict[str, str]:
        """Name, stated version and digest of the code and data of its domains."""
        patterns = ["tau_bench/*.py", "tau_bench/envs/*.py"]
        for domain in self.domains:
            folder = f"tau_bench/envs/{domain}"
            patterns += [f"{folder}/*.py", f"{folder}/*.md", f"{folder}/tools/*.py"]
            patterns += [f"{folder}/data/*.py", f"{folder}/data/*.json"]
        return {"name": self.NAME, "version": version_of(self._checkout, "setup.py", patterns)}

    def open_domain(self, name: str) -> "TauBenchDomain":
        """See `Source`."""
        enter("tau_bench", self._checkout / "tau_bench")
        stand_in("litellm", completion=None)  # only a user made of a model would call it
        return TauBenchDomain(name)


class TauBenchDomain:
    """Implements `domain.Domain` over upstream's Env, of which only the parts are used."""

    def __init__(self, name: str) -> None:
        self.name = name
        env = _new_env(name, 0)
        self._tools = env.tools_map
        self._data = env.data
        self.policy = env.wiki
        self.tools = sorted(
            (
                {
                    "name": info["function"]["name"],
                    "description": info["function"]["description"],
                    "parameters": info["function"]["parameters"],
                    "kind": self.kind(info["function"]["name"], "assistant"),
                }
                for info in env.tools_info
            ),
            key=lambda row: row["name"],
        )
        self.user_tools: list[dict[str, Any]] = []
        state = TableState(self._data, self._data)
        self._data.update(state.tables)
        self.database: DatabaseState = state
        self.tasks = {str(n): self._task(str(n), task) for n, task in enumerate(env.tasks)}
        self.ungraded: dict[str, str] = {}

    def kind(self, name: str, requestor: str) -> str | None:
        """See `Domain`."""
        if requestor != "assistant" or name not in self._tools:
            return None
        return "write" if name in WRITES[self.name] else OTHERS.get(name, "read")

    def prepare(self, task: Task) -> None:
        """See `Domain`: every task starts from the pristine data."""

    def respond(self, name: str, arguments: dict[str, Any], requestor: str) -> tuple[str, bool]:
        """See `Domain`. Answers as upstream's `step` does.

        The arguments are copied, for tools put them into the data as they are. Where a tool gives
        no text (the fourth certificate), upstream's step fails; here it is an error.
        """
        if self.kind(name, requestor) is None:
            return f"Unknown action {name}", True
        try:
            content = self._tools[name].invoke(data=self._data, **deepcopy(arguments))
        except Exception as error:  # noqa: BLE001 upstream's own rule
            content = f"Error: {error}"
        if not isinstance(content, str):
            content = f"Error: {name} gave no answer"
        return content, content.startswith("Error:")

    def judges(
        self, task: Task, log: Log, said: list[str], *, as_gold: bool
    ) -> dict[str, Callable[[], bool]]:
        """See `Domain`: the data, and the texts that the agent must say."""
        del log
        return {"DB": lambda: as_gold, "COMMUNICATE": lambda: told(task.communicate, said)}

    def second_opinion(self, task: Task, log: Log, said: list[str]) -> dict[str, Any]:
        """See `Domain`: the executed calls and what was said, in an Env of its own.

        What was to be said hides the data's part in upstream's answer, so that part is asked for
        again with everything said.
        """
        given = _upstream_verdict(self.name, task, log, said)
        told_all = _upstream_verdict(self.name, task, log, [*said, *task.communicate])
        components = {
            "COMMUNICATE": float(getattr(given.info, "r_outputs", 1.0)),
            "DB": float(told_all.reward),
        }
        return {"components": components, "db_match": told_all.reward == 1.0}

    def hashes(self) -> list[str]:
        """See `Domain`."""
        base = importlib.import_module("tau_bench.envs.base")
        return [base.consistent_hash(base.to_hashable(self._data))]

    def _task(self, task_id: str, task: Any) -> Task:
        return Task(
            task_id=task_id,
            data=task.model_dump(),
            upstream=task,
            user={"text": task.instruction, "persona": None, "ticket": None},
            gold=tuple(
                {
                    "action_id": f"{task_id}_{n}",
                    "name": action.name,
                    "arguments": action.kwargs,
                    "requestor": "assistant",
                    "kind": self.kind(action.name, "assistant"),
                }
                for n, action in enumerate(task.actions)
                if action.name != "respond"
            ),
            communicate=tuple(task.outputs),
            basis=("COMMUNICATE", "DB"),
        )


def _new_env(domain: str, index: int) -> Any:
    """A fresh upstream Env; its user is a person, who is never asked."""
    return importlib.import_module("tau_bench.envs").get_env(
        domain, user_strategy="human", user_model="", task_split=SPLIT, task_index=index
    )


def _upstream_verdict(domain: str, task: Task, log: Log, said: list[str]) -> Any:
    """By upstream's calculate_reward, which is called when a conversation is over."""
    env = _new_env(domain, int(task.task_id))
    action = importlib.import_module("tau_bench.types").Action
    for entry in log:
        # a call that ends the conversation would be graded at once; it changes nothing
        if entry["requestor"] == "assistant" and entry["name"] not in env.terminate_tools:
            env.step(action(name=entry["name"], kwargs=deepcopy(entry["arguments"])))
    env.actions += [action(name="respond", kwargs={"content": text}) for text in said]
    return env.calculate_reward()
