"""The one-method socket that the whole onion is made of."""

from typing import Protocol

from hfr_bench.model.attempt import Call, Observation


class CallPort(Protocol):
    """Makes one attempt. Failures come back as observations; an exception means *we* broke."""

    def attempt(self, call: Call) -> Observation: ...


class Underway(Protocol):
    """A call that runs by itself; all of this is for the trial's own thread."""

    def wait(self, wait_s: float) -> bool:
        """Whether it ends within so many real seconds."""
        ...

    def take(self) -> Observation:
        """Its answer, written down and charged once it has ended. Raises what it raised."""
        ...

    def give_up(self) -> None:
        """Nobody waits for its answer any more: it is late, and still to be taken."""
        ...

    def settle(self) -> None:
        """All is undone: what the call has left at work must end. Raises InfrastructureError."""
        ...


class HostedPort(CallPort, Protocol):
    """The innermost port of a world whose host may be broken while a call runs."""

    def start(self, call: Call) -> Underway:
        """Begin the call beside the trial's thread, which goes on."""
        ...
