"""A suite with a living world in memory: a shop with one tool of every side-effect level.

- `look` (R0): all orders, the address and whether the account is closed
- `set_address` (R1): a repeat leaves the same state
- `add_order` (R2): accumulates, a repeat orders again; its reconcile read needs a before-read
- `close_account` (R2): a repeat is rejected
- `send_mail` (R3): nobody can see whether it was sent
- `confirm`: the user's own tool
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hfr_bench.errors import BadInputError
from hfr_bench.model.attempt import Observation
from hfr_bench.model.prereg import SourcePin, SuiteSelection
from hfr_bench.model.record import digest
from hfr_bench.model.task import (
    OracleStep,
    Probe,
    ReconcileContract,
    SealedTask,
    TaskSpec,
    ToolSpec,
)
from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.model.trial import Grade
from hfr_bench.ports.sandbox import Sandbox
from hfr_bench.ports.suite import Execution, UserAct
from hfr_bench.ports.user import UserTurn
from hfr_bench.testing import halves

SUITE = "shop"


def _contract(landed: str, *, needs_before: bool = False) -> ReconcileContract:
    return ReconcileContract(read="look", landed=landed, needs_before=needs_before)


TOOLS = (
    ToolSpec(name="look", level=SideEffect.READ),
    ToolSpec(
        name="set_address",
        level=SideEffect.IDEMPOTENT,
        identity_args=("to",),
        reconcile=_contract("address_is"),
    ),
    ToolSpec(
        name="add_order",
        level=SideEffect.QUERYABLE,
        identity_args=("item",),
        reconcile=_contract("order_added", needs_before=True),
    ),
    ToolSpec(
        name="close_account", level=SideEffect.QUERYABLE, reconcile=_contract("account_closed")
    ),
    ToolSpec(name="send_mail", level=SideEffect.IRREVERSIBLE, identity_args=("text",)),
)


def landed(
    predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
) -> Landed:
    """The shop's reconcile predicates; what cannot be decided is unknown."""
    if after is None:
        return Landed.UNKNOWN
    now = json.loads(after)
    if predicate == "address_is":
        done = now["address"] == arguments["to"]
    elif predicate == "account_closed":
        done = now["closed"]
    elif before is None:
        return Landed.UNKNOWN
    else:
        item = arguments["item"]
        done = now["orders"].count(item) > json.loads(before)["orders"].count(item)
    return Landed.COMMITTED if done else Landed.ABSENT


class ShopWorld:
    """The living shop. `log`: every execution as (operation_id, tool, actor, changed)."""

    def __init__(self, sealed: Mapping[str, SealedTask]) -> None:
        self.log: list[tuple[str, str, str, bool]] = []
        self.closed = False
        self._sealed = sealed
        self._task = ""
        self._state: dict[str, Any] = {}
        self.mails: list[str] = []

    def reset(self, task_id: str) -> str:
        self._task = task_id
        self._state = {"orders": [], "address": "", "closed": False, "confirmed": 0}
        self.log, self.mails = [], []
        return digest(self._state)

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, actor: str, operation_id: str
    ) -> Execution:
        before = json.dumps(self._state)
        error = self._run(tool, arguments)
        changed = ("shop",) if json.dumps(self._state) != before else ()
        self.log.append((operation_id, tool, actor, bool(changed)))
        body = f"Error: {error}" if error else self._answer(tool)
        seen = Observation(
            answered=True, status=200, body=body, payload=body, domain_error=bool(error)
        )
        return Execution(seen, changed, digest(self._state))

    def user(self, task_id: str, act: UserAct) -> "ShopUser":
        return ShopUser(self._sealed[task_id], act)

    def grade(self, said: Sequence[str]) -> Grade:
        """Met if the shop is just as the oracle leaves it, and what was wanted was said."""
        sealed = self._sealed[self._task]
        twin = ShopWorld(self._sealed)
        twin.reset(self._task)
        for n, step in enumerate(sealed.oracle):
            twin.execute(step.tool, step.arguments, actor=step.actor, operation_id=str(n))
        told = all(any(word in text for text in said) for word in sealed.say)
        met = twin._state == self._state and twin.mails == self.mails and told
        return Grade(official=float(met), goal_met=met, state_digest=digest(self._state))

    def close(self) -> None:
        self.closed = True

    def orders(self, item: str) -> int:
        """How often an item has been ordered."""
        return int(self._state["orders"].count(item))

    def _run(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Carry it out; returns a domain error, or nothing."""
        state = self._state
        match tool:
            case "look":
                pass
            case "set_address":
                state["address"] = arguments["to"]
            case "add_order" if not state["closed"]:
                state["orders"].append(arguments["item"])
            case "close_account" if not state["closed"]:
                state["closed"] = True
            case "send_mail":
                self.mails.append(arguments["text"])
            case "confirm":
                state["confirmed"] += 1
            case "add_order" | "close_account":
                return "the account is closed"
            case _:
                return f"no tool {tool}"
        return ""

    def _answer(self, tool: str) -> str:
        return json.dumps(self._state) if tool == "look" else json.dumps({"done": tool})


class ShopUser:
    """Confirms once for each of its own steps when spoken to, then ends the talk."""

    def __init__(self, sealed: SealedTask, act: UserAct) -> None:
        self._opening = sealed.opening
        self._mine = [step for step in sealed.oracle if step.actor == "user"]
        self._act = act

    def open(self) -> UserTurn:
        return UserTurn(self._opening)

    def reply(self, text: str) -> UserTurn:
        if not self._mine:
            return UserTurn("That is all.", over=True)
        step = self._mine.pop(0)
        return UserTurn(self._act(step.tool, step.arguments).body)


class ShopSuite:
    """Implements `ports.suite.Suite`. `tasks`: oracles by task id; default: `oracles(3)`."""

    name = SUITE

    def __init__(
        self,
        sandbox: Sandbox | None = None,
        tasks: Mapping[str, Sequence[OracleStep]] | None = None,
    ) -> None:
        self.worlds: list[ShopWorld] = []
        made = oracles(3) if tasks is None else tasks
        self._tasks = {task_id: task(task_id) for task_id in made}
        self._sealed = {task_id: sealed(task_id, steps) for task_id, steps in made.items()}

    def select(self, selection: SuiteSelection) -> tuple[TaskSpec, ...]:
        ids = selection.tasks or tuple(self._tasks)
        if unknown := [task_id for task_id in ids if task_id not in self._tasks]:
            raise BadInputError(f"the shop has no task {unknown[0]!r}")
        return tuple(self._tasks[task_id] for task_id in ids)

    def select_all(self) -> tuple[TaskSpec, ...]:
        """All tasks, in order."""
        return tuple(self._tasks.values())

    def sealed(self, task_id: str) -> SealedTask:
        return self._sealed[task_id]

    def pin(self, selection: SuiteSelection) -> SourcePin:
        tasks = self.select(selection)
        return SourcePin(
            suite=SUITE,
            distribution="hfr-bench",
            version="test",
            content_digest=digest([tool.model_dump(mode="json") for tool in TOOLS]),
            tasks=tuple(one.task_id for one in tasks),
            task_digests={one.task_id: one.source_digest for one in tasks},
        )

    def landed(
        self, predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
    ) -> Landed:
        return landed(predicate, before, after, arguments)

    def probes(self) -> tuple[Probe, ...]:
        return ()

    def open(self) -> ShopWorld:
        world = ShopWorld(self._sealed)
        self.worlds.append(world)
        return world

    def close(self) -> None:
        for world in self.worlds:
            world.close()


def agent_step(tool: str, **arguments: Any) -> OracleStep:
    """One call of the agent."""
    return OracleStep(actor="agent", tool=tool, arguments=arguments)


def oracles(n: int) -> dict[str, tuple[OracleStep, ...]]:
    """So many tasks: `shop/1` is reads and orders, each further one adds a level."""
    steps: tuple[OracleStep, ...] = (
        agent_step("look"),
        agent_step("add_order", item="tea"),
        agent_step("add_order", item="milk"),
    )
    more: Sequence[Callable[[], tuple[OracleStep, ...]]] = (
        lambda: (agent_step("set_address", to="Main St"),),
        lambda: (OracleStep(actor="user", tool="confirm"), agent_step("close_account")),
        lambda: (agent_step("send_mail", text="done"),),
    )
    made = {}
    for number in range(1, n + 1):
        made[f"{SUITE}/{number}"] = steps
        steps += more[number - 1]() if number <= len(more) else (agent_step("look"),)
    return made


def task(task_id: str, deadline_s: float = 600.0) -> TaskSpec:
    """The public half: the same tools for every task."""
    return halves.public(SUITE, task_id, "Keep shop.", TOOLS, deadline_s)


def sealed(task_id: str, steps: Sequence[OracleStep]) -> SealedTask:
    """The sealed half: the writes of the oracle are the expected effects."""
    return halves.sealed(SUITE, task_id, "Please serve me.", TOOLS, steps)
