"""The way to the engine: none, one that goes away, and one that comes back."""

import contextlib
import select
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import HostDiedError, SandboxContext, SandboxUnavailableError
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.sandboxes.docker.engine import Engine, EngineAwayError, _address


class Relay:
    """Another door to the engine, which can be shut: so an engine looks that is restarted."""

    def __init__(self, path: Path, to: str) -> None:
        self._path, self._to = path, to
        self._links: list[socket.socket] = []
        self._lock = threading.Lock()
        self.open()

    def open(self) -> None:
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(self._path))
        self._door.listen()
        threading.Thread(target=self._serve, args=(self._door,), daemon=True).start()

    def shut(self) -> None:
        self._path.unlink()
        with self._lock:
            self._door.shutdown(socket.SHUT_RDWR)
            for link in self._links:
                with contextlib.suppress(OSError):
                    link.shutdown(socket.SHUT_RDWR)
            self._links.clear()

    def _serve(self, door: socket.socket) -> None:
        with door:
            while True:
                try:
                    near, _ = door.accept()
                except OSError:
                    return
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._to)
                with self._lock:
                    self._links += (near, far)
                threading.Thread(target=_copy, args=(near, far), daemon=True).start()


def _copy(one: socket.socket, other: socket.socket) -> None:
    """Both ways, until either side has nothing more to say."""
    with one, other, contextlib.suppress(OSError):
        while True:
            ready, _, _ = select.select([one, other], [], [])
            for source in ready:
                data = source.recv(1 << 16)
                if not data:
                    return
                (other if source is one else one).sendall(data)


@pytest.fixture
def relay(leaky_docker: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    address = _address()["base_url"]
    if not address.startswith("unix://"):
        pytest.skip("the engine is not on this machine")
    made = Relay(tmp_path / "engine.sock", address.removeprefix("unix://"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'engine.sock'}")
    yield made
    with contextlib.suppress(FileNotFoundError):
        made.shut()


def test_no_engine_is_said_at_once_with_what_to_do(no_engine: str) -> None:
    sandbox = DockerSandbox(SandboxContext(run="r", owner=this_process()))
    began = time.monotonic()
    with pytest.raises(SandboxUnavailableError, match=f"no Docker engine answers at {no_engine}"):
        sandbox.reap()
    assert time.monotonic() - began < 30
    sandbox.close()


def test_the_way_out_is_told(no_engine: str) -> None:
    with pytest.raises(SandboxUnavailableError, match=r"docker\.io.*--sandbox process"):
        Engine().patiently(lambda client: client.ping())


def test_the_usual_places_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("HOME", str(tmp_path))
    if Path("/var/run/docker.sock").exists():
        pytest.skip("this machine has an engine in the first of them")
    with pytest.raises(SandboxUnavailableError, match=r"no socket at /var/run/docker\.sock, .*run"):
        _address()
    for place in (".docker/run", "run"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "docker.sock").touch()
        assert _address()["base_url"] == f"unix://{tmp_path / place / 'docker.sock'}"


@pytest.mark.docker
def test_clients_are_lent_and_kept(relay: Relay) -> None:
    engine = Engine()
    with engine.client() as one, engine.client() as other:
        assert one is not other
    with engine.client() as again:
        assert again in (one, other)
    with pytest.raises(APIError), engine.client() as client:
        client.inspect_container("nobody")
    engine.close()


@pytest.mark.docker
def test_an_engine_that_comes_back_in_time_is_waited_for(relay: Relay) -> None:
    engine = Engine(patience_s=20)
    engine.patiently(lambda client: client.ping())
    relay.shut()
    timer = threading.Timer(0.4, relay.open)
    timer.start()
    assert engine.patiently(lambda client: client.ping())
    timer.join()
    engine.close()


@pytest.mark.docker
def test_an_engine_that_stays_away_ends_the_run(relay: Relay) -> None:
    engine = Engine(patience_s=0.3)
    engine.patiently(lambda client: client.ping())
    relay.shut()
    with pytest.raises(EngineAwayError), engine.client() as client:
        client.ping()
    with pytest.raises(SandboxUnavailableError, match=r"did not return within 0\.3 s"):
        engine.patiently(lambda client: client.ping())
    engine.close()


@pytest.mark.docker
def test_a_host_dies_with_its_engine_and_the_next_one_waits(
    relay: Relay, make: Any, echo: Any
) -> None:
    sandbox = make(patience_s=20)
    host = sandbox.start(echo())
    timer = threading.Timer(0.5, relay.shut)
    timer.start()
    with pytest.raises(HostDiedError, match="the engine does not say why"):
        host.request("hang", {}, 30)
    timer.join()
    timer = threading.Timer(0.4, relay.open)
    timer.start()
    assert sandbox.start(echo()).request("echo", {"text": "x"}, 30)["said"] == "x"
    timer.join()
    sandbox.close()


@pytest.mark.docker
def test_closing_ends_the_wait_for_an_engine(relay: Relay, make: Any, echo: Any) -> None:
    sandbox = make(patience_s=60)
    sandbox.start(echo()).close()
    relay.shut()
    closing = threading.Timer(0.5, sandbox.close)
    closing.start()
    began = time.monotonic()
    with pytest.raises(SandboxUnavailableError):
        sandbox.start(echo())
    assert time.monotonic() - began < 30
    relay.open()  # closing waits for it: what there is must go
    closing.join()


@pytest.mark.docker
def test_what_is_left_because_the_engine_stays_away_is_told(
    relay: Relay, make: Any, echo: Any
) -> None:
    told: list[str] = []
    sandbox = make(tell=told.append, patience_s=0.2)
    sandbox.start(echo())
    relay.shut()
    sandbox.close()
    assert "may be left" in told[-1]
    relay.open()
    sandbox.close()  # and again, now that it can be done
