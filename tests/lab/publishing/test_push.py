"""What is sent, through huggingface_hub itself, to a Hub of a few lines on loopback."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hfr_bench.errors import InfrastructureError

pytest.importorskip("huggingface_hub", reason="the extra [publish] is not installed")
from hfr_bench.lab.publishing.push import push


class _Hub(BaseHTTPRequestHandler):
    """Takes a dataset: creates it, wants every file within the commit, keeps what it is sent."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        got = self.server.got  # type: ignore[attr-defined]
        if self.path == "/api/repos/create":
            got["repo"] = json.loads(body)
            self._answer({"url": f"{self._top}/datasets/me/small", "name": "me/small"})
        elif self.path == "/api/validate-yaml":
            got["card"] = json.loads(body)["content"]
            self._answer({"errors": [], "warnings": []})
        elif self.path.endswith("/preupload/main"):
            names = [one["path"] for one in json.loads(body)["files"]]
            rows = [{"path": n, "uploadMode": "regular", "shouldIgnore": False} for n in names]
            self._answer({"files": rows})
        elif self.path.endswith("/commit/main"):
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    got["files"][line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            url = f"{self._top}/datasets/me/small/commit/1"
            self._answer({"success": True, "commitOid": "1" * 40, "commitUrl": url})
        else:
            self._answer({"error": self.path}, 404)

    def do_GET(self) -> None:
        self._answer({"id": "me/small", "sha": "0" * 40, "siblings": []})

    @property
    def _top(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"  # type: ignore[attr-defined]

    def _answer(self, value: object, status: int = 200) -> None:
        data = json.dumps(value).encode()
        refuse = self.server.refuse  # type: ignore[attr-defined]
        self.send_response(403 if refuse else status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hub) as server:
        server.got, server.refuse = {"files": {}}, False  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_the_whole_folder_is_sent_and_nothing_else(folder, hub):
    url = push(folder, "me/small", endpoint=f"http://127.0.0.1:{hub.server_port}", token="no-token")
    assert url.endswith("/datasets/me/small/commit/1")
    assert hub.got["repo"]["type"] == "dataset"
    assert hub.got["card"] == (folder / "README.md").read_text()
    there = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    assert hub.got["files"] == {name: path.read_bytes() for name, path in there.items()}


def test_a_hub_that_refuses_is_told_and_the_folder_stays(folder, hub):
    hub.refuse = True
    with pytest.raises(InfrastructureError, match="me/small: not pushed"):
        push(folder, "me/small", endpoint=f"http://127.0.0.1:{hub.server_port}", token="no-token")
    assert not hub.got["files"]
    assert (folder / "README.md").is_file()
