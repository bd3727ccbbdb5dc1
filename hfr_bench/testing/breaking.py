"""For what is broken from outside: a host that only pretends, and what a suite that bears it owes.

def test_my_suite_bears_what_it_says():
    check_bears(world, task_id, step)
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hfr_bench.errors import InfrastructureError
from hfr_bench.model.attempt import Observation
from hfr_bench.model.breakage import Breakage
from hfr_bench.model.task import OracleStep
from hfr_bench.ports.exposure import Exposed, Exposure, mark
from hfr_bench.ports.sandbox import (
    FaultyHost,
    FillDisk,
    HostFault,
    HostState,
    Kill,
    KillApp,
    LeaveFile,
    Limit,
    Partition,
    Pause,
    Protect,
    Restart,
    ShowModal,
    SkewClock,
    StopApp,
)
from hfr_bench.ports.suite import Execution, World
from hfr_bench.testing.conformance import ConformanceError

_WAIT_S = 60.0


def fault_of(what: Breakage, exposure: Exposure, match: str) -> HostFault:
    """What a sandbox is asked for, here and now."""
    match what:
        case Breakage.PAUSE:
            return Pause()
        case Breakage.STALL:
            return Pause(match, 0)
        case Breakage.CRASH:
            return Kill(match, 0)
        case Breakage.DISK_FULL:
            return FillDisk(exposure.scratch)
        case Breakage.OOM:
            return Limit(memory_mib=64)
        case Breakage.PARTITION:
            return Partition(exposure.peer, exposure.port)
        case Breakage.RESTART:
            return Restart()
        case Breakage.INDEX_LOCK:
            return LeaveFile(f"{exposure.repository}/.git/index.lock")
        case _:
            return _of_a_desktop(what, exposure)


def _of_a_desktop(what: Breakage, exposure: Exposure) -> HostFault:
    """As above, of those in `DESKTOP`."""
    match what:
        case Breakage.READ_ONLY:
            return Protect(exposure.folder)
        case Breakage.APP_KILLED:
            return KillApp(exposure.app)
        case Breakage.APP_FROZEN:
            return StopApp(exposure.app)
        case Breakage.MODAL:
            return ShowModal()
        case _:
            return SkewClock(exposure.clock, 86_400)


def check_bears(world: World, task_id: str, step: OracleStep) -> None:
    """Under all that the world says it bears, a call ends once that is undone, and all is well.

    `step`: a call to make. Afterwards the world is graded, and starts from where it started.
    Raises ConformanceError.
    """
    first = world.reset(task_id)  # it may have no host before
    if not isinstance(world, Exposed):
        raise ConformanceError("the world gives nobody its host")
    for what in sorted(world.exposure.bears):
        operation_id = f"check.{what}"
        world.host.inflict(fault_of(what, world.exposure, mark(operation_id)))
        try:
            _call_under(what, world, world.host, step, operation_id)
        except InfrastructureError as error:
            raise ConformanceError(f"{what}: {error}") from error
        finally:
            world.host.heal()
        left = world.host.look(world.exposure.scratch, mark(operation_id))
        if left.at_work or left.paused or left.cut or left.left or left.modal or left.protected:
            raise ConformanceError(f"{what}: undone, the host is {left}")
        world.grade(())
        if world.reset(task_id) != first:
            raise ConformanceError(f"{what}: afterwards the task starts from another state")


def _call_under(
    what: Breakage, world: World, host: FaultyHost, step: OracleStep, operation_id: str
) -> None:
    ended: list[Execution | InfrastructureError] = []

    def call() -> None:
        try:
            ended.append(
                world.execute(step.tool, step.arguments, actor="agent", operation_id=operation_id)
            )
        except InfrastructureError as error:
            ended.append(error)

    calling = threading.Thread(target=call, daemon=True)
    calling.start()
    calling.join(0.5 if what.halts else _WAIT_S)
    host.heal()
    calling.join(_WAIT_S)
    if not ended:
        raise ConformanceError(f"{what}: the call does not end once the fault is undone")
    if isinstance(ended[0], InfrastructureError):
        raise ConformanceError(f"{what}: the host did not bear it: {ended[0]}") from ended[0]


class PretendedHost:
    """A FaultyHost in memory. `inflicted`: all that was made; `state`: what it says of itself.

    Frozen (`Pause` without a pattern), it lets no `work` begin before it is healed. `obeys`: makes
    what it is told; `mends`: undoes it.
    """

    def __init__(self, *, obeys: bool = True, mends: bool = True) -> None:
        self.patience_s = 0.0
        self.inflicted: list[HostFault] = []
        self.healed = 0
        self.state = HostState(memory_mib=1024, free_kib=1000, oom_kills=0)
        self._well = self.state
        self._obeys, self._mends = obeys, mends
        self._free = threading.Event()
        self._free.set()
        self._made: list[HostFault] = []

    @property
    def standing(self) -> bool:
        return bool(self._made)

    def request(self, op: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """It is there to be broken: a test that works with it has taken the wrong fake."""
        raise AssertionError(f"a host that is only broken was asked for {op!r}")

    def close(self) -> None:
        self.heal()

    def inflict(self, fault: HostFault) -> None:
        self.inflicted.append(fault)
        self._made.append(fault)
        if not self._obeys:
            return
        if fault == Pause():
            self._free.clear()
            self.state = HostState(paused=True, memory_mib=1024)
        elif isinstance(fault, FillDisk):
            self.state = replace(self.state, free_kib=0)
        elif isinstance(fault, Restart):
            self.state = replace(self.state, restarted=True)
        elif isinstance(fault, LeaveFile):
            self._made.remove(fault)  # it stays by itself: nothing stands
            self.state = replace(self.state, left=True)
        elif isinstance(fault, KillApp | StopApp):
            stopped = int(isinstance(fault, StopApp))
            self.state = replace(self.state, app=1, app_stopped=stopped)
        elif isinstance(fault, Protect):
            self.state = replace(self.state, protected=True)
        elif isinstance(fault, ShowModal):
            self._made.remove(fault)  # it stays by itself, too
            self.state = replace(self.state, modal=True)
        elif isinstance(fault, SkewClock):
            self.state = replace(self.state, skew_s=fault.offset_s)
        elif isinstance(fault, Pause | Kill):
            self.state = HostState(watched=True, memory_mib=1024, free_kib=1000, oom_kills=0)

    def heal(self, *, everything: bool = True) -> None:
        self.healed += bool(self._made)
        self._made.clear()
        if self._mends:
            left = self.state.left and not everything
            modal = self.state.modal and not everything
            self.state = replace(self._well, left=left, modal=modal)
        self._free.set()

    def look(self, path: str, match: str) -> HostState:
        return self.state

    def work(self) -> None:
        """What a tool does there: waits while the host is frozen."""
        self._free.wait()


class PretendedWorld:
    """An exposed world with one tool. `log`: the operations that were carried out, in order."""

    def __init__(
        self,
        host: PretendedHost,
        bears: frozenset[Breakage] = frozenset(Breakage),
        answer: Callable[[], Observation] | None = None,
    ) -> None:
        self.host = host
        self.exposure = Exposure(
            bears,
            "/scratch",
            "peer",
            80,
            "/repository",
            folder="/folder",
            app="program",
            clock="/clock",
            screen=True,
        )
        self.log: list[str] = []
        self._answer = answer or (lambda: Observation(answered=True, status=200, body="real"))

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, actor: str, operation_id: str
    ) -> Execution:
        self.host.work()
        self.log.append(operation_id)
        return Execution(self._answer(), ("row",), "state")
