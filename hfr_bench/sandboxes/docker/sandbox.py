"""The sandbox itself: starts hosts from the pool or anew, and leaves nothing behind."""

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from docker import APIClient
from docker.errors import APIError, ImageNotFound
from pydantic import ValidationError

from hfr_bench.content import explain
from hfr_bench.errors import BadInputError
from hfr_bench.model.breakage import Breakage
from hfr_bench.ports.diagnosis import Diagnosis
from hfr_bench.ports.sandbox import (
    HostCommand,
    HostDiedError,
    ImageSpec,
    SandboxContext,
    SandboxUnavailableError,
)
from hfr_bench.sandboxes.docker import images
from hfr_bench.sandboxes.docker.container import (
    OWNER,
    RUN,
    SANDBOX,
    Settings,
    new_name,
    recipe,
)
from hfr_bench.sandboxes.docker.engine import Engine, EngineAwayError, explanation
from hfr_bench.sandboxes.docker.host import DockerHost, Stdio
from hfr_bench.sandboxes.docker.images_base import base_tag
from hfr_bench.sandboxes.docker.images_build import find_image
from hfr_bench.sandboxes.docker.network import Networks
from hfr_bench.sandboxes.docker.pool import Pool
from hfr_bench.sandboxes.docker.reap import reap, sweep

_CLOSE_S = 30.0  # how long closing waits for the engine to be done with what is left
_LOOK_S = 0.02


class DockerSandbox:
    """Containers of a Docker engine. Implements `ports.sandbox.Sandbox`; takes `Settings`.

    Its hosts are `ports.sandbox.FaultyHost`s. The engine is not asked before it is needed.
    """

    name = "docker"
    contained = True
    breaks = frozenset(Breakage)

    def __init__(self, context: SandboxContext, **settings: Any) -> None:
        try:
            self._settings = Settings(**settings)
        except ValidationError as error:
            raise BadInputError(f"sandbox docker: {explain(error)}") from error
        self._context = context
        # An experiment may have a sandbox a suite: each tells its own by a label of its own.
        self._token = secrets.token_hex(8)
        labels = {RUN: context.run, OWNER: context.owner, SANDBOX: self._token}
        self._labels = labels
        self._engine = Engine(self._settings.patience_s)
        self._networks = Networks(labels)
        self._pool = Pool(self._settings.warm, self._launch)
        self._building = threading.Lock()  # one image at a time
        self._images: list[tuple[ImageSpec, str]] = []
        self._state = threading.Condition()  # around all below
        self._closed = False
        self._creating = 0
        self._hosts: list[DockerHost] = []

    @property
    def image_id(self) -> str | None:
        return self._images[-1][1] if self._images else None

    @staticmethod
    def diagnose() -> Diagnosis:
        """For `hfr-bench doctor`."""
        engine = Engine(timeout_s=10)
        try:
            with engine.client() as client:
                version = client.version()
                ready = find_image(client, base_tag()) is not None
        except SandboxUnavailableError as error:
            return Diagnosis(False, str(error), "apt-get install docker.io")
        except (APIError, EngineAwayError) as error:
            return Diagnosis(False, str(error))
        finally:
            engine.close()
        said = f"Docker engine {version['Version']}, {'with' if ready else 'without'} a base image"
        return Diagnosis(True, said, "" if ready else "hfr-bench images")

    def start(self, command: HostCommand) -> DockerHost:
        if command.image is None:
            raise BadInputError(
                f"the tool host {command.argv[0]} has no image to run in; use --sandbox process"
            )
        return self._pool.take(command) or self._launch(command)

    def reap(self) -> tuple[str, ...]:
        return self._engine.patiently(lambda client: reap(client, self._context.run))

    def image_there(self, spec: ImageSpec) -> str | None:
        return self._engine.patiently(lambda client: images.there(client, spec))

    def make_image(self, spec: ImageSpec) -> str:
        return self._engine.patiently(lambda client: self._image(client, spec))

    def close(self) -> None:
        with self._state:
            self._closed = True
            hosts, self._hosts = self._hosts, []
        self._engine.hurry()
        for host in hosts:
            host.close()
        self._pool.close()
        if self._engine.was_reached:
            self._remove_the_rest()
        self._engine.close()

    def _launch(self, command: HostCommand) -> DockerHost:
        """Start a host anew. Raises HostDiedError, SandboxUnavailableError."""
        try:
            return self._engine.patiently(lambda client: self._create(client, command))
        except APIError as error:
            said = explanation(error)
            if "no space left" in said:
                raise SandboxUnavailableError(
                    f"the Docker engine's disk is full ({said}): make room and run again"
                ) from error
            raise HostDiedError(
                f"the Docker engine cannot start the tool host {command.argv[0]}: {said}"
            ) from error

    def _create(self, client: APIClient, command: HostCommand) -> DockerHost:
        assert command.image is not None
        image_id = self._image(client, command.image)
        with self._may_create():
            network = None
            if command.network is not None:
                network = self._networks.get(client, command.network)
            body = recipe(command, self._settings, image_id, self._labels, network)
            try:
                stdio = Stdio(self._engine, client, body, new_name(self._context.run))
            except ImageNotFound:  # somebody removed it since; the next start makes it again
                self._forget(command.image)
                raise
            host = DockerHost(stdio)
            with self._state:
                if not self._closed:
                    self._hosts = [*(known for known in self._hosts if not known.closed), host]
                    return host
            host.close()
        raise _closed()

    def _image(self, client: APIClient, spec: ImageSpec) -> str:
        with self._building:
            for known, image_id in self._images:
                if known == spec:
                    return image_id
            image_id = images.ensure(client, spec, self._context.tell)
            self._images.append((spec, image_id))
            return image_id

    def _forget(self, spec: ImageSpec) -> None:
        with self._building:
            self._images = [pair for pair in self._images if pair[0] != spec]

    @contextmanager
    def _may_create(self) -> Iterator[None]:
        """Around everything that makes something: closing waits for it. Raises HostDiedError."""
        with self._state:
            if self._closed:
                raise _closed()
            self._creating += 1
        try:
            yield
        finally:
            with self._state:
                self._creating -= 1
                self._state.notify_all()

    def _remove_the_rest(self) -> None:
        """Whatever bears this sandbox's label: in-flight creations, networks, what was stuck."""
        began = time.monotonic()
        deadline = began + _CLOSE_S
        with self._state:
            self._state.wait_for(lambda: not self._creating, _CLOSE_S)
        while True:
            why = "the engine is still removing them"
            try:
                with self._engine.client() as client:
                    if not sweep(client, (SANDBOX, self._token), lambda _: True):
                        return
            except EngineAwayError as error:
                why = str(error)
                deadline = min(deadline, began + self._settings.patience_s)
            except APIError as error:
                why = explanation(error)
            if time.monotonic() >= deadline:
                self._context.tell(
                    f"some containers or networks of run {self._context.run} may be left "
                    f"({why}); the next run of this experiment removes them"
                )
                return
            time.sleep(_LOOK_S)


def _closed() -> HostDiedError:
    return HostDiedError("no tool host is started any more: the sandbox is closed")
