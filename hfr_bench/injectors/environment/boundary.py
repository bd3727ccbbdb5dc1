"""One trial's container: broken while attempts meet a planned event, whole for everybody else.

An attempt that meets an event finds its container broken and runs into it for real. A fault stands
until the next call that does not meet it, or until the trial ends; one that is given in seconds
ends with them, in the midst of a call if need be. A file that was left stays, whoever calls, until
somebody removes it or the trial ends. A call that got no answer in time is not forgotten: it goes
on when the fault is undone, and lands before anybody looks at the world again.
"""

import math
import threading
from dataclasses import dataclass, field
from typing import cast

from hfr_bench.errors import InfrastructureError
from hfr_bench.faults.shape import TIMEOUT, wire
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.breakage import DIALECT, Break, Breakage
from hfr_bench.model.schedule import FaultEvent
from hfr_bench.model.terms import ClockKind
from hfr_bench.model.trace import FaultInjected
from hfr_bench.ports.calls import CallPort, HostedPort, Underway
from hfr_bench.ports.clock import untimed
from hfr_bench.ports.exposure import Exposed, Exposure, mark
from hfr_bench.ports.injector import Scene
from hfr_bench.ports.sandbox import (
    FillDisk,
    HostDiedError,
    HostFault,
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

_LOOK_S = 0.05
_LANDS_S = 120.0  # real time that a late call is given once nothing holds it up any more
PATIENCE_S = 3600.0
"""How long a host under a fault may keep a request: the trial's own limits end it before."""


@dataclass(slots=True)
class HostBoundary:
    """Implements `CallPort` for one trial. Only one thread uses it."""

    inner: HostedPort
    scene: Scene
    exposed: Exposed
    _standing: Break | None = None
    _timer: "_Thaw | None" = None
    _met: list[tuple[Underway, bool]] = field(default_factory=list)  # and whether it is late
    _first_us: dict[str, int] = field(default_factory=dict)

    @classmethod
    def around(cls, inner: CallPort, scene: Scene) -> "HostBoundary":
        """Raises InfrastructureError where no host is to be had: freezing should have told."""
        if scene.exposed is None or not hasattr(inner, "start"):
            raise InfrastructureError(
                "a fault of the container is planned, and this world gives nobody its host"
            )
        scene.exposed.host.patience_s = PATIENCE_S
        return cls(cast("HostedPort", inner), scene, scene.exposed)

    def attempt(self, call: Call) -> Observation:
        event = self._event(call)
        if event is None:
            self.settle()
            return self.inner.attempt(call)
        effect = wire(event, self.scene.kinds[event.kind], DIALECT)
        assert isinstance(effect, Break)
        return self._meet(event, effect, call)

    def end(self) -> None:
        """The trial is over: as `settle`, and then nothing stays that was left."""
        self.settle(everything=True)

    def settle(self, *, everything: bool = False) -> None:
        """Undo what stands, let land what is late, and see that nothing is left at work.

        In nobody's time. Raises HostDiedError where that fails: such a host is not used again.
        """
        try:
            with untimed(self.scene.clock):
                self._undo()
                if everything:
                    self.exposed.host.heal()
        except HostDiedError:
            raise
        except InfrastructureError as error:
            raise HostDiedError(f"the container is not whole after a fault: {error}") from error

    def _undo(self) -> None:
        timer, self._timer = self._timer, None
        met, self._met = self._met, []
        self._standing = None
        try:
            if timer is not None:
                timer.stop()
        finally:
            self.exposed.host.heal(everything=False)
        for call, late in met:
            if late:
                if not call.wait(_LANDS_S):
                    raise InfrastructureError(f"a late call did not end in {_LANDS_S:g} s")
                call.take()
            call.settle()

    def _event(self, call: Call) -> FaultEvent | None:
        """The event of ours that is live. What another injector held back (attempt 0) has none."""
        if call.attempt < 1:
            return None
        event = self.scene.cursor.at(
            call.point,
            call.occurrence,
            call.attempt,
            target=call.target,
            now_us=self.scene.clock.now_us(),
        )
        ours = event is not None and DIALECT in self.scene.kinds[event.kind].wire
        return event if ours else None

    def _meet(self, event: FaultEvent, effect: Break, call: Call) -> Observation:
        halts = effect.what.halts
        self.scene.tell(
            FaultInjected(
                injection_id=event.injection_id,
                kind=event.kind,
                effect_lands=True if halts else event.effect_lands,
            )
        )
        # What befalls one call alone must be made anew; anything else goes on standing.
        stands = self._standing == effect and self.exposed.host.standing
        if effect.what.once or not stands:
            self.settle()
            with untimed(self.scene.clock):
                self.exposed.host.inflict(_fault(effect, call, self.exposed.exposure))
            self._standing = effect
            self._time(event)
        began_us = self.scene.clock.now_us()
        running = self.inner.start(call)
        if self._ends(running, effect, call):
            seen = running.take()
            self._met.append((running, False))
            if effect.what.once:
                self.settle()
            return seen
        running.give_up()
        self._met.append((running, True))
        clock = self.scene.clock
        clock.wait(max(0, call.timeout_us - (clock.now_us() - began_us)))
        return Observation(answered=False, exception=TIMEOUT)

    def _ends(self, running: Underway, effect: Break, call: Call) -> bool:
        """Whether the call ends by itself before its client gives up.

        On the wall clock it has its timeout. On the virtual clock nobody waits for what is halted,
        and for the rest as long as their kind says.
        """
        if self.scene.clock.kind is ClockKind.WALL:
            return running.wait(call.timeout_us / 1_000_000)
        for _ in range(math.ceil(effect.wait_s / _LOOK_S)):
            if running.wait(_LOOK_S):
                return True
            if effect.what.halts:
                state = self.exposed.host.look(
                    self.exposed.exposure.scratch, mark(call.operation_id)
                )
                if state.paused or (state.stopped and state.struck):
                    return running.wait(0)
        return False

    def _time(self, event: FaultEvent) -> None:
        """A fault that lasts for seconds ends when they are over, whoever is waiting."""
        if event.lasts.unit != "seconds":
            return
        now_us = self.scene.clock.now_us()
        first_us = self._first_us.setdefault(event.injection_id, now_us)
        left_us = event.lasts.n * 1_000_000 - (now_us - first_us)
        self._timer = _Thaw(self.exposed, left_us / 1_000_000)


class _Thaw:
    """Undoes what stands in a container after a while."""

    def __init__(self, exposed: Exposed, after_s: float) -> None:
        self._exposed = exposed
        self._error: Exception | None = None
        self._over = threading.Event()
        self._after_s = after_s
        self._thread = threading.Thread(target=self._run, name="hfr-thaw", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Not later than now. Raises what the undoing raised."""
        self._over.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        if self._over.wait(self._after_s):
            return
        try:
            self._exposed.host.heal(everything=False)
        except Exception as error:  # noqa: BLE001 - the trial's own thread raises it
            self._error = error


def _fault(effect: Break, call: Call, exposure: Exposure) -> HostFault:
    """What the sandbox is asked for."""
    match effect.what:
        case Breakage.PAUSE:
            return Pause()
        case Breakage.STALL:
            return Pause(mark(call.operation_id), *_strike(effect, call, exposure))
        case Breakage.CRASH:
            return Kill(mark(call.operation_id), *_strike(effect, call, exposure))
        case Breakage.DISK_FULL:
            return FillDisk(exposure.scratch)
        case Breakage.OOM:
            return Limit(memory_mib=effect.memory_mib)
        case Breakage.PARTITION:
            return Partition(exposure.peer, exposure.port)
        case Breakage.RESTART:
            return Restart()
        case Breakage.INDEX_LOCK:
            return LeaveFile(f"{exposure.repository}/.git/index.lock")
        case _:
            return _of_a_desktop(effect, exposure)


def _of_a_desktop(effect: Break, exposure: Exposure) -> HostFault:
    """As above, of those in `DESKTOP`."""
    match effect.what:
        case Breakage.READ_ONLY:
            return Protect(exposure.folder)
        case Breakage.APP_KILLED:
            return KillApp(exposure.app)
        case Breakage.APP_FROZEN:
            return StopApp(exposure.app)
        case Breakage.MODAL:
            return ShowModal()
        case _:
            return SkewClock(exposure.clock, effect.offset_s)


def _strike(effect: Break, call: Call, exposure: Exposure) -> tuple[int, str]:
    """After how many milliseconds, and by which file the call waits for it, "" = it does not."""
    if not exposure.holds:
        return effect.after_ms, ""
    return exposure.held_ms, f"{exposure.holds}/{mark(call.operation_id)}"
