"""A machine of the user's own: put back before each trial, one trial at a time, with a log or not.

The machine is our guest's server, as a process of its own that serves HTTP; as OSWorld's own server
it is behind a relay that knows no /hfr/operations.
"""

import http.client
import json
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.injecting import exposed
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.terms import Landed
from hfr_bench.ports.sandbox import Sandbox, SandboxUnavailableError
from hfr_bench.suites.osworld.adapter import OsworldSuite
from hfr_bench.suites.osworld.episode import DeskWorld
from hfr_bench.suites.osworld.image import GUEST
from hfr_bench.suites.osworld.machine import RESET, URL, Machine
from hfr_bench.suites.osworld.mini import DeskMiniSuite

TASK = "files-append-log"
LINE = {"command": "echo x >> notes/log.txt"}


class Own:
    """A machine: where it is reached, and the home folder on it."""

    def __init__(self, url: str, home: Path) -> None:
        self.url, self.home = url, home

    @property
    def reset(self) -> str:
        """The command that puts it back."""
        return shlex.join(["sh", "-c", 'rm -rf "$0" && mkdir "$0"', str(self.home)])


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    home = tmp_path_factory.mktemp("machine") / "home"
    argv = [sys.executable, "-B", str(GUEST / "server.py"), "--home", str(home), "--port", "0"]
    server = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    with server.stdin, server.stdout as told:
        yield Own(f"http://127.0.0.1:{json.loads(told.readline())['port']}", home)
    server.wait(30)


@pytest.fixture(scope="module")
def upstreams(own: Own) -> Iterator[Own]:
    """The same machine, as it is with OSWorld's own server: whatever is ours alone is not there."""
    relay = ThreadingHTTPServer(("127.0.0.1", 0), _relay(own.url.removeprefix("http://")))
    relay.daemon_threads = True
    serving = threading.Thread(target=relay.serve_forever, args=(0.05,))
    serving.start()
    yield Own(f"http://127.0.0.1:{relay.server_port}", own.home)
    relay.shutdown()
    serving.join()
    relay.server_close()


def _relay(to: str) -> type[BaseHTTPRequestHandler]:
    class Relay(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if self.path.startswith("/hfr/"):
                self.send_error(404)
                return
            kept = {name: value for name, value in self.headers.items() if "HFR" not in name}
            connection = http.client.HTTPConnection(to)
            connection.request(self.command, self.path, body, kept)
            answer = connection.getresponse()
            data = answer.read()
            connection.close()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.getheader("content-type", ""))
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET  # noqa: N815 - the server's own names

        def log_message(self, *_told: object) -> None:
            """Says nothing."""

    return Relay


def do(world: DeskWorld, tool: str, /, **arguments: Any) -> dict[str, Any]:
    done = world.execute(tool, arguments, actor="agent", operation_id="o")
    found: dict[str, Any] = json.loads(done.observation.body)
    return found


def mini(here: Sandbox, own: Own, **more: str) -> DeskMiniSuite:
    return DeskMiniSuite(here, profile="guest", url=own.url, **more)


def test_tasks_run_on_it_from_its_first_state_each_time(here: Sandbox, own: Own) -> None:
    suite = mini(here, own, reset=own.reset)
    (task,) = suite.select(SuiteSelection(suite="desk_mini", tasks=(TASK,)))
    world = suite.open()
    try:
        first = world.reset(task.task_id)
        for step in suite.sealed(TASK).oracle:
            do(world, step.tool, **step.arguments)
        assert world.grade(()).official == 1.0
        (own.home / "left-by-somebody").write_text("x")
        assert world.reset(TASK) == first
        assert exposed(world) is None
        assert suite.exposure.bears == frozenset()
    finally:
        world.close()


@pytest.mark.parametrize("logged", [True, False])
def test_what_became_of_a_command_is_told_by_a_log_or_unknown(
    logged: bool, here: Sandbox, own: Own, upstreams: Own
) -> None:
    suite = mini(here, own if logged else upstreams, reset=own.reset)
    world = suite.open()
    try:
        world.reset(TASK)
        reads = []
        for _ in range(2):
            do(world, "execute", **LINE)
            log = {"tool": "execute", **LINE}
            done = world.execute("operation_log", log, actor="strategy", operation_id="o")
            assert done.observation.answered
            assert not done.observation.domain_error
            reads.append(done.observation.body)
        found = suite.landed("ran_since", *reads, LINE)
        assert found is (Landed.COMMITTED if logged else Landed.UNKNOWN)
        # A file tells of itself, on any machine.
        text = {"path": "notes/log.txt", "text": "y\n"}
        before, after = (
            world.execute(
                "read_file", {"path": text["path"]}, actor="strategy", operation_id="o"
            ).observation.body
            for _ in range(2)
            if _ == 0 or do(world, "append_text", **text)
        )
        assert suite.landed("grown_by", before, after, text) is Landed.COMMITTED
    finally:
        world.close()


def test_without_a_reset_one_trial_is_run_and_the_next_refused(here: Sandbox, own: Own) -> None:
    subprocess.run(shlex.split(own.reset), check=True)
    world = mini(here, own).open()
    try:
        world.reset(TASK)
        with pytest.raises(SandboxUnavailableError, match=r"nothing resets it.*by hand"):
            world.reset(TASK)
    finally:
        world.close()


def test_only_one_is_at_work_on_it(here: Sandbox, own: Own) -> None:
    suite, other = (mini(here, own, reset=own.reset) for _ in range(2))
    world = suite.open()
    suite.open().close()  # the same worker's own, for its controls
    said: list[str] = []

    def second_worker() -> None:
        with pytest.raises(SandboxUnavailableError) as told:
            suite.open()
        said.append(str(told.value))

    worker = threading.Thread(target=second_worker)
    worker.start()
    worker.join()
    assert "another worker of this run" in said[0]
    assert "-n 1" in said[0]
    with pytest.raises(SandboxUnavailableError, match="another run is at work on it"):
        other.open()
    world.close()
    other.open().close()


@pytest.mark.parametrize(
    ("reset", "why"),
    [
        ("sh -c 'echo no such snapshot >&2; exit 3'", "ended by 3: no such snapshot"),
        ("no-such-program-here revert", "reset failed: .*no-such-program-here"),
    ],
)
def test_a_reset_that_fails_ends_the_run(reset: str, why: str, own: Own) -> None:
    with pytest.raises(SandboxUnavailableError, match=why):
        Machine(own.url, reset).start()


def test_a_reset_is_not_waited_for_by_what_it_leaves_running(own: Own) -> None:
    """As a started machine's own process holds the output of whoever has started it."""
    reset = "sh -c 'sleep 30 & echo $! > \"$0\"' " + shlex.quote(str(own.home.parent / "pid"))
    Machine(own.url, reset).start()
    subprocess.run(["kill", (own.home.parent / "pid").read_text().strip()], check=True)


def test_a_machine_that_is_not_there(here: Sandbox) -> None:
    nobody = "http://127.0.0.1:9"
    with pytest.raises(SandboxUnavailableError, match="OSWorld's server is not there"):
        Machine(nobody).check()
    Machine(nobody, "true").check()  # its reset may be what starts it
    with pytest.raises(SandboxUnavailableError, match="OSWorld's server is not there"):
        Machine(nobody, "true", ready_s=0.0).start()


def test_what_is_no_machine_is_named(here: Sandbox) -> None:
    with pytest.raises(BadInputError, match="no guest's address"):
        DeskMiniSuite(here, profile="gui", url="vm:5000")
    with pytest.raises(BadInputError, match="no command line"):
        DeskMiniSuite(here, profile="gui", url="http://vm:5000", reset="it's")
    with pytest.raises(BadInputError, match="`url` goes with profile guest or gui"):
        DeskMiniSuite(here, url="http://vm:5000")
    with pytest.raises(BadInputError, match="name it by `url`"):
        DeskMiniSuite(here, profile="guest", reset="true")


def test_osworld_takes_it_from_the_environment_and_says_so(
    here: Sandbox, own: Own, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {
        "id": "a",
        "snapshot": "gimp",
        "instruction": "Do it.",
        "related_apps": ["gimp"],
        "config": [{"type": "execute", "parameters": {"command": "sudo true", "shell": True}}],
        "evaluator": {"func": "infeasible"},
    }
    examples = tmp_path / "evaluation_examples"
    (examples / "examples" / "gimp").mkdir(parents=True)
    (examples / "examples" / "gimp" / "a.json").write_text(json.dumps(row))
    (examples / "test_all.json").write_text(json.dumps({"gimp": ["a"]}))
    chosen = SuiteSelection(suite="osworld", pool="all")
    with pytest.raises(BadInputError, match="no program gimp"):
        OsworldSuite(here, profile="guest", data_dir=tmp_path).select(chosen)
    monkeypatch.setenv(URL, own.url)
    suite = OsworldSuite(here, profile="gui", data_dir=tmp_path)
    assert suite.pin(chosen).version.endswith("a machine of the user's own, which nothing resets")
    monkeypatch.setenv(RESET, "true")
    assert OsworldSuite(here, data_dir=tmp_path).pin(chosen).version.endswith("user's own")
