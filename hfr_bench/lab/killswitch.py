"""The kill switch and the blast radius: how injection is stopped, and where it never begins.

Pulled (`hfr-bench stop`, SIGUSR1, any interrupt), it stops all injection of a bench at once: no
cursor names an event any more, stalls at the gateway end, tool hosts are closed with whatever was
done to them. Trials that were at work are then without some of their faults, so none of them may
be graded: each ends where it is healed, as an interrupted trial does. It is no void (which would
use up a round of its pair group), its trace is kept aside, and the next run runs it again.
"""

import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.faults.cursor import Cursor
from hfr_bench.lab import runlog
from hfr_bench.lab.runlock import only_one
from hfr_bench.model.schedule import FaultEvent, KindSpec
from hfr_bench.model.terms import Layer
from hfr_bench.owner import is_gone
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.injector import CallInjector, Scene, WireInjector
from hfr_bench.ports.sandbox import Sandbox

SIGNAL = "SIGUSR1"
_POLL_S = 0.05
_TOOL = "tool"


class InjectionStopped(KeyboardInterrupt):
    """The switch was pulled by a signal; ends a run as ^C does."""


class InjectionStoppedError(InfrastructureError):
    """A trial was at work when the switch was pulled: it measures nothing."""


class KillSwitch:
    """One of a bench: everything that injects is made to heed it. Pulled once, it stays so.

    `event`: set when it is pulled. `why`: by whom, where that was not the end of the work itself.
    `tell`: takes a line for whoever watches.
    """

    def __init__(self, tell: Callable[[str], None] = lambda _line: None) -> None:
        self.event = threading.Event()
        self.why = ""
        self._tell = tell
        self._wires: list[_HeedingWire] = []
        self._armed = False

    @property
    def pulled(self) -> bool:
        return self.event.is_set()

    def pull(self) -> None:
        """No further fault from now on. Idempotent; safe from any thread and signal handler."""
        self.event.set()

    def heal(self) -> None:
        """End what the wire injectors are still doing. Not for signal handlers: it waits."""
        for wire in self._wires:
            wire.empty()

    def wire(self, inner: WireInjector) -> WireInjector:
        """A wire injector that heeds the switch, and stays within the blast radius."""
        made = _HeedingWire(inner, self)
        self._wires.append(made)
        return made

    def calls(self, inner: CallInjector) -> CallInjector:
        """A call injector that heeds the switch."""
        return _HeedingCalls(inner, self)

    def scene(self, scene: Scene) -> Scene:
        """The scene with a cursor that heeds the switch: for any injector of another kind."""
        return replace(scene, cursor=_HeedingCursor(scene.cursor, self))

    def arm(self) -> None:
        """From now on SIGUSR1 pulls the switch, and ends the main thread's work like ^C.

        Does nothing outside the main thread (Python gives signals to no other), where there is no
        such signal, and where somebody else already waits for it.
        """
        number = getattr(signal, SIGNAL, None)
        here = threading.current_thread() is threading.main_thread()
        if number is not None and here and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, self._on_signal)
            self._armed = True

    def disarm(self) -> None:
        """As it was before `arm`. Idempotent."""
        if self._armed:
            signal.signal(getattr(signal, SIGNAL), signal.SIG_DFL)
            self._armed = False

    def _on_signal(self, _number: int, _frame: object) -> None:
        if self.pulled:  # it is being ended already
            return
        self.pull()
        self.why = f"kill switch ({SIGNAL})"
        with suppress(RuntimeError, OSError):  # told in the midst of another line, or to nobody
            self._tell("kill switch: no further fault is injected; what was at work is not counted")
        raise InjectionStopped


class _HeedingCursor(Cursor):
    """Names no event once the switch is pulled. Shares the state of the cursor in its place."""

    __slots__ = ("_switch",)

    def __init__(self, inner: Cursor, switch: KillSwitch) -> None:
        for name in Cursor.__slots__:
            setattr(self, name, getattr(inner, name))
        self._switch = switch

    def at(
        self, point: str, occurrence: int, attempt: int, *, target: str, now_us: int, size: int = 0
    ) -> FaultEvent | None:
        if self._switch.pulled:
            return None
        return super().at(point, occurrence, attempt, target=target, now_us=now_us, size=size)


class _HeedingCalls:
    """A CallInjector under the switch."""

    def __init__(self, inner: CallInjector, switch: KillSwitch) -> None:
        self._inner = inner
        self._switch = switch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def kinds(self) -> frozenset[str]:
        return self._inner.kinds()

    def wrap(self, inner: CallPort, scene: Scene) -> CallPort:
        return self._inner.wrap(inner, self._switch.scene(scene))

    def heal(self) -> None:
        self._inner.heal()


class _HeedingWire:
    """A WireInjector under the switch: neither serves nor is served from beyond this machine."""

    def __init__(self, inner: WireInjector, switch: KillSwitch) -> None:
        self._inner = inner
        self._switch = switch
        self._guests: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def kinds(self) -> frozenset[str]:
        return self._inner.kinds()

    def start(self, upstream: str) -> None:
        check_ours(upstream, "the model server")
        self._inner.start(upstream)

    def enter(self, scene: Scene) -> str:
        if self._switch.pulled:
            raise InjectionStoppedError("the kill switch is pulled: no trial is let in any more")
        url = self._inner.enter(self._switch.scene(scene))
        try:
            check_ours(url, "the injector")
        except BadInputError:
            self._inner.leave(scene.trial_id)
            raise
        self._guests.add(scene.trial_id)
        return url

    def leave(self, trial_id: str) -> None:
        """Heals first. Raises InjectionStoppedError where the trial must not be graded."""
        was_in = trial_id in self._guests
        self._guests.discard(trial_id)
        self._inner.leave(trial_id)
        if was_in and self._switch.pulled:
            raise InjectionStoppedError(f"trial {trial_id} was at work when injection was stopped")

    def empty(self) -> None:
        """Let all trials leave, so that none waits for a stall; each still learns that it ended."""
        leaving = [
            threading.Thread(target=self._let_go, args=(trial_id,), daemon=True)
            for trial_id in tuple(self._guests)
        ]
        for thread in leaving:
            thread.start()
        for thread in leaving:
            thread.join()

    def _let_go(self, trial_id: str) -> None:
        with suppress(InfrastructureError):
            self._inner.leave(trial_id)

    def stop(self) -> None:
        self._inner.stop()


# -- blast radius ---------------------------------------------------------------------------------


def check_ours(url: str, what: str) -> None:
    """Raises BadInputError unless a base URL is on this machine's loopback."""
    host = urlsplit(url).hostname or ""
    with suppress(ValueError):
        if host == "localhost" or ip_address(host).is_loopback:
            return
    raise BadInputError(
        f"{what} is at {url!r}, which is not ours: faults are injected on loopback only. A remote "
        "service is reached through a relay of the llm plug on 127.0.0.1 (as `litellm` does)"
    )


def check_contained(
    kinds: Mapping[str, KindSpec], names: Iterable[str], sandboxes: Iterable[Sandbox]
) -> None:
    """Kinds that do something to a machine need containers. Raises BadInputError.

    `names`: the kinds that are registered. Those of the environment that are played at the tool's
    boundary do nothing to it.
    """
    machine = [
        name
        for name in names
        if name in kinds
        and kinds[name].layer is Layer.ENVIRONMENT
        and _TOOL not in kinds[name].wire
    ]
    bare = [sandbox.name for sandbox in sandboxes if not sandbox.contained]
    if machine and bare:
        raise BadInputError(
            f"the fault kind {sorted(machine)[0]!r} is made in the tools' own machine, and the "
            f"sandbox {bare[0]!r} is not one: use one that contains them (`sandbox: docker`)"
        )


# -- from another process -------------------------------------------------------------------------


class Stopped(NamedTuple):
    """What `stop` did. `pid` 0: no run was at work. `ended`: the run is over by now."""

    pid: int
    ended: bool


def stop(folder: Path, wait_s: float = 30.0) -> Stopped:
    """Stop injection in the run that is at work in a directory, and wait for the run to end.

    A run that only begins is waited for: it injects nothing before its line is in run.jsonl.
    Raises BadInputError if the run is another machine's or user's.
    """
    deadline = time.monotonic() + wait_s
    while at_work(folder):
        if pid := _signalled(folder):
            while (busy := at_work(folder)) and time.monotonic() < deadline:
                time.sleep(_POLL_S)
            return Stopped(pid, ended=not busy)
        if time.monotonic() >= deadline:
            raise BadInputError(
                f"{folder}: something holds the directory, but no run of it is to be found "
                f"({runlog.RUN_LOG}); `hfr-bench clean` and `run` hold it, too, when they begin"
            )
        time.sleep(_POLL_S)
    return Stopped(0, ended=True)


def at_work(folder: Path) -> bool:
    """Whether a process holds the directory. Raises BadInputError if there is no such directory."""
    if not folder.is_dir():
        raise BadInputError(f"{folder}: no such directory")
    try:
        with only_one(folder):
            return False
    except BadInputError:
        return True


def _signalled(folder: Path) -> int:
    """The process that was sent the signal; 0 where no run has begun to inject."""
    line = runlog.last(folder)
    if line is None or line.end is not None or is_gone(line.owner):
        return 0
    host, _, pid = line.owner.split("/")[:3]
    if host != platform.node() or not hasattr(signal, SIGNAL):
        raise BadInputError(f"{folder}: its run is at work on {host}; there: kill -USR1 {pid}")
    try:
        os.kill(int(pid), getattr(signal, SIGNAL))
    except ProcessLookupError:
        return 0
    except PermissionError as error:
        raise BadInputError(f"{folder}: process {pid} is somebody else's") from error
    return int(pid)
