"""A tool's call that runs beside the trial's thread, while its container may be broken.

Only the world's work is done by another thread. Time, truth and trace are the trial's own thread's,
which takes the answer when it is there, or later.
"""

import threading
import time
from collections.abc import Callable

from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.trace import Body, HostLooked
from hfr_bench.ports.clock import Clock, untimed
from hfr_bench.ports.exposure import Exposed, mark
from hfr_bench.ports.sandbox import HostDiedError, HostState
from hfr_bench.ports.suite import Execution

_QUIET_S = 10.0
_LOOK_S = 0.05


class Lookout:
    """Reads the state of a call's container and writes it down as truth; in nobody's time."""

    def __init__(
        self, world: Exposed, operation_id: str, tell: Callable[[Body], None], clock: Clock
    ) -> None:
        self._world = world
        self._operation_id = operation_id
        self._tell = tell
        self._clock = clock

    def before(self) -> None:
        with untimed(self._clock):
            self._told("before", self._look())

    def after(self) -> None:
        with untimed(self._clock):
            self._told("after", self._look())

    def healed(self) -> None:
        """Once nothing of the call is at work. Raises HostDiedError if that does not come."""
        with untimed(self._clock):
            deadline = time.monotonic() + _QUIET_S
            while (state := self._look()).at_work:
                if time.monotonic() > deadline:
                    raise HostDiedError(
                        f"{state.at_work} process(es) of call {self._operation_id} are at work "
                        f"{_QUIET_S:g} s after the fault was undone"
                    )
                time.sleep(_LOOK_S)
            self._told("healed", state)

    def _look(self) -> HostState:
        return self._world.host.look(self._world.exposure.scratch, mark(self._operation_id))

    def _told(self, when: str, state: HostState) -> None:
        fields = {name: getattr(state, name) for name in HostState.__slots__}
        self._tell(
            HostLooked.model_validate({"operation_id": self._operation_id, "when": when, **fields})
        )


class UnderwayCall:
    """Implements `ports.calls.Underway`. Made: the call has begun."""

    def __init__(
        self,
        call: Call,
        execute: Callable[[], Execution],
        written: Callable[[Execution], Observation],
        lookout: Lookout,
    ) -> None:
        self._execute = execute
        self._written = written
        self._lookout = lookout
        self._given_up = False
        self._ended = threading.Event()
        self._done: Execution | None = None
        self._error: BaseException | None = None
        lookout.before()
        name = f"hfr-call-{call.operation_id}"
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def wait(self, wait_s: float) -> bool:
        return self._ended.wait(wait_s)

    def take(self) -> Observation:
        assert self._ended.is_set(), "a call is taken once it has ended"
        if self._error is not None:
            raise self._error
        assert self._done is not None
        if not self._given_up:
            self._lookout.after()
        return self._written(self._done)

    def give_up(self) -> None:
        self._given_up = True
        self._lookout.after()

    def settle(self) -> None:
        self._lookout.healed()

    def _run(self) -> None:
        try:
            self._done = self._execute()
        except BaseException as error:  # noqa: BLE001 - the trial's own thread raises it
            self._error = error
        self._ended.set()
