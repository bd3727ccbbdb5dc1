"""A tool host in a container: its attached stdio, and why it ended."""

import contextlib
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Mapping
from typing import Any

import requests
from docker import APIClient
from docker.errors import APIError

from hfr_bench.ports.sandbox import HostDiedError, HostFault, HostState
from hfr_bench.sandboxes._lines import LAST_WORDS, LineHost
from hfr_bench.sandboxes.docker.engine import Engine, EngineAwayError, post
from hfr_bench.sandboxes.docker.faults import Faults
from hfr_bench.sandboxes.docker.keeping import keeping_volumes
from hfr_bench.sandboxes.docker.reap import remove_container

_HEADER = struct.Struct(">BxxxL")  # of a frame: which stream, how many bytes
_STDOUT = 1
_KILLED = 137  # 128 + SIGKILL
_EXIT_S = 10.0  # how long the engine may take to tell the exit code
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class DockerHost(LineHost):
    """A running container. Implements `ports.sandbox.FaultyHost`."""

    def __init__(self, stdio: "Stdio") -> None:
        super().__init__(stdio)
        self._stdio = stdio
        self._faults = Faults(stdio.engine, stdio.container, self._start_anew)
        self.patience_s = 0.0

    @property
    def container(self) -> str:
        return self._stdio.container

    def is_alive(self) -> bool:
        """Whether it still runs, as far as is known without asking the engine."""
        return not self.closed and self._stdio.is_open()

    @property
    def standing(self) -> bool:
        return self._faults.standing

    def request(self, op: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        more_s = self.patience_s if self.standing else 0.0
        return super().request(op, fields, timeout_s + more_s)

    def inflict(self, fault: HostFault) -> None:
        self._stdio.hurt |= self._faults.inflict(fault)

    def heal(self, *, everything: bool = True) -> None:
        self._faults.heal(everything=everything)

    def look(self, path: str, match: str) -> HostState:
        return self._faults.look(path, match)

    def _start_anew(self, client: APIClient) -> None:
        with self._turn:  # between two requests
            self._buffer.clear()
            self._stdio.restart(client)


class Stdio:
    """A container's attached stdio. Implements `_lines.Transport`.

    docker-py's own stream helpers know neither deadlines nor partial writes, so the socket is
    read here: frames of stdout and stderr by turns. `hurt`: a fault may have killed its process.
    """

    def __init__(self, engine: Engine, client: APIClient, body: dict[str, Any], name: str) -> None:
        self.engine = engine
        self.hurt = False
        self._memory_mib = body["HostConfig"]["Memory"] >> 20
        self._frames, self._out, self._err = bytearray(), bytearray(), bytearray()
        self._ending = threading.RLock()
        self._killed = self._released = False
        self.container: str = post(
            client, "/containers/create", params={"name": name}, json=body
        ).json()["Id"]
        self._begin(client)

    def restart(self, client: APIClient) -> None:
        """Start the container anew: what it was told and has not answered is lost.

        Its volumes are in memory, and would be gone while nobody holds them.
        """
        with keeping_volumes(client, self.container), self._ending:
            if self._killed:
                raise HostDiedError("the tool host cannot be started anew: it was closed")
            # Not by the engine's own restart: it may end the new stdin in place of the old one.
            client.stop(self.container, timeout=0)
            self._see_it_end()
            _close_attached(self._attached)
            self._exit.close()
            for buffer in (self._frames, self._out, self._err):
                buffer.clear()
            self._begin(client)

    def _see_it_end(self) -> None:
        deadline = time.monotonic() + _EXIT_S
        with contextlib.suppress(EOFError):
            while time.monotonic() < deadline:
                if not self._pull():
                    self._wait(select.POLLIN, deadline)

    def _begin(self, client: APIClient) -> None:
        """Attach and start. What fails leaves no container."""
        with contextlib.ExitStack() as undo:
            undo.callback(_try_to_remove, client, self.container)
            # Attached before it starts, so that no word of it is lost.
            self._attached = client.attach_socket(
                self.container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            )
            undo.callback(_close_attached, self._attached)
            # A plain socket comes wrapped in a reader, a TLS one does not.
            self._socket: socket.socket = getattr(self._attached, "_sock", self._attached)
            self._socket.setblocking(False)
            # Asked before it starts, since nobody remembers the exit code once it is removed.
            self._exit = post(
                client,
                f"/containers/{self.container}/wait",
                params={"condition": "next-exit"},
                stream=True,
                timeout=_EXIT_S,
            )
            undo.callback(self._exit.close)
            client.start(self.container)
            undo.pop_all()

    def send(self, data: bytes, deadline: float) -> None:
        left = memoryview(data)
        while left:
            if time.monotonic() >= deadline:
                raise TimeoutError
            try:
                left = left[self._socket.send(left) :]
            except _WOULD_BLOCK:
                # It may not read on before somebody takes what it says.
                if not self._pull():
                    self._wait(select.POLLIN | select.POLLOUT, deadline)
            except OSError as error:
                raise EOFError from error

    def receive(self, deadline: float) -> bytes:
        while not self._out:
            if time.monotonic() >= deadline:  # one that babbles on stderr meets it, too
                raise TimeoutError
            if not self._pull():
                self._wait(select.POLLIN, deadline)
        taken, self._out = bytes(self._out), bytearray()
        return taken

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes who waits for it
        with self._ending:
            if not self._killed:
                self._killed = True
                # What cannot be removed now is found by its label later.
                with contextlib.suppress(EngineAwayError), self.engine.client() as client:
                    _try_to_remove(client, self.container)

    def cause(self) -> str:
        try:
            code = self._exit.json()["StatusCode"]
        except (requests.RequestException, ValueError, LookupError):
            return "the engine does not say why; it may have been restarted"
        if code != _KILLED:
            return f"exit code {code}"
        if self.hurt:
            return "killed (exit code 137) by an injected fault"
        return (
            f"killed (exit code {code}), most likely by its memory limit of {self._memory_mib} MiB"
        )

    def last_words(self) -> str:
        with contextlib.suppress(EOFError):
            while not self._released and self._pull():
                pass
        return self._err.decode(errors="replace").strip()

    def release(self) -> None:
        with self._ending:
            if not self._released:
                self._released = True
                _close_attached(self._attached)
                self._exit.close()

    def is_open(self) -> bool:
        try:
            self._pull()
        except EOFError:
            return False
        return True

    def _pull(self) -> bool:
        """Take in what has arrived; False: nothing had. Raises EOFError."""
        try:
            data = self._socket.recv(1 << 18)
        except _WOULD_BLOCK:
            return False
        except OSError as error:
            raise EOFError from error
        if not data:
            raise EOFError
        self._frames += data
        start = 0
        while len(self._frames) >= start + _HEADER.size:
            stream, size = _HEADER.unpack_from(self._frames, start)
            end = start + _HEADER.size + size
            if len(self._frames) < end:
                break
            payload = self._frames[start + _HEADER.size : end]
            if stream == _STDOUT:
                self._out += payload
            else:
                self._err = (self._err + payload)[-LAST_WORDS:]
            start = end
        del self._frames[:start]
        return True

    def _wait(self, what: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(self._socket, what)
        poll.poll(max(0.0, deadline - time.monotonic()) * 1000)


def _close_attached(attached: Any) -> None:
    response = getattr(attached, "_response", None)  # docker-py keeps the connection alive by it
    if response is not None:
        response.close()
    attached.close()


def _try_to_remove(client: APIClient, container: str) -> None:
    with contextlib.suppress(APIError):
        remove_container(client, container)
