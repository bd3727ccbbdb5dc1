"""The process sandbox against small hosts that misbehave, each in its own way."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import (
    HostCommand,
    HostDiedError,
    HostRefusedError,
    HostTimeoutError,
    SandboxContext,
    ToolHost,
)
from hfr_bench.sandboxes.process import ProcessSandbox, _marked
from hfr_bench.testing.conformance import check_sandbox
from hfr_bench.testing.hosts import ECHO_HOST, echo_command

PATIENCE_S = 0.3
SOON_S = 30
"""A busy machine takes its time; what hangs here hangs for longer."""
CONTEXT = SandboxContext(run=f"test{os.getpid()}", owner=this_process())


@pytest.fixture
def sandbox() -> Iterator[ProcessSandbox]:
    made = ProcessSandbox(CONTEXT)
    yield made
    made.close()


def start(sandbox: ProcessSandbox, program: str, **fields: object) -> ToolHost:
    command = echo_command("import json, os, subprocess, sys, time\n" + program)
    return sandbox.start(HostCommand(argv=command.argv, **fields))  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    """Whether a process still runs (a zombie does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def gone(pid: int) -> bool:
    """Whether a process ends within a moment: a kill takes effect when the system gets to it."""
    deadline = time.monotonic() + SOON_S
    while alive(pid) and time.monotonic() < deadline:
        os.sched_yield()
    return not alive(pid)


def test_it_does_what_every_sandbox_must(sandbox: ProcessSandbox) -> None:
    check_sandbox(sandbox)
    assert (sandbox.name, sandbox.contained, sandbox.image_id) == ("process", False, None)


def test_a_program_that_is_not_there_is_said() -> None:
    with pytest.raises(HostDiedError, match="cannot start the tool host /no/such/program"):
        ProcessSandbox(CONTEXT).start(HostCommand(argv=("/no/such/program",)))


def test_a_dead_host_is_told_with_the_end_of_what_it_said(sandbox: ProcessSandbox) -> None:
    host = start(sandbox, "sys.exit('the last words ' + 'x' * 9000 + ' of a host')")
    with pytest.raises(HostDiedError, match=r"ended \(at 'open'\).*\n.*xxx of a host"):
        host.request("open", {}, 10)
    with pytest.raises(HostDiedError):
        host.request("open", {}, 10)


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ("hello, I am a host", "not JSON"),
        ("[]", "out of order"),
        ('{"id": 7, "ok": true}', "out of order"),
        ('{"ok": true}', "out of order"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_host_that_babbles_is_ended(sandbox: ProcessSandbox, answer: str, what: str) -> None:
    host = start(sandbox, f"sys.stdin.readline(); print({answer!r}, flush=True); time.sleep(60)")
    with pytest.raises(HostDiedError, match=what):
        host.request("open", {}, 10)


@pytest.mark.parametrize("error", ["null", '"no"', '{"type": "NotFound", "message": "no"}'])
def test_a_refusal_of_any_shape_is_a_refusal(sandbox: ProcessSandbox, error: str) -> None:
    program = f"""
for n, line in enumerate(sys.stdin, 1):
    print('{{"id": %d, "ok": false, "error": {error}}}' % n, flush=True)
"""
    host = start(sandbox, program)
    for _ in range(2):
        with pytest.raises(HostRefusedError):
            host.request("open", {}, 10)


@pytest.mark.parametrize(
    "program",
    [
        "time.sleep(60)",
        "sys.stdin.readline(); time.sleep(60)",
        "while True: print('x', end='', flush=True); time.sleep(0.001)",
        "print('{\"id\": 1', end='', flush=True); time.sleep(60)",
    ],
    ids=["deaf", "mute", "endless", "half a line"],
)
def test_no_host_outlives_its_timeout(sandbox: ProcessSandbox, program: str) -> None:
    host = start(sandbox, program)
    began = time.monotonic()
    with pytest.raises(HostTimeoutError, match=r"'open' in 0\.3 s"):
        host.request("open", {}, PATIENCE_S)
    assert time.monotonic() - began < SOON_S


def test_a_host_that_floods_us_is_ended_before_our_memory_is_full(sandbox: ProcessSandbox) -> None:
    host = start(sandbox, "while True: sys.stdout.write('x' * 65536)")
    with pytest.raises(HostDiedError, match=r"'open' with a line of over 67108864 B"):
        host.request("open", {}, 30)


def test_a_host_that_does_not_read_a_long_request_is_ended_too(sandbox: ProcessSandbox) -> None:
    host = start(sandbox, "time.sleep(60)")
    with pytest.raises(HostTimeoutError):
        host.request("open", {"text": "x" * 1_000_000}, PATIENCE_S)


def test_no_time_at_all_is_a_timeout_at_once(sandbox: ProcessSandbox) -> None:
    with pytest.raises(HostTimeoutError):
        start(sandbox, "time.sleep(60)").request("open", {}, 0)


def test_long_requests_and_answers_arrive_whole(sandbox: ProcessSandbox) -> None:
    host = sandbox.start(echo_command())
    text = "ü" * 1_000_000
    assert host.request("echo", {"text": text}, 30)["said"] == text


def test_an_answer_to_an_earlier_request_is_not_taken_for_a_later_one(
    sandbox: ProcessSandbox,
) -> None:
    host = start(
        sandbox, 'print(\'{"id": 1, "ok": true}\\n\' * 2, end="", flush=True); sys.stdin.read()'
    )
    host.request("one", {}, 10)
    with pytest.raises(HostDiedError, match="out of order"):
        host.request("two", {}, 10)


GRANDCHILD = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
sys.stdin.readline()
print(json.dumps({"id": 1, "ok": True, "pid": child.pid, "own": os.getpid()}), flush=True)
"""


@pytest.mark.parametrize("rest", ["time.sleep(600)", "sys.exit()"], ids=["alive", "ended itself"])
def test_closing_ends_everything_the_host_started(sandbox: ProcessSandbox, rest: str) -> None:
    host = start(sandbox, GRANDCHILD + rest)
    answer = host.request("open", {}, 30)
    assert alive(answer["pid"])
    host.close()
    assert gone(answer["pid"])
    assert not alive(answer["own"])
    host.close()


def test_a_host_that_hangs_is_ended_with_all_it_started(sandbox: ProcessSandbox) -> None:
    host = start(sandbox, GRANDCHILD + "time.sleep(600)")
    pid = host.request("open", {}, 30)["pid"]
    with pytest.raises(HostTimeoutError):
        host.request("more", {}, PATIENCE_S)
    assert gone(pid)


def test_closing_the_sandbox_closes_all_its_hosts() -> None:
    sandbox = ProcessSandbox(CONTEXT)
    hosts = [sandbox.start(echo_command()) for _ in range(2)]
    pids = [host._transport._child.pid for host in hosts]  # type: ignore[attr-defined]
    assert all(alive(pid) for pid in pids)
    sandbox.close()
    assert not any(alive(pid) for pid in pids)


class Secret:
    """A secret in our environment for as long as it is needed."""

    def __enter__(self) -> None:
        os.environ["HFR_TEST_API_KEY"] = "sk-123"

    def __exit__(self, *_: object) -> None:
        del os.environ["HFR_TEST_API_KEY"]


def test_no_secret_of_our_environment_is_handed_on(sandbox: ProcessSandbox) -> None:
    with Secret():
        host = sandbox.start(HostCommand(argv=echo_command().argv, env={"GIVEN": "1"}))
        names = set(host.request("env", {}, 30)["names"])
    assert "HFR_TEST_API_KEY" not in names
    assert {"PATH", "TMPDIR", "GIVEN"} <= names
    allowed = {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "HOME", "SSL_CERT_FILE", "OPENBLAS_CORETYPE"}
    assert names <= allowed | {"TMPDIR", "GIVEN"}


def test_the_temporary_directory_is_the_hosts_own_and_removed(sandbox: ProcessSandbox) -> None:
    program = """
open("left behind", "w").close()
sys.stdin.readline()
print(json.dumps({"id": 1, "ok": True, "in": os.getcwd(), "tmp": os.environ["TMPDIR"]}), flush=True)
time.sleep(60)
"""
    host = start(sandbox, program)
    answer = host.request("where", {}, 30)
    folder = Path(answer["in"])
    assert folder == Path(answer["tmp"]).resolve()
    assert folder.parent == Path(tempfile.gettempdir()).resolve()
    assert (folder / "left behind").exists()
    host.close()
    assert not folder.exists()


def test_limits_hold_for_the_host(sandbox: ProcessSandbox) -> None:
    program = """
import resource
sys.stdin.readline()
names = ("RLIMIT_CORE", "RLIMIT_AS", "RLIMIT_CPU")
limits = {name: resource.getrlimit(getattr(resource, name))[0] for name in names}
print(json.dumps({"id": 1, "ok": True, **limits}), flush=True)
"""
    answer = start(sandbox, program, memory_mib=512, cpu_s=7).request("limits", {}, 30)
    limits = [answer[name] for name in ("RLIMIT_CORE", "RLIMIT_AS", "RLIMIT_CPU")]
    assert limits == [0, 512 * 1024 * 1024, 7]


def test_the_echo_host_is_a_program_of_its_own() -> None:
    assert ECHO_HOST in echo_command().argv


OWNER = """
import os, sys, time
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import HostCommand, SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
sandbox = ProcessSandbox(SandboxContext(run=sys.argv[1], owner=this_process()))
child = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', "
child += "'import time; time.sleep(600)'], start_new_session=True); print(flush=True); "
host = sandbox.start(HostCommand(argv=(sys.executable, "-c", child + sys.argv[2])))
host._transport.receive(time.monotonic() + 60)
print(os.path.basename(host._transport._dir), flush=True)
sys.stdin.read()
"""
"""A harness with one host, which has a child that left the group. Says the host's folder."""


@pytest.fixture
def harness() -> Iterator[Callable[..., tuple[subprocess.Popen[str], Path]]]:
    """Start a harness; returns it and its host's folder."""
    made: list[subprocess.Popen[str]] = []

    def start_one(run: str, rest: str = "time.sleep(600)") -> tuple[subprocess.Popen[str], Path]:
        argv = [sys.executable, "-c", OWNER, run, rest]
        child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        made.append(child)
        assert child.stdout is not None
        return child, Path(tempfile.gettempdir()) / child.stdout.readline().strip()

    yield start_one
    for child in made:
        child.kill()
        child.communicate()


def marked(folder: Path) -> list[int]:
    """The processes that were started in a host's folder, wherever they are now."""
    return list(_marked(b"\0TMPDIR=" + os.fsencode(folder) + b"\0"))


@pytest.mark.parametrize("rest", ["time.sleep(600)", "sys.exit()"], ids=["alive", "ended itself"])
def test_what_a_killed_harness_left_is_reaped(harness: Any, rest: str) -> None:
    child, folder = harness(CONTEXT.run, rest)
    sandbox = ProcessSandbox(CONTEXT)
    assert sandbox.reap() == ()  # its owner lives
    assert marked(folder)
    child.kill()
    child.wait()
    assert sandbox.reap() == (folder.name,)
    assert not marked(folder)
    assert not folder.exists()
    assert sandbox.reap() == ()


def test_another_runs_leavings_are_not_touched(harness: Any) -> None:
    child, folder = harness(f"other{os.getpid()}")
    child.kill()
    child.wait()
    assert ProcessSandbox(CONTEXT).reap() == ()
    assert marked(folder)
    other = SandboxContext(run=f"other{os.getpid()}", owner=this_process())
    ProcessSandbox(other).reap()
    assert not marked(folder)
    assert not folder.exists()


def test_a_folder_that_was_never_signed_goes_with_the_process_of_its_name() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    top = Path(tempfile.gettempdir())
    left, kept = (top / f"hfr-host-{CONTEXT.run}-{pid}-a" for pid in (ended.pid, os.getpid()))
    left.mkdir()
    kept.mkdir()
    try:
        assert ProcessSandbox(CONTEXT).reap() == (left.name,)
        assert (left.exists(), kept.exists()) == (False, True)
    finally:
        kept.rmdir()


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"memory": 1}, "memory: unknown key"),
        ({"cpu_s": "1"}, "cpu_s: Input should be a valid integer"),
        ({"memory_mib": 0}, "memory_mib: Input should be greater than 0"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], what: str) -> None:
    with pytest.raises(BadInputError, match=f"sandbox process: {what}"):
        ProcessSandbox(CONTEXT, **settings)


def test_settings_are_the_limits_of_hosts_that_name_none() -> None:
    sandbox = ProcessSandbox(CONTEXT, memory_mib=512, cpu_s=7)
    program = """
import resource
sys.stdin.readline()
limits = [resource.getrlimit(what)[0] for what in (resource.RLIMIT_AS, resource.RLIMIT_CPU)]
print(json.dumps({"id": 1, "ok": True, "limits": limits}), flush=True)
"""
    host = start(sandbox, program, cpu_s=9)
    assert host.request("limits", {}, 30)["limits"] == [512 * 1024 * 1024, 9]
    sandbox.close()


def test_a_request_ends_although_what_left_the_group_holds_the_pipes(
    sandbox: ProcessSandbox,
) -> None:
    program = """
sys.stdin.readline()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"],
    start_new_session=True)
print(json.dumps({"id": 1, "ok": True, "pid": child.pid}), flush=True)
time.sleep(60)
"""
    host = start(sandbox, program)
    pid = host.request("one", {}, 30)["pid"]
    timer = threading.Timer(0.1, host.close)
    timer.start()
    began = time.monotonic()
    with pytest.raises(HostDiedError, match="it was closed"):
        host.request("two", {}, 60)
    assert time.monotonic() - began < SOON_S
    timer.join()
    os.kill(pid, signal.SIGKILL)
