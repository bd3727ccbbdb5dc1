"""Names -> living objects: the only user of `plugins`. A bench is opened once an experiment."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from hfr_bench import plugins
from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.faults.ledgers import DIALECT as LEDGER
from hfr_bench.lab.book import ScheduleBook
from hfr_bench.lab.fitting import either_way, let_loose, service
from hfr_bench.lab.human import PricedHuman
from hfr_bench.lab.injecting import Nested, check_borne, own_injectors
from hfr_bench.lab.killswitch import KillSwitch, check_contained
from hfr_bench.lab.offer import Faults
from hfr_bench.lab.offer import faults as faults_of
from hfr_bench.lab.sampling import Drawn, resolved
from hfr_bench.lab.seeds import told
from hfr_bench.lab.taping import ForUsers
from hfr_bench.model.prereg import Arm, Preregistration, SourcePin, SuiteSelection
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import FaultSchedule, KindSpec
from hfr_bench.model.task import SealedTask, TaskSpec
from hfr_bench.model.terms import ClockKind, Criticality, Origin
from hfr_bench.owner import run_id, this_process
from hfr_bench.ports.agent import Agent
from hfr_bench.ports.injector import CallInjector, WireInjector
from hfr_bench.ports.llm import LlmBackend
from hfr_bench.ports.sandbox import Sandbox, SandboxContext
from hfr_bench.ports.strategy import Strategy
from hfr_bench.ports.suite import Suite, World
from hfr_bench.ports.verifier import Checked
from hfr_bench.recovery.kit import Kit

GATEWAY = "model_gateway"
TOOLS = "tool_calls"
ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Place:
    """What a registration does not fix: where things lie and run on this machine.

    `folder`: the experiment's, names the run. `sandbox`: instead of the registered one (every
    trace says which it was). `data_dirs`: a suite's upstream checkout, by suite. `record`: keep a
    live model's responses. `replay`: a live experiment's folder, whose kept ones play the model.
    `seeds`: by suite, of those that are committed to; none: the suite finds it.
    """

    folder: Path = field(default_factory=Path)
    sandbox: str | None = None
    data_dirs: Mapping[str, Path] = field(default_factory=dict)
    tell: Callable[[str], None] = lambda _line: None
    record: bool = True
    replay: Path | None = None
    seeds: Mapping[str, str] = field(default_factory=dict)


class Bench(AbstractContextManager["Bench"]):
    """Everything an experiment runs on. Suites open lazily; servers with `serve`.

    `strategies`: a user's own by name, for trying out; what is frozen and run names plugs only.
    `faults`: kinds and matrix; None = those on offer here.
    Raises BadInputError on construction for names that nobody offers.
    """

    def __init__(
        self,
        prereg: Preregistration,
        book: ScheduleBook | None = None,
        place: Place | None = None,
        strategies: Mapping[str, Callable[..., Strategy]] | None = None,
        faults: Faults | None = None,
    ) -> None:
        self.prereg = prereg
        self._book = book or ScheduleBook()
        self.place = place or Place()
        self.switch = KillSwitch(self.place.tell)
        self.interrupted = self.switch.event
        self._steady: dict[tuple[str, str], str] = {}
        own = strategies or {}
        self._stack = ExitStack()
        self._sandboxes: dict[str, Sandbox] = {}
        self._suites: dict[str, Suite] = {}
        self._agent_plug = plugins.find("agents", prereg.agent)
        self._strategy_plugs = {
            arm.strategy: own.get(arm.strategy) or plugins.find("strategies", arm.strategy)
            for arm in prereg.arms
        }
        self._open_suites()
        plug, settings = service(prereg, self.place.replay)
        self.backend: LlmBackend = configured(plug, "model.config", **settings)
        self.faults = faults or faults_of(prereg.faults, self.place.folder)
        self.kinds: Mapping[str, KindSpec] = self.faults.kinds
        self.upstream = ""
        # Not what schedules are keyed by: a strategy's own draws must not tell it its faults.
        self._chance_salt = text_digest(f"strategy\0{prereg.digest()}")
        self._check()

    def __exit__(self, *_: object) -> None:
        self.switch.pull()  # so that a late signal does not break into the cleaning up
        try:
            self._stack.close()
        finally:
            self.switch.disarm()

    def _open_suites(self) -> None:
        """Each suite with a sandbox of its own."""
        prereg, place, name = self.prereg, self.place, self.sandbox_name
        plug = plugins.find("sandboxes", name)
        settings = prereg.sandbox_config if name == prereg.sandbox else {}
        context = SandboxContext(
            run_id(place.folder, prereg.digest()), this_process(), tell=place.tell
        )
        if unknown := sorted(set(place.data_dirs) - {s.suite for s in prereg.suites}):
            raise BadInputError(f"--data-dir: no suite {unknown[0]!r} is registered here")
        for selection in prereg.suites:
            if selection.suite in self._suites:
                raise BadInputError(f"suite {selection.suite!r} is listed twice; join its tasks")
            sandbox: Sandbox = configured(plug, f"sandbox_config ({name})", context, **settings)
            self._sandboxes[selection.suite] = sandbox
            self._stack.callback(sandbox.close)
            self._suites[selection.suite] = make_suite(
                told(selection, place.seeds), sandbox, place.data_dirs.get(selection.suite)
            )

    def reap(self) -> tuple[str, ...]:
        """Remove what a killed run of this experiment has left; returns the names."""
        # One engine, one run: the first sandbox sees what all of them made.
        return next(iter(self._sandboxes.values())).reap()

    def abort(self) -> None:
        """End every tool host now: what is at work stops, and is neither graded nor void."""
        self.switch.pull()
        for sandbox in self._sandboxes.values():
            sandbox.close()
        self.switch.heal()

    def check_steady(self, suite: str, task_id: str, state: str) -> None:
        """A task must start from the same state in every trial, whichever host it runs on.

        Raises InfrastructureError if it does not.
        """
        first = self._steady.setdefault((suite, task_id), state)
        if state != first:
            raise InfrastructureError(
                f"{task_id} starts from state {state[:12]} here, and from {first[:12]} before"
            )

    def serve(self) -> Self:
        """Start model server and gateway. Raises BadInputError for what is beyond our reach."""
        self._check_contained()
        self.switch.arm()
        sealed = self._all_sealed() if self.prereg.origin is Origin.REHEARSAL else ()
        self._stack.callback(self.backend.stop)
        self.upstream = self.backend.start(sealed)
        for suite in self._suites.values():
            if connect := getattr(suite, "connect", None):  # its user is played by a model
                connect(ForUsers(self.backend), self.upstream)
        self._stack.callback(self.gateway.stop)
        self.gateway.start(self.upstream)
        return self

    # -- what a trial asks for ----------------------------------------------------------------

    @cached_property
    def gateway(self) -> WireInjector:
        ours = self.prereg.origin is Origin.REHEARSAL or self.place.replay is not None
        gateway: WireInjector = plugins.find("injectors", GATEWAY)(
            forward_coordinates=ours, kinds=self.kinds
        )
        return self.switch.wire(gateway)

    @cached_property
    def tool_injector(self) -> CallInjector:
        ours = (
            plugins.find("injectors", TOOLS)(self.kinds),
            plugins.find("injectors", ENVIRONMENT)(),
        )
        own = own_injectors(self.faults).values()
        for injector in own:
            self._stack.callback(getattr(injector, "stop", lambda: None))
        return self.switch.calls(Nested((*own, *ours)))

    @cached_property
    def drawn(self) -> tuple[Drawn, ...]:
        """The registered selections, their samples drawn."""
        return tuple(resolved(s, self._suites[s.suite]) for s in self.prereg.suites)

    @cached_property
    def tasks(self) -> dict[tuple[str, str], TaskSpec]:
        """All registered tasks, in the registered order."""
        return {
            (selection.suite, task.task_id): task
            for selection, _ in self.drawn
            for task in self._suites[selection.suite].select(selection)
        }

    @cached_property
    def pins(self) -> tuple[SourcePin, ...]:
        return tuple(self._suites[s.suite].pin(s) for s, _ in self.drawn)

    def task(self, suite: str, task_id: str) -> TaskSpec:
        return self.tasks[suite, task_id]

    def sealed(self, suite: str, task_id: str) -> SealedTask:
        return self._suites[suite].sealed(task_id)

    def suite(self, name: str) -> Suite:
        return self._suites[name]

    @property
    def sandbox_name(self) -> str:
        """Where tools run: as registered, or as asked for in its place."""
        return self.place.sandbox or self.prereg.sandbox

    def sandbox_of(self, suite: str) -> Sandbox:
        return self._sandboxes[suite]

    def source(self, suite: str) -> str:
        pin = next(pin for pin in self.pins if pin.suite == suite)
        return f"{pin.distribution} {pin.version}"

    def schedule(self, schedule_id: str) -> FaultSchedule:
        return self._book.schedule(schedule_id)

    def arm(self, name: str) -> Arm:
        return next(arm for arm in self.prereg.arms if arm.name == name)

    def agent(self) -> Agent:
        agent: Agent = self._agent_plug()
        return agent

    def human(self) -> PricedHuman:
        return PricedHuman(self.prereg.human)

    def strategy(
        self, arm: Arm, task: TaskSpec | None = None, seed: int = 0, tenant: str = "default"
    ) -> Strategy:
        """A strategy for one trial. Raises ValueError for a setting it does not know."""
        models = self.prereg.model
        ladder = arm.equipment.ladder
        kit = Kit(
            equipment=arm.equipment,
            substitutes=either_way(models.agent, models.backup) if ladder else {},
            chance_key=(self._chance_salt, task.suite, task.task_id, seed) if task else (),
            criticality=task.criticality if task else Criticality.MEDIUM,
            lower={models.agent: (models.cheap,)} if ladder and models.cheap else {},
            quality_floor=task.quality_floor if task else 0.0,
            task_id=task.task_id if task else "",
            tenant=tenant,
            breaker_tenant=tenant if self.prereg.cohorts else "",
        )
        strategy: Strategy = self._strategy_plugs[arm.strategy](arm.config, kit)
        return let_loose(strategy, kit)

    # -- checks -------------------------------------------------------------------------------

    def _check(self) -> None:
        """What can be known to be wrong before anything is started."""
        names = [arm.name for arm in self.prereg.arms]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise BadInputError(f"arms: the name {twice[0]!r} is used twice")
        for role, name in (
            ("analysis.baseline", self.prereg.analysis.baseline),
            ("controls.arm", self.prereg.controls.arm),
            *((f"hypotheses.{h.id}.arm", h.arm) for h in self.prereg.hypotheses),
            *((f"hypotheses.{h.id}.against", h.against) for h in self.prereg.hypotheses),
        ):
            if name is not None and name not in names:
                raise BadInputError(f"{role}: no arm {name!r}; there are: {', '.join(names)}")
        for arm in self.prereg.arms:
            unchecked = [name for name, s in self._suites.items() if not isinstance(s, Checked)]
            if arm.equipment.verifier and unchecked:
                raise BadInputError(
                    f"arms.{arm.name}.equipment.verifier: the suite {unchecked[0]!r} ships no "
                    "strategy-side checks"
                )
            try:
                self.strategy(arm)
            except ValueError as error:
                raise BadInputError(f"arms.{arm.name}: {error}") from error
        self._check_origin()

    def _check_origin(self) -> None:
        prereg = self.prereg
        if self.backend.origin is not prereg.origin:
            raise BadInputError(
                f"origin: {prereg.origin} is registered, but the llm {prereg.model.llm!r} makes "
                f"{self.backend.origin} numbers; the two are never mixed"
            )
        if prereg.origin is Origin.LIVE and prereg.clock is ClockKind.VIRTUAL:
            raise BadInputError("clock: live runs need `clock: wall`")

    def check_answered(self) -> None:
        """Every kind of the registered matrix must have an injector that plays it."""
        matrix, bursts = self.faults.matrix, self.prereg.faults.bursts
        self._check_latencies(self.faults.named)
        self._check_contained()
        played = self.gateway.kinds() | self.tool_injector.kinds()
        played |= {name for name, kind in self.kinds.items() if LEDGER in kind.wire}
        for mix in matrix.mixes:
            if missing := sorted(set(mix.kinds) - played):
                raise BadInputError(
                    f"faults.matrix {matrix.name!r}: no injector plays {missing[0]!r}; "
                    f"played are: {', '.join(sorted(played))}"
                )
        if missing := sorted({name for burst in bursts for name in burst.kinds} - played):
            raise BadInputError(
                f"faults.bursts: no injector plays {missing[0]!r}; played are: "
                f"{', '.join(sorted(played))}"
            )

    def _check_contained(self) -> None:
        """What is done to the tools' machine is done in a container, never here."""
        names = self.faults.named
        check_contained(self.kinds, names, self._sandboxes.values())
        suites = [(suite, self._sandboxes[name]) for name, suite in self._suites.items()]
        check_borne(self.kinds, names, suites, self.prereg.clock)

    def _check_latencies(self, names: set[str]) -> None:
        """A failing answer slower than the timeout would be seen as a timeout, not as declared."""
        limits = self.prereg.limits
        if self.prereg.tool_price.latency_s >= limits.tool_timeout_s:
            raise BadInputError("tool_price.latency_s: must be below limits.tool_timeout_s")
        timeout_ms = 1000 * min(limits.model_timeout_s, limits.tool_timeout_s)
        for name in sorted(names & set(self.kinds)):
            if self.kinds[name].latency_ms >= timeout_ms:
                raise BadInputError(
                    f"limits: the fault kind {name!r} answers after {self.kinds[name].latency_ms} "
                    f"ms, which is past the shortest timeout ({timeout_ms:g} ms)"
                )

    def _all_sealed(self) -> tuple[SealedTask, ...]:
        return tuple(self.sealed(suite, task_id) for suite, task_id in self.tasks)


@contextmanager
def open_suite(
    name: str, place: Place, default: str = "process", config: Mapping[str, Any] | None = None
) -> Iterator[tuple[Suite, Sandbox]]:
    """A suite by itself, outside any experiment, and its sandbox, which is closed behind it."""
    sandbox_name = place.sandbox or default
    context = SandboxContext(run_id(place.folder, f"suite {name}"), this_process(), place.tell)
    sandbox: Sandbox = plugins.find("sandboxes", sandbox_name)(context)
    try:
        sandbox.reap()
        data_dir = place.data_dirs.get(name)
        selection = SuiteSelection(suite=name, config=dict(config or {}))
        yield make_suite(selection, sandbox, data_dir), sandbox
    finally:
        sandbox.close()


def make_suite(selection: SuiteSelection, sandbox: Sandbox, data_dir: Path | None = None) -> Suite:
    """A suite in its sandbox. Raises BadInputError for a setting that it does not know."""
    settings = selection.config | ({} if data_dir is None else {"data_dir": data_dir})
    suite: Suite = configured(
        plugins.find("suites", selection.suite), f"suite {selection.suite}", sandbox, **settings
    )
    return suite


def configured(plug: Callable[..., Any], where: str, *parts: object, **settings: Any) -> Any:
    """Make a plug with a user's settings. Raises BadInputError naming those it does not know."""
    offered = inspect.signature(plug).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in offered.values())
    if not takes_all and (unknown := sorted(set(settings) - set(offered))):
        names = ", ".join(list(offered)[len(parts) :]) or "none"
        raise BadInputError(f"{where}: no setting {unknown[0]!r}; there are: {names}")
    return plug(*parts, **settings)


class WorkerScope(AbstractContextManager["WorkerScope"]):
    """What one worker thread owns: a world a suite, opened at first use."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._worlds: dict[str, World] = {}

    def world(self, suite: str) -> World:
        if suite not in self._worlds:
            self._worlds[suite] = self.bench.suite(suite).open()
        return self._worlds[suite]

    def drop_world(self, suite: str) -> None:
        """Forget a world whose host is gone; the next trial opens another."""
        world = self._worlds.pop(suite, None)
        if world is not None:
            world.close()

    def __exit__(self, *_: object) -> None:
        for suite in tuple(self._worlds):
            self.drop_world(suite)
