"""The `Suite` of the order desk: generated tasks, one tool host a world."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.model.attempt import Observation
from hfr_bench.model.breakage import Breakage
from hfr_bench.model.prereg import SourcePin, SuiteSelection
from hfr_bench.model.task import OracleStep, Probe, SealedTask, TaskSpec
from hfr_bench.model.terms import Landed
from hfr_bench.model.trial import Grade
from hfr_bench.ports.diagnosis import Diagnosis
from hfr_bench.ports.exposure import Exposure
from hfr_bench.ports.sandbox import FaultyHost, Sandbox, ToolHost
from hfr_bench.ports.suite import Execution, Regrown, UserAct
from hfr_bench.suites._scripted import ScriptedUser
from hfr_bench.suites.shopdesk import contracts, image
from hfr_bench.suites.shopdesk.catalog import SUITE, read_content, tools
from hfr_bench.suites.shopdesk.generate import Instance, seed_digest
from hfr_bench.suites.shopdesk.grown import Grown, how_many
from hfr_bench.suites.shopdesk.verifier import DeskVerifier

SEED = "HFR_BENCH_SHOPDESK_SEED"
"""Reveals the seed of a registered `seed_digest` without touching the registration."""

TIMEOUT_S = 30.0

EXPOSURE = Exposure(bears=frozenset({Breakage.PAUSE}))
"""The desk is in its host's memory: it outlives being frozen, and nothing that ends the host."""


class ShopdeskSuite:
    """Our own order desk: generated tasks over a real SQLite database, tools of levels R0 to R3.

    Implements `ports.suite.Suite`, `ports.suite.Committed` and `ports.verifier.Checked`. Settings:
    `seed` (a number or a text), `seed_digest` (commits to a seed that is given later, here or in
    $HFR_BENCH_SHOPDESK_SEED), `tasks` (how many). Pools: base, demo, low, medium, high.
    Raises BadInputError for settings that do not fit together.
    """

    name = SUITE
    exposure = EXPOSURE

    @staticmethod
    def diagnose() -> Diagnosis:
        """It needs nothing but Python."""
        return Diagnosis(True, "its tool host runs on Python's standard library")

    def __init__(
        self,
        sandbox: Sandbox,
        seed: int | str | None = None,
        tasks: int | None = None,
        seed_digest: str | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._count = how_many(tasks)
        self._seed = _seed(seed, seed_digest)
        self._committed = seed_digest
        self._checked = False

    @classmethod
    def regrown(cls, seed: str, selection: SuiteSelection) -> Regrown:
        """What a seed gives, without a host."""
        grown = Grown(seed, how_many(selection.config.get("tasks")))
        return Regrown(grown.pin(selection), grown.select(selection))

    @property
    def seed(self) -> str:
        """The seed's text. Raises BadInputError while only its digest is known."""
        if self._seed is None:
            raise BadInputError(
                f"suite {SUITE}: only the digest of its seed is registered "
                f"({str(self._committed)[:12]}…); reveal the seed in {SEED}"
            )
        return self._seed

    def select(self, selection: SuiteSelection) -> tuple[TaskSpec, ...]:
        self._check_host()
        return self._grown.select(selection)

    def sealed(self, task_id: str) -> SealedTask:
        return self._instances[task_id].sealed

    def pin(self, selection: SuiteSelection) -> SourcePin:
        self._check_host()
        return self._grown.pin(selection)

    def landed(
        self, predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
    ) -> Landed:
        return contracts.landed(predicate, before, after, arguments)

    def verifier(self, task: TaskSpec) -> DeskVerifier:
        """Strategy-side checks; they know what the agent knows: the public half of the task."""
        return DeskVerifier(task, contracts.landed)

    def probes(self) -> tuple[Probe, ...]:
        """Reads that not every set of tasks makes, tried in the first task that offers them."""
        found = []
        for tool, make in _PROBES.items():
            offering = (i for i in self._instances.values() if i.public.tool(tool) is not None)
            if (instance := next(offering, None)) is not None:
                row = instance.tables[make[0]][0]
                step = OracleStep(actor="agent", tool=tool, arguments={make[1]: row[make[2]]})
                found.append(Probe(task_id=instance.public.task_id, steps=(step,)))
        return tuple(found)

    def open(self) -> "DeskWorld":
        return DeskWorld(self._start(), self._instances)

    def close(self) -> None:
        self._sandbox.close()

    def _start(self) -> ToolHost:
        contained = self._sandbox.contained
        return self._sandbox.start(image.contained_command() if contained else image.host_command())

    def _check_host(self) -> None:
        """Start a host once before the first trial: its image is made, and it has our tools.

        Raises InfrastructureError if it has others.
        """
        if self._checked:
            return
        host = self._start()
        try:
            offered = host.request("hello", {}, TIMEOUT_S)["tools"]["agent"]
        finally:
            host.close()
        if set(offered) != set(tools()):
            odd = sorted(set(offered) ^ set(tools()))
            raise InfrastructureError(
                f"suites/{SUITE}/tools.yaml and the tool host do not agree on: {', '.join(odd)}"
            )
        self._checked = True

    @cached_property
    def _grown(self) -> Grown:
        return Grown(self.seed, self._count)

    @property
    def _instances(self) -> Mapping[str, Instance]:
        return self._grown.instances


_PROBES = {
    "find_customer": ("customers", "email", "email"),
    "get_customer": ("customers", "customer_id", "id"),
    "search_orders": ("orders", "customer_id", "customer_id"),
    "get_order": ("orders", "order_id", "id"),
    "search_products": ("products", "query", "sku"),
    "get_policy": ("policies", "topic", "topic"),
    "list_tickets": ("customers", "customer_id", "id"),
    "list_approvals": ("orders", "order_id", "id"),
}
"""By reading tool: the table whose first row it is tried with, its parameter, and the column."""


class DeskWorld:
    """One tool host: a living desk that is filled anew in place."""

    exposure = EXPOSURE

    def __init__(self, host: ToolHost, instances: Mapping[str, Instance]) -> None:
        self._host = host
        self._instances = instances
        self._open = ""

    @property
    def host(self) -> FaultyHost:
        """Where it lives; only a container's host can be broken."""
        return cast("FaultyHost", self._host)

    def reset(self, task_id: str) -> str:
        """The host is told the task's world, and nothing of what is wanted of it."""
        instance = self._instances[task_id]
        fields = {"task_id": task_id, "tables": instance.tables}
        opened = self._host.request("open", fields, TIMEOUT_S)
        self._open = task_id
        return str(opened["state"])

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, actor: str, operation_id: str
    ) -> Execution:
        call = {"name": tool, "arguments": dict(arguments), "requestor": actor}
        done = self._host.request("call", call, TIMEOUT_S)
        body = done["content"]
        seen = Observation(
            answered=True, status=200, body=body, payload=body, domain_error=done["error"]
        )
        return Execution(seen, tuple(done["changed"]), done["state"])

    def user(self, task_id: str, act: UserAct) -> ScriptedUser:
        sealed = self._instances[task_id].sealed
        bye = "That is all, thank you."
        return ScriptedUser(sealed.opening, sealed.oracle, act, told="Decided", bye=bye)

    def grade(self, said: Sequence[str]) -> Grade:
        sealed = self._instances[self._open].sealed
        fields = {"wanted": sealed.grading, "say": list(sealed.say), "said": list(said)}
        graded = self._host.request("grade", fields, TIMEOUT_S)
        return Grade(
            official=graded["official"],
            goal_met=graded["official"] == 1.0,
            components=graded["components"],
            state_digest=graded["state"],
        )

    def close(self) -> None:
        self._host.close()


def _seed(seed: object, committed: object) -> str | None:
    """The seed's text; None if only its digest is known so far."""
    if committed is not None and not (
        isinstance(committed, str)
        and len(committed) == 64
        and set(committed) <= set("0123456789abcdef")
    ):
        raise BadInputError(
            f"suite {SUITE}: seed_digest must be the sha256 of the seed's text, 64 hex digits "
            "(printf %s SEED | sha256sum)"
        )
    where = "seed"
    if seed is None and committed is not None:
        where, seed = SEED, os.environ.get(SEED)
        if seed is None:
            return None
    elif seed is None:
        seed = read_content("suite")["seed"]
    if not isinstance(seed, int | str) or isinstance(seed, bool) or seed == "":
        raise BadInputError(f"suite {SUITE}: seed must be a number or a text, not {seed!r}")
    text = str(seed)
    if committed is not None and seed_digest(text) != committed:
        raise BadInputError(
            f"suite {SUITE}: {where} is not the seed that seed_digest commits to: its digest is "
            f"{seed_digest(text)[:12]}…, registered is {committed[:12]}…"
        )
    return text
