"""Is a suite fit to be registered? Its controls on every task, and every tool's level, for real.

Oracle and nop run against the living world without model, strategy or faults. Levels and
reconcile predicates are tried at every write of the oracle: once, and once more.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from hfr_bench import plugins
from hfr_bench.lab.levels import refined
from hfr_bench.model.attempt import Observation
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.record import Record
from hfr_bench.model.task import OracleStep, SealedTask, TaskSpec, ToolSpec
from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.ports.agent import Agent, Message, ModelReply, Oracle, ToolReply, ToolRequest
from hfr_bench.ports.suite import Controlled, Declinable, Solved, Suite, World
from hfr_bench.ports.user import User, UserTurn


class ToolCheck(Record):
    """A tool's level, tried at the oracle's calls. `verdict`: tested, declared, or wrong.

    Repeats: `changed` the world, gave an `error`, or did `nothing`. Reconcile answers at sites
    where the write had landed and where it had not.
    """

    domain: str
    tool: str
    level: SideEffect
    verdict: str
    sites: int = 0
    changed: int = 0
    error: int = 0
    nothing: int = 0
    reconciled: dict[str, int] = {}
    problems: tuple[str, ...] = ()


class TaskCheck(Record):
    """A task's controls: the official verdict of oracle and nop."""

    task_id: str
    domain: str
    oracle: float
    nop: float
    changes: bool
    problems: tuple[str, ...] = ()


class SuiteCheck(Record):
    """Everything `validate` found. `untried`: tasks whose solution nobody knows."""

    suite: str
    source: str
    tasks: tuple[TaskCheck, ...]
    tools: tuple[ToolCheck, ...]
    untried: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        of_tasks = [problem for row in self.tasks for problem in row.problems]
        return (*of_tasks, *(problem for row in self.tools for problem in row.problems))


def validate(
    suite: Suite, selection: SuiteSelection, on_task: Callable[[int, int], None] | None = None
) -> SuiteCheck:
    """Check the selected tasks and all their tools. Raises InfrastructureError if a host dies."""
    tasks = suite.select(selection)
    pin = suite.pin(selection)
    world = suite.open()
    levels = _Levels(suite)
    rows = []
    try:
        unsolved = suite.unsolved(selection) if isinstance(suite, Solved) else ()
        for n, task in enumerate(tasks, 1):
            if task.task_id in unsolved:
                continue
            sealed = suite.sealed(task.task_id)
            found = _controls(world, task, sealed, _last_word(suite))
            if isinstance(suite, Controlled):
                own = suite.controls(task.task_id)
                found = found.model_copy(update={"problems": (*found.problems, *own)})
            rows.append(found)
            levels.try_out(world, task, sealed)
            if on_task is not None:
                on_task(n, len(tasks))
        for probe in suite.probes():
            for task in tasks:
                if task.task_id == probe.task_id:
                    levels.try_step(world, task, probe.steps, len(probe.steps) - 1)
    finally:
        world.close()
    source = f"{pin.distribution} {pin.version}"
    return SuiteCheck(
        suite=suite.name,
        source=source,
        tasks=tuple(rows),
        tools=levels.checks(),
        untried=tuple(unsolved),
    )


def _last_word(suite: Suite) -> tuple[OracleStep, ...]:
    """What the agent that does nothing says at its end, where a suite has an action for it."""
    return (suite.gives_up,) if isinstance(suite, Declinable) else ()


def _controls(
    world: World, task: TaskSpec, sealed: SealedTask, last: Sequence[OracleStep]
) -> TaskCheck:
    """Oracle and nop; `last`: how nop ends."""
    initial = world.reset(task.task_id)
    oracle, end = _play(world, task, sealed, "oracle")
    world.reset(task.task_id)
    nop, _ = _play(world, task, sealed, "nop", last)
    problems = []
    if oracle != 1.0:
        problems.append(f"{task.task_id}: the oracle scores {oracle:g}, not 1")
    if end != initial and nop != 0.0:
        problems.append(f"{task.task_id}: doing nothing scores {nop:g} although work is wanted")
    return TaskCheck(
        task_id=task.task_id,
        domain=task.domain,
        oracle=oracle,
        nop=nop,
        changes=end != initial,
        problems=tuple(problems),
    )


def _play(
    world: World,
    task: TaskSpec,
    sealed: SealedTask,
    name: str,
    last: Sequence[OracleStep] = (),
) -> tuple[float, str]:
    """Run a model-free agent on the reset world: the official verdict and the final state."""
    agent: Agent = plugins.find("agents", name)()

    def act(tool: str, arguments: Any) -> Observation:
        return world.execute(tool, arguments, actor="user", operation_id="user").observation

    runtime = _Unguarded(world, world.user(task.task_id, act))
    agent.run(task, runtime, Oracle(sealed.oracle, sealed.say))
    for step in last:
        runtime.tool(ToolRequest("last", step.tool, step.arguments))
    grade = world.grade(runtime.said)
    return grade.official, grade.state_digest


class _Unguarded:
    """A runtime without strategy, faults or model: tools go straight to the world."""

    def __init__(self, world: World, user: User) -> None:
        self.said: list[str] = []
        self._world = world
        self._user = user

    def model(self, messages: Sequence[Message], tools: Sequence[Any]) -> ModelReply:
        raise AssertionError("oracle and nop call no model")

    def tool(self, request: ToolRequest) -> ToolReply:
        done = self._world.execute(
            request.name, request.arguments, actor="agent", operation_id=request.call_id
        )
        return ToolReply(done.observation.body)

    def user_opens(self) -> UserTurn:
        return self._user.open()

    def user_replies(self, text: str) -> UserTurn:
        self.said.append(text)
        return self._user.reply(text)


class _Site:
    """What was seen of a tool, over all its calls in the oracles."""

    def __init__(self, spec: ToolSpec) -> None:
        self.spec = spec
        self.calls = 0
        self.refused = 0
        self.repeats: Counter[str] = Counter()
        self.reconciled: Counter[str] = Counter()
        self.problems: list[str] = []


class _Levels:
    """Plays every oracle once more, doubling each of the agent's calls at its place."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._sites: dict[tuple[str, str], _Site] = {}

    def try_out(self, world: World, task: TaskSpec, sealed: SealedTask) -> None:
        for tool in task.tools:
            self._sites.setdefault((task.domain, tool.name), _Site(tool))
        for n in range(len(sealed.oracle)):
            self.try_step(world, task, sealed.oracle, n)

    def try_step(self, world: World, task: TaskSpec, steps: Sequence[OracleStep], n: int) -> None:
        """Try the n-th step's tool where it stands; users' calls and R3 are left alone."""
        spec = task.tool(steps[n].tool) if steps[n].actor == "agent" else None
        if spec is not None:
            spec = refined(self._suite, spec, steps[n].arguments)
        if spec is None or spec.level is SideEffect.IRREVERSIBLE:
            return
        if spec.level.writes:
            self._write(world, task, steps, n, spec)
        else:
            self._read(world, task, steps, n, spec)

    def _write(
        self, world: World, task: TaskSpec, oracle: Sequence[OracleStep], n: int, spec: ToolSpec
    ) -> None:
        """At the n-th step: read, write, read, write again, and judge both."""
        site = self._sites[task.domain, spec.name]
        where = f"{task.domain}.{spec.name} in {task.task_id}"
        _replay(world, task, oracle[:n])
        arguments = oracle[n].arguments
        before = self._reconcile_read(world, spec, arguments)
        first = world.execute(spec.name, arguments, actor="agent", operation_id="first")
        if first.observation.domain_error:
            return  # a gold call that is refused by design tells nothing of repeats
        site.calls += 1
        after = self._reconcile_read(world, spec, arguments)
        self._reconcile(site, spec, arguments, before, after, where, bool(first.changed))
        second = world.execute(spec.name, arguments, actor="agent", operation_id="second")
        repeat = (
            "error"
            if second.observation.domain_error
            else "changed"
            if second.changed
            else "nothing"
        )
        site.repeats[repeat] += 1
        if spec.level is SideEffect.IDEMPOTENT and repeat != "nothing":
            site.problems.append(f"{where}: registered R1, but a repeat gave: {repeat}")

    def _read(
        self, world: World, task: TaskSpec, oracle: Sequence[OracleStep], n: int, spec: ToolSpec
    ) -> None:
        """Reads are tried where they stand, once a task: the world must not move."""
        site = self._sites[task.domain, spec.name]
        if site.calls >= 5:
            return
        site.calls += 1
        _replay(world, task, oracle[:n])
        done = world.execute(spec.name, oracle[n].arguments, actor="agent", operation_id="read")
        if done.observation.domain_error:
            site.refused += 1
        if done.changed:
            site.problems.append(
                f"{task.domain}.{spec.name} in {task.task_id}: registered R0, but changed "
                f"{done.changed[0]}"
            )

    def _reconcile_read(self, world: World, spec: ToolSpec, arguments: Any) -> str | None:
        contract = spec.reconcile
        if contract is None:
            return None
        done = world.execute(
            contract.read, contract.fill(arguments), actor="strategy", operation_id="read"
        )
        return done.observation.body

    def _reconcile(
        self,
        site: _Site,
        spec: ToolSpec,
        arguments: Any,
        before: str | None,
        after: str | None,
        where: str,
        changed: bool,
    ) -> None:
        """Committed after a write that changed the world; never committed where it had not run."""
        contract = spec.reconcile
        if contract is None:
            return
        known = before if contract.needs_before else None
        landed = self._suite.landed(contract.landed, known, after, arguments)
        missing = self._suite.landed(contract.landed, known, before, arguments)
        site.reconciled[f"landed:{landed}"] += 1
        site.reconciled[f"not landed:{missing}"] += 1
        if landed is Landed.ABSENT:
            site.problems.append(f"{where}: the reconcile read denies a write that landed")
        if changed and missing is Landed.COMMITTED:
            site.problems.append(f"{where}: the reconcile read confirms a write that never ran")

    def checks(self) -> tuple[ToolCheck, ...]:
        return tuple(_check(domain, site) for (domain, _), site in sorted(self._sites.items()))


def _check(domain: str, site: _Site) -> ToolCheck:
    """R2 is proved by any repeat that changed or was refused; R3 can only be declared."""
    spec, problems = site.spec, list(site.problems)
    if (
        spec.level is SideEffect.QUERYABLE
        and site.calls
        and not (site.repeats["changed"] or site.repeats["error"])
    ):
        problems.append(f"{domain}.{spec.name}: registered R2, but no repeat changed or failed")
    declared = spec.level is SideEffect.IRREVERSIBLE or site.calls == site.refused
    return ToolCheck(
        domain=domain,
        tool=spec.name,
        level=spec.level,
        verdict="wrong" if problems else "declared" if declared else "tested",
        sites=site.calls,
        changed=site.repeats["changed"],
        error=site.repeats["error"],
        nothing=site.repeats["nothing"],
        reconciled=dict(sorted(site.reconciled.items())),
        problems=tuple(problems),
    )


def _replay(world: World, task: TaskSpec, steps: Sequence[OracleStep]) -> None:
    world.reset(task.task_id)
    for step in steps:
        world.execute(step.tool, step.arguments, actor=step.actor, operation_id="replay")
