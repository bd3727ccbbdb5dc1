"""What a trial does about recorded responses: record them, say which are played, or neither.

    gateway ─ keep(the server's own answer) ─┐
    client ── attempt ──────────────────────┴→ a line of cassettes/<group>/r<round>/<arm>.jsonl

The cassette is written whole as its trial ends, before the last line of the trace, which holds its
digest. What an interrupted trial has recorded is lost with it: it is run again from its start.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from hfr_bench.errors import CassetteMissError
from hfr_bench.faults.cursor import Cursor
from hfr_bench.lab.journal import JournalError
from hfr_bench.lab.prefix import ForUser, Played
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.cassette import Taped
from hfr_bench.model.task import SealedTask
from hfr_bench.model.trace import TrialStarted
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.injector import Scene, WireInjector
from hfr_bench.ports.llm import LlmBackend, ModelScope, request_body
from hfr_bench.ports.tape import Prefix, heard, taped

Keep = Callable[[Taped], None]
_USER = ".user"


class Tape:
    """A trial whose responses are not recorded; those of `path` are played, if it is given.

    `marks`: what the gateway is to hold the trial's requests against, in a live fork.
    """

    keep: Keep | None = None

    def __init__(self, name: str, path: Path | None = None, marks: Prefix | None = None) -> None:
        self.name = name
        self._path = path
        self._marks = marks

    def enter(self, gateway: WireInjector, scene: Scene) -> str:
        """Register a trial that keeps for the tape, and is played from it; returns its address."""
        return gateway.enter(replace(scene, keep=self.keep, prefix=self._marks))

    def leave(self, gateway: WireInjector, trial_id: str) -> None:
        """Take the trial out of the gateway. Idempotent."""
        gateway.leave(trial_id)

    def user_url(self, upstream: str) -> str:
        """Where the model that plays the trial's user is to be had."""
        return upstream

    def told(self, start: TrialStarted) -> TrialStarted:
        """The trial's first line, with what plays its prefix."""
        return start

    def around(self, client: CallPort) -> CallPort:
        """The client as the trial's recorders are to have it."""
        return client

    def around_user(self, client: CallPort) -> CallPort:
        """The client of a user that a model plays, which no fault ever meets."""
        return client

    def end(self) -> str:
        """Once the trial is over: the digest of what was recorded or played; "" for nothing."""
        if self._path is None or not self._path.is_file():
            return ""
        return hashlib.sha256(self._path.read_bytes()).hexdigest()


class Recording(Tape):
    """A trial whose responses are recorded, those that its `prefix` plays among them.

    `bare`: no gateway is there to keep them. `lacking`: why there is no prefix though there should
    be one; then no client is to be had, which ends the trial as a void.
    """

    def __init__(
        self, name: str, path: Path, *, bare: bool, prefix: Played | None = None, lacking: str = ""
    ) -> None:
        super().__init__(name, marks=prefix)
        self.prefix = prefix
        self._lacking = lacking
        self._out = path
        self._bare = bare
        self._inside: tuple[WireInjector, Scene] | None = None
        self._user = ""
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, int, int], Taped] = {}
        self._lines: dict[tuple[str, int, int], Taped] = {}
        self.keep = self._take

    def _take(self, line: Taped) -> None:
        with self._lock:
            self._kept[line.point, line.occurrence, line.attempt] = line

    def enter(self, gateway: WireInjector, scene: Scene) -> str:
        self._inside = (gateway, scene)
        return super().enter(gateway, scene)

    def leave(self, gateway: WireInjector, trial_id: str) -> None:
        if self._user:
            gateway.leave(f"{trial_id}{_USER}")
            self._user = ""
        super().leave(gateway, trial_id)

    def user_url(self, upstream: str) -> str:
        """With a prefix, the gateway: it alone knows when that ends. No fault is for a user."""
        if self.prefix is None or self._inside is None:
            return upstream
        gateway, scene = self._inside
        alone = replace(
            scene,
            trial_id=f"{scene.trial_id}{_USER}",
            cursor=Cursor((), scene.cursor.layers, scene.cursor.met),
            tell=lambda _: None,  # nobody's arm: no trace tells of its calls
            keep=self.keep,
            prefix=ForUser(self.prefix),
        )
        self._user = self._user or gateway.enter(alone)
        return self._user

    def told(self, start: TrialStarted) -> TrialStarted:
        if self.prefix is None:
            return start
        return start.model_copy(update={"prefix_digest": self.prefix.digest})

    def around(self, client: CallPort) -> CallPort:
        """Raises CassetteMissError where the prefix is lacking."""
        if self._lacking:
            raise CassetteMissError(self._lacking)
        return _Recorded(client, self, bare=self._bare)

    def around_user(self, client: CallPort) -> CallPort:
        return _Recorded(client, self, bare=True)

    def charged(self, call: Call, seen: Observation) -> Observation:
        """An attempt as it is charged: what was played, as it was recorded."""
        at = (call.point, call.occurrence, call.attempt)
        with self._lock:
            answered = at in self._kept
        if self.prefix is None or self.prefix.mark(at, answered=answered) != "played":
            return seen
        return replace(seen, cost_microusd=self.prefix.cost(at))

    def attempted(self, call: Call, seen: Observation, *, bare: bool) -> None:
        """One attempt is over: what the server said, and what it was charged."""
        at = (call.point, call.occurrence, call.attempt)
        with self._lock:
            line = self._kept.pop(at, None)
            if line is None:
                said = None
                if bare and seen.status is not None:
                    said = heard(seen.status, seen.headers, (seen.body.encode(),))
                line = taped(at, call.target, request_body(call), said)
            told = {"cost_microusd": seen.cost_microusd, "latency_us": seen.latency_us}
            self._lines[at] = self._marked(at, line.model_copy(update=told))

    def _marked(self, at: tuple[str, int, int], line: Taped) -> Taped:
        mark = self.prefix.mark(at, answered=line.response is not None) if self.prefix else ""
        return line.model_copy(update={"prefix": mark}) if mark else line

    def end(self) -> str:
        """Write the cassette. Raises JournalError if it cannot be written."""
        with self._lock:
            # An answer that came when its attempt had been given up: its cost was never told.
            late = {at: self._kept[at] for at in self._kept}
            for at, line in late.items():
                known = self._lines.get(at)
                told = {"cost_microusd": known.cost_microusd} if known else {}
                self._lines[at] = self._marked(at, line.model_copy(update=told))
            data = "".join(f"{line.dumps()}\n" for line in self._lines.values()).encode()
        part = self._out.with_name(f"{self._out.name}.part")
        try:
            self._out.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self._out)
        except OSError as error:
            raise JournalError(f"{self._out}: responses cannot be recorded: {error}") from error
        return hashlib.sha256(data).hexdigest()


class _Recorded:
    """A CallPort that tells each attempt to its trial's recording."""

    def __init__(self, inner: CallPort, tape: Recording, *, bare: bool) -> None:
        self._inner = inner
        self._tape = tape
        self._bare = bare

    def attempt(self, call: Call) -> Observation:
        seen = self._inner.attempt(call)
        seen = self._tape.charged(call, seen)
        self._tape.attempted(call, seen, bare=self._bare)
        return seen


class _AtWork(threading.local):
    """The tape of the trial that a thread is at work on."""

    tape: Tape | None = None


AT_WORK = _AtWork()


class ForUsers:
    """The backend as suites get it whose users a model plays: in a trial, on that trial's tape.

    A suite makes its user in the trial's own thread, which is how the trial is known here.
    """

    def __init__(self, inner: LlmBackend) -> None:
        self._inner = inner
        self.origin = inner.origin
        self.prices_digest = inner.prices_digest

    def start(self, sealed: Sequence[SealedTask]) -> str:
        return self._inner.start(sealed)

    def client(self, base_url: str, scope: ModelScope) -> CallPort:
        tape = AT_WORK.tape
        if tape is None:
            return self._inner.client(base_url, scope)
        client = self._inner.client(tape.user_url(base_url), replace(scope, tape=tape.name))
        return tape.around_user(client)

    def stop(self) -> None:
        self._inner.stop()
