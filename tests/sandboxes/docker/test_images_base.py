"""The base image from a registry: by digest, checked, and found again.

The registry is a real one, spoken to over loopback, where engines ask for no TLS.
"""

import gzip
import hashlib
import io
import json
import socket
import tarfile
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import docker
import pytest

from hfr_bench.ports.sandbox import ImageSpec, SandboxUnavailableError
from hfr_bench.sandboxes.docker import images
from hfr_bench.sandboxes.docker.images_base import OVERRIDE, base, base_role, base_tag
from hfr_bench.sandboxes.docker.images_build import find_image
from hfr_bench.testing.netns import listen_beside_the_engine

pytestmark = pytest.mark.docker
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class Registry(ThreadingHTTPServer):
    """Serves one small image as <name>:1. `forged`: what it gives out by digest instead."""

    daemon_threads = True

    def __init__(self, arch: str, listening: socket.socket) -> None:
        super().__init__(listening.getsockname(), Answer, bind_and_activate=False)
        self.socket.close()
        self.socket, self.server_port = listening, listening.getsockname()[1]
        self.name = f"try-{uuid.uuid4().hex[:8]}"
        layer = self._layer()
        config = {
            "architecture": arch,
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [sha256(layer)]},
        }
        self.blobs: dict[str, bytes] = {}
        parts = {
            "config": self._blob(json.dumps(config).encode(), "container.image.v1+json"),
            "layers": [self._blob(gzip.compress(layer), "image.rootfs.diff.tar.gzip")],
        }
        self.manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, **parts}).encode()
        self.digest = sha256(self.manifest)
        self.forged: bytes | None = None

    @property
    def reference(self) -> str:
        return f"127.0.0.1:{self.server_port}/{self.name}"

    def find(self, path: str) -> bytes | None:
        if path == "/v2/":
            return b"{}"
        kind, _, what = path.removeprefix(f"/v2/{self.name}/").partition("/")
        if kind == "blobs":
            return self.blobs.get(what)
        by_digest = self.manifest if self.forged is None else self.forged
        return {"1": self.manifest, self.digest: by_digest}.get(what)

    def _layer(self) -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            info = tarfile.TarInfo("name")
            info.size = len(self.name)
            tar.addfile(info, io.BytesIO(self.name.encode()))
        return out.getvalue()

    def _blob(self, data: bytes, kind: str) -> dict[str, object]:
        self.blobs[sha256(data)] = data
        media = f"application/vnd.docker.{kind}"
        return {"mediaType": media, "size": len(data), "digest": sha256(data)}


class Answer(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        data = self.server.find(self.path)
        self.send_response(404 if data is None else 200)
        self.send_header("Content-Length", str(len(data or b"")))
        if "/manifests/" in self.path and data is not None:
            self.send_header("Content-Type", MANIFEST)
            self.send_header("Docker-Content-Digest", sha256(data))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data or b"")

    do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def client(engine: docker.APIClient) -> docker.APIClient:
    return engine


@pytest.fixture
def registry(
    client: docker.APIClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Registry]:
    """A registry that the base is asked of; afterwards nothing of it is left on the engine."""
    try:
        listening = listen_beside_the_engine()
    except OSError as error:
        pytest.skip(f"no registry can be put where the engine reaches it: {error}")
    served = Registry(client.version()["Arch"], listening)
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(OVERRIDE, f"{served.reference}:1")
    yield served
    served.shutdown()
    thread.join()
    served.server_close()
    for tag in (base_tag(), f"{served.reference}@{served.digest}", f"{served.reference}:1"):
        if find_image(client, tag):
            client.remove_image(tag, force=True)


def test_the_base_is_pulled_by_the_digest_that_its_registry_tells(
    client: docker.APIClient, registry: Registry
) -> None:
    told: list[str] = []
    made = base(client, told.append)
    source = f"{registry.reference}@{registry.digest}"
    assert client.inspect_image(made)["Config"]["Labels"]["hfr.base"] == source
    assert [line for line in told if f"pulling {source}" in line]
    assert find_image(client, base_tag()) == made
    registry.manifest = b"moved on"
    assert base(client, told.append) == made
    assert len(told) == 1


def test_a_base_named_by_digest_needs_no_tag(
    client: docker.APIClient, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = f"{registry.reference}@{registry.digest}"
    with monkeypatch.context() as patch:
        patch.setenv(OVERRIDE, source)
        made = base(client, print)
        assert client.inspect_image(made)["Config"]["Labels"]["hfr.base"] == source
        client.remove_image(base_tag(), force=True)


def test_an_image_that_is_not_what_its_digest_says_is_refused(
    client: docker.APIClient, registry: Registry
) -> None:
    registry.forged = registry.manifest + b" "
    with pytest.raises(SandboxUnavailableError, match=rf"{OVERRIDE}=.*{registry.digest}"):
        base(client, print)
    assert find_image(client, base_tag()) is None


def test_what_the_engine_has_by_that_name_will_do_where_no_registry_answers(
    client: docker.APIClient, registry: Registry
) -> None:
    layer = registry._layer()
    client.import_image_from_data(layer, repository=registry.reference, tag="1")
    registry.manifest = b""  # it answers no more with anything of use
    made = base(client, print)
    local = find_image(client, f"{registry.reference}:1")
    assert client.inspect_image(made)["Config"]["Labels"]["hfr.base"] == local


def test_a_named_base_that_is_not_to_be_had_is_an_error(
    client: docker.APIClient, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OVERRIDE, "127.0.0.1:1/nothing:1")
    with pytest.raises(SandboxUnavailableError, match=f"{OVERRIDE}=127.0.0.1:1/nothing"):
        base(client, print)


def test_an_image_that_others_make_is_pulled_by_digest_and_found_by_its_name(
    client: docker.APIClient, registry: Registry
) -> None:
    spec = ImageSpec("pulled", "FROM base\n", names=(f"{registry.reference}:1",), identity="one")
    assert images.there(client, spec) is None
    told: list[str] = []
    pulled = images.ensure(client, spec, told.append)
    assert told == [f"pulling {registry.reference}@{registry.digest} (up to 1024 MiB)"]
    registry.manifest = b"moved on"
    assert images.there(client, spec) == images.ensure(client, spec, told.append) == pulled
    assert len(told) == 1


def test_a_base_of_many_packages_has_a_name_that_engines_take():
    few, many = ("git", "patch"), tuple(f"package-{n}" for n in range(60))
    assert base_role(few) == "base-git-patch"
    assert len(base_role(many)) < 60
    assert base_role(many) == base_role(many[::-1]) != base_role(many[1:])
