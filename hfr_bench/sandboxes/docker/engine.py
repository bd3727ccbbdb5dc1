"""The way to a Docker engine: found, checked, waited for when it goes away for a while."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import requests
from docker import APIClient
from docker.errors import APIError, DockerException, create_api_error_from_http_exception
from docker.utils import kwargs_from_env, version_lt

from hfr_bench.errors import InfrastructureError
from hfr_bench.ports.sandbox import SandboxUnavailableError

OLDEST_API = "1.41"  # Docker 20.10
_LOOK_S = 0.2  # between two looks for an engine that went away
_ADVICE = (
    "install and start Docker 20.10 or newer (Debian, Ubuntu: apt-get install docker.io), "
    "or go without containers: --sandbox process"
)

Answer = TypeVar("Answer")


class EngineAwayError(InfrastructureError):
    """The engine did not answer. It is being restarted, or is gone; it may have done as asked."""


class Engine:
    """Clients of one engine, connected at first use, and patience.

    `patience_s`: how long `patiently` waits for its return; `timeout_s`: for any single answer.
    A client serves one thread at a time, since nobody promises that a session of `requests` can
    be shared: who needs one borrows it, and spare ones are kept.
    """

    def __init__(self, patience_s: float = 60.0, timeout_s: int = 60) -> None:
        self._patience_s, self._timeout_s = patience_s, timeout_s
        self._lock = threading.RLock()  # reentrant: an interrupt may close in the midst of it
        self._spare: list[APIClient] = []
        self._where: dict[str, Any] = {}  # filled by the first contact
        self._hurry = threading.Event()
        self._closed = False

    @property
    def was_reached(self) -> bool:
        return bool(self._where)

    @contextmanager
    def client(self) -> Iterator[APIClient]:
        """Borrow a client.

        Raises SandboxUnavailableError if the engine was never reached, EngineAwayError if it
        does not answer (any more). docker-py's APIError passes: the engine has answered.
        """
        with self._lock:
            client = self._spare.pop() if self._spare else None
        client = client or self._connect()
        try:
            yield client
        except (APIError, InfrastructureError):
            self._keep(client)
            raise
        except OSError as error:  # every exception of `requests` is one
            client.close()
            raise EngineAwayError(f"the Docker engine went away: {error}") from error
        except BaseException:
            client.close()
            raise
        self._keep(client)

    def patiently(self, do: Callable[[APIClient], Answer]) -> Answer:
        """Do something; if the engine goes away, wait for its return and do it again.

        So `do` may happen twice. Raises SandboxUnavailableError when patience or the sandbox ends.
        """
        deadline: float | None = None
        while True:
            try:
                with self.client() as client:
                    return do(client)
            except EngineAwayError as error:
                deadline = deadline or time.monotonic() + self._patience_s
                if time.monotonic() >= deadline or self._hurry.wait(_LOOK_S):
                    raise SandboxUnavailableError(
                        f"{error}; it did not return within {self._patience_s:g} s. Start it and "
                        "run again: what is finished is kept"
                    ) from error

    def hurry(self) -> None:
        """No more patience: who waits for the engine's return is told that it is away."""
        self._hurry.set()

    def close(self) -> None:
        self.hurry()
        with self._lock:
            self._closed = True
            spare, self._spare = self._spare, []
        for client in spare:
            client.close()

    def _keep(self, client: APIClient) -> None:
        with self._lock:
            if not self._closed:
                self._spare.append(client)
                return
        client.close()

    def _connect(self) -> APIClient:
        """A new client; only the first one asks for the engine's version."""
        if self._where:
            return APIClient(timeout=self._timeout_s, **self._where)
        where = _address()
        try:
            client = APIClient(timeout=self._timeout_s, version="auto", **where)
            found = client.version(api_version=False)
        except (DockerException, OSError) as error:
            raise SandboxUnavailableError(
                f"no Docker engine answers at {where['base_url']} ({error}): start it, get the "
                f"right to use it, or {_ADVICE}"
            ) from error
        if version_lt(found["ApiVersion"], OLDEST_API):
            client.close()
            raise SandboxUnavailableError(
                f"the Docker engine at {where['base_url']} is {found['Version']} (API "
                f"{found['ApiVersion']}), which is too old: {_ADVICE}"
            )
        self._where = {**where, "version": found["ApiVersion"]}
        return client


def explanation(error: APIError) -> str:
    """What the engine said, in one line."""
    return str(error.explanation or error).strip().replace("\n", " ")


def _address() -> dict[str, Any]:
    """Where an engine should be, as arguments of APIClient. Raises SandboxUnavailableError."""
    if os.environ.get("DOCKER_HOST"):
        return {**kwargs_from_env()}
    sockets = [Path("/var/run/docker.sock"), Path.home() / ".docker/run/docker.sock"]
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        sockets.insert(1, Path(runtime) / "docker.sock")
    for path in sockets:
        if path.exists():
            return {"base_url": f"unix://{path}"}
    raise SandboxUnavailableError(
        "no Docker engine found: DOCKER_HOST is not set, and there is no socket at "
        f"{', '.join(map(str, sockets))}; {_ADVICE}"
    )


def post(client: APIClient, path: str, **options: Any) -> requests.Response:
    """POST to the engine what docker-py has no method for. Raises APIError."""
    response = client.post(f"{client.base_url}/v{client.api_version}{path}", **options)
    try:
        response.raise_for_status()
    except requests.HTTPError as error:
        with response:
            create_api_error_from_http_exception(error)  # raises it
    return response
