"""The fault gateway alone: a schedule between any agent and its model server (DESIGN §4).

The agent has a runtime of its own: it is the system under test, and nobody guards it. Where it is
in its trial is inferred from its requests; what it met is told by them (`faults.blackbox`).

    agent ~~ gateway(injector, cursor) ~~ model server
                     └─ log: every request, before its answer goes out
"""

import hashlib
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Literal, NamedTuple, Protocol, Self
from urllib.parse import urlsplit

from hfr_bench import __version__, content, plugins
from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.faults.blackbox import Seen, summed
from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.dialects import MODEL_DIALECTS
from hfr_bench.faults.generate import Draw, generate
from hfr_bench.lab.clock import WallClock
from hfr_bench.lab.killswitch import SIGNAL, KillSwitch, check_ours
from hfr_bench.lab.program import Program, environment
from hfr_bench.model.gateway import (
    Ending,
    GatewayClosed,
    GatewayLine,
    GatewayOpened,
    GatewaySummary,
    SwitchedOff,
)
from hfr_bench.model.prereg import ModelPins
from hfr_bench.model.record import digest, text_digest
from hfr_bench.model.schedule import FaultSchedule
from hfr_bench.model.task import FaultPoint, SealedTask
from hfr_bench.model.terms import Layer
from hfr_bench.model.trace import Body, UpstreamHit
from hfr_bench.ports.injector import Scene, WireInjector
from hfr_bench.ports.llm import LlmBackend

TRIAL = "agent"
POINT = "model:agent"
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")

Happening = Literal["asked", "command", "switch", "log"]


class _Gateway(WireInjector, Protocol):
    """The gateway plug, as it is used here."""

    def wake(self, trial_id: str) -> None: ...


class Sampled(NamedTuple):
    """A schedule to be drawn: what its chance is keyed by. `steps`: model calls that it covers."""

    matrix: str = "wire"
    rate: float = 0.2
    suite: str = "black-box"
    task_id: str = "task"
    seed: int = 1
    steps: int = 60

    def schedule(self) -> FaultSchedule:
        """Drawn as every schedule is. Raises BadInputError for an unknown matrix."""
        draw = Draw(self.suite, self.task_id, self.seed, f"{self.matrix}-{self.rate}", self.rate)
        point = FaultPoint(point=POINT, layer=Layer.MODEL, target="agent")
        matrix = content.matrix(self.matrix)
        return generate(draw, [point], matrix, content.kinds(), self.steps)


@dataclass(frozen=True, slots=True)
class Setup:
    """What a gateway of its own is started with.

    `upstream`: the model server, on loopback; "" = the stand-in, which plays `rehearse`.
    `coordinates`: the upstream is a rehearsal server, which is told them. `port` 0 = a free one.
    `command`: the agent, if it is to be started, in `cwd`, bounded by `timeout_s`.
    """

    schedule: FaultSchedule
    log: Path
    upstream: str = ""
    rehearse: SealedTask | None = None
    coordinates: bool = False
    port: int = 0
    command: tuple[str, ...] = ()
    timeout_s: float | None = None
    cwd: Path | None = None


class GatewayLog:
    """The log's only writer; may be told from any thread. A file that is there is never touched.

    Raises BadInputError on construction. `error`: why a line could not be written.
    """

    def __init__(self, path: Path, clock: WallClock, on_error: Callable[[], None]) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL, 0o644)
        except FileExistsError as error:
            raise BadInputError(f"--log {path}: there is one already; name another") from error
        except OSError as error:
            raise BadInputError(f"--log {path}: {error.strerror or error}") from error
        self.requests: list[Seen] = []
        self.error: OSError | None = None
        self._clock = clock
        self._on_error = on_error
        self._lock = threading.Lock()
        self._seq, self._prev = 0, ""

    def write(self, body: GatewayOpened | UpstreamHit | SwitchedOff | GatewayClosed) -> None:
        with self._lock:
            self._seq += 1
            line = GatewayLine(seq=self._seq, t_us=self._clock.now_us(), prev=self._prev, body=body)
            if isinstance(body, UpstreamHit):
                self.requests.append(Seen(body, line.t_us))
            text = line.dumps().encode()
            self._prev = hashlib.sha256(text).hexdigest()
            try:
                os.write(self._fd, text + b"\n")
            except OSError as error:
                self.error = self.error or error
                self._on_error()

    def tell(self, body: Body) -> None:
        """As an injector tells."""
        assert isinstance(body, UpstreamHit)
        self.write(body)

    def close(self) -> None:
        os.close(self._fd)


@dataclass(slots=True)
class Standing:
    """A gateway that is up. Leave the `with` block to end it."""

    setup: Setup
    happenings: "queue.SimpleQueue[Happening]" = field(default_factory=queue.SimpleQueue)
    base_url: str = ""
    _clock: WallClock = field(default_factory=WallClock)
    _switch: KillSwitch = field(default_factory=KillSwitch)
    _stack: ExitStack = field(default_factory=ExitStack)
    _log: GatewayLog = field(init=False)
    _gateway: _Gateway = field(init=False)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._open(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self, stack: ExitStack) -> None:
        setup, kinds = self.setup, content.kinds()
        told = setup.coordinates or setup.rehearse is not None
        self._gateway = plugins.find("injectors", "model_gateway")(
            forward_coordinates=told, dialects=MODEL_DIALECTS, port=setup.port
        )
        self._check_playable(self._gateway.kinds())
        upstream = self._upstream(stack)
        check_ours(upstream, "the model server")
        stack.callback(self._gateway.stop)
        try:
            self._gateway.start(upstream)
        except ValueError as error:
            raise BadInputError(f"--upstream: {error}") from error
        self._log = GatewayLog(setup.log, self._clock, lambda: self.happenings.put("log"))
        stack.callback(self._log.close)
        self._log.write(self._opened(upstream, told))
        schedule = setup.schedule
        labels = {"suite": schedule.suite, "task": schedule.task_id, "seed": str(schedule.seed)}
        cursor = Cursor(schedule.events, (Layer.MODEL,))
        scene = Scene(TRIAL, cursor, kinds, self._clock, self._log.tell, labels)
        self.base_url = self._gateway.enter(self._switch.scene(scene))
        stack.callback(self._gateway.leave, TRIAL)

    def _check_playable(self, played: frozenset[str]) -> None:
        planned = {e.kind for e in self.setup.schedule.events if e.layer is Layer.MODEL}
        if missing := sorted(planned - played):
            raise BadInputError(
                f"schedule: the fault kind {missing[0]!r} is not played in every dialect of the "
                f"model's wire; those that are: {', '.join(sorted(played))}"
            )

    def _upstream(self, stack: ExitStack) -> str:
        """The model server's base URL; the stand-in is started for a task of its own."""
        task = self.setup.rehearse
        if task is None:
            return self.setup.upstream
        pins = ModelPins()
        # Never in error: what it mistyped would be carried out by somebody else's shell.
        rates = {name: 1.0 for name in (pins.agent, pins.backup) if name}
        backend: LlmBackend = plugins.find("llms", "rehearsal")(rates=rates)
        stack.callback(backend.stop)
        return backend.start([task])

    def _opened(self, upstream: str, told: bool) -> GatewayOpened:
        setup, schedule = self.setup, self.setup.schedule
        parts = urlsplit(upstream)  # whatever name and password it holds stay out
        return GatewayOpened(
            harness_version=__version__,
            upstream=f"{parts.scheme}://{parts.hostname}:{parts.port}{parts.path}",
            origin="rehearsal" if told else "unknown",
            suite=schedule.suite,
            task_id=schedule.task_id,
            seed=schedule.seed,
            schedule_id=schedule.schedule_id,
            schedule_digest=text_digest(schedule.dumps()),
            kinds_digest=content.kinds_digest(),
            program=Path(setup.command[0]).name if setup.command else "",
            command_digest=digest(list(setup.command)) if setup.command else "",
        )

    def switch_off(self) -> None:
        """The kill switch: no further fault, no stall goes on; requests go through. Idempotent."""
        if not self._switch.pulled:
            self._switch.pull()
            self._gateway.wake(TRIAL)
            self._log.write(SwitchedOff())

    def close(self, ended: Ending, exit_code: int | None = None) -> GatewaySummary:
        """Let the trial leave and write the last line. Raises InfrastructureError if the log fails.

        Requests under way are waited for a few seconds.
        """
        self._gateway.leave(TRIAL)
        found = summed(
            self._log.requests,
            self.setup.schedule,
            content.kinds(),
            switched_off=self._switch.pulled,
        )
        update = {"ended": ended, "exit_code": exit_code, "lasted_us": self._clock.now_us()}
        summary = found.model_copy(update=update)
        self._log.write(GatewayClosed(summary=summary))
        if (error := self._log.error) is not None:
            raise InfrastructureError(
                f"{self.setup.log}: the log could not be written: {error.strerror or error}; "
                "what was measured is not whole"
            )
        return summary


def stand(setup: Setup, up: Callable[[Standing], None]) -> GatewaySummary:
    """Run a gateway until it is told to end (^C, SIGTERM), or its command has ended.

    `up`: called once it listens. Installs signal handlers (the main thread's business) while it
    runs: SIGUSR1 is the kill switch. Raises BadInputError, InfrastructureError.
    """
    with Standing(setup) as standing, _signals(standing.happenings):
        up(standing)
        if not setup.command:
            return standing.close(_wait(standing, None))
        env = environment(standing.base_url, KEYS if setup.rehearse is not None else ())
        program = Program(setup.command, env, lambda: standing.happenings.put("command"), setup.cwd)
        try:
            ended = _wait(standing, setup.timeout_s)
        finally:
            program.end()
        return standing.close(ended, program.exit_code if ended == "command" else None)


def _wait(standing: Standing, timeout_s: float | None) -> Ending:
    """Until something ends it."""
    left = None if timeout_s is None else _countdown(timeout_s)
    while True:
        try:
            happened = standing.happenings.get(timeout=None if left is None else left())
        except queue.Empty:
            return "timeout"
        match happened:
            case "switch":
                standing.switch_off()
            case "log":
                return "failed"
            case _:
                return happened


def _countdown(timeout_s: float) -> Callable[[], float]:
    """How many seconds are left, from now on; never negative."""
    clock = WallClock()
    return lambda: max(0.0, timeout_s - clock.now_us() / 1e6)


@contextmanager
def _signals(happenings: "queue.SimpleQueue[Happening]") -> Iterator[None]:
    """Signals become happenings. Outside the main thread there are none to be had."""
    wanted: Mapping[str, Happening] = {**dict.fromkeys(_ENDING, "asked"), SIGNAL: "switch"}
    before: dict[int, Any] = {}

    def handler(what: Happening) -> Callable[[int, FrameType | None], None]:
        return lambda _number, _frame: happenings.put(what)

    if threading.current_thread() is threading.main_thread():
        for name, what in wanted.items():
            if (number := getattr(signal, name, None)) is not None:
                before[number] = signal.signal(number, handler(what))
    try:
        yield
    finally:
        for number, old in before.items():
            with suppress(TypeError):  # a handler that was not Python's
                signal.signal(number, old)
