"""The shell host as a plain process: what commands come to, and what is known of them later."""

import ast
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import (
    HostDiedError,
    HostRefusedError,
    HostTimeoutError,
    SandboxContext,
    ToolHost,
)
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.shell import client
from hfr_bench.shell.client import Shell, command
from hfr_bench.testing.hosts import ScriptedHost

CONTEXT = SandboxContext(run=f"test{os.getpid()}", owner=this_process())
LONG_S = 30.0
HOST = Path(client.__file__).parent / "host"

Start = Callable[..., ToolHost]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts shell hosts, with an environment."""
    sandbox = ProcessSandbox(CONTEXT)
    yield lambda **env: sandbox.start(command(None, env=env))
    sandbox.close()


@pytest.fixture
def host(start: Start) -> ToolHost:
    return start()


@pytest.fixture
def shell(host: ToolHost) -> Iterator[Shell]:
    made = Shell(host)
    yield made
    made.close()


class Deaf:
    """A tool host whose answers to exec are lost on the way."""

    def __init__(self, host: ToolHost) -> None:
        self._host = host

    def request(self, op: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        answer = self._host.request(op, fields, timeout_s)
        if op == "exec":
            raise HostTimeoutError("lost")
        return answer

    def close(self) -> None:
        self._host.close()


def test_it_says_what_it_is(shell: Shell):
    said = shell.hello()
    assert said["protocol"] == "hfr.toolhost/1"
    assert (said["separate"], said["uid"], said["gid"]) == (False, os.getuid(), os.getgid())


def test_a_script_is_run(shell: Shell):
    done = shell.exec(
        "a", "read x; echo $x; echo $Y $PWD >&2; exit 3", stdin="in", timeout_s=LONG_S
    )
    assert (done.exit_code, done.stdout) == (3, "in\n")
    home = shell.hello()["scratch"][0]
    assert done.stderr == f"{home}\n"
    assert (done.timed_out, done.cut_bytes, done.lossy, done.left) == (False, 0, False, 0)
    assert done.wall_us > 0


def test_a_program_is_run_without_a_shell_between(shell: Shell):
    done = shell.exec("a", ["printf", "%s", "$HOME *"], timeout_s=LONG_S)
    assert done.stdout == "$HOME *"


def test_environment_and_folder_are_given(shell: Shell):
    script = "echo $X; pwd; env | grep -c HFR_SHELL"
    done = shell.exec("a", script, cwd="/usr", env={"X": "1"}, timeout_s=LONG_S)
    assert done.stdout == "1\n/usr\n0\n"


@pytest.mark.parametrize(
    ("what", "cwd", "code", "said"),
    [
        (["no-such-program"], "", 127, "cannot run no-such-program: No such file"),
        (["/etc/passwd"], "", 126, "cannot run /etc/passwd: Permission denied"),
        (["a\0b"], "", 126, "cannot run a\0b: "),
        (["true"], "/no/such/folder", 126, "cannot enter /no/such/folder: No such file"),
        ("kill -9 $$", "", 137, ""),
    ],
)
def test_what_cannot_run_ends_as_in_a_shell(shell: Shell, what, cwd, code, said):
    done = shell.exec("a", what, cwd=cwd, timeout_s=LONG_S)
    assert done.exit_code == code
    assert said in done.stderr


def test_stdin_is_empty_unless_given(shell: Shell):
    assert shell.exec("a", ["cat"], timeout_s=LONG_S).stdout == ""


def test_more_stdin_than_a_pipe_holds_is_given_whole(shell: Shell):
    done = shell.exec("a", ["wc", "-c"], stdin="x" * 3_000_000, timeout_s=LONG_S)
    assert done.stdout.strip() == "3000000"


def test_stdin_may_be_left_unread(shell: Shell):
    done = shell.exec("a", ["true"], stdin="x" * 3_000_000, timeout_s=LONG_S)
    assert done.exit_code == 0


def test_a_broken_pipe_ends_a_command_as_ever(shell: Shell):
    done = shell.exec("a", "yes | head -1; echo ${PIPESTATUS[0]}", timeout_s=LONG_S)
    assert done.stdout == "y\n141\n"


def test_long_output_keeps_its_ends_and_blocks_nobody(shell: Shell):
    script = "echo begin; head -c 5000000 /dev/zero | tr '\\0' x; echo end; echo e >&2"
    done = shell.exec("a", script, max_output_kib=1, timeout_s=LONG_S)
    assert (done.exit_code, done.stderr) == (0, "e\n")
    assert done.stdout.startswith("begin\nxxx")
    assert done.stdout.endswith("xxx" + "end\n")
    assert done.cut_bytes == 5_000_010 - 1024
    assert f"x\n[... {done.cut_bytes} bytes left out ...]\nx" in done.stdout
    recalled = shell.recall("a").executed
    assert recalled is not None
    assert recalled.stdout == done.stdout


def test_what_is_no_text_is_told(shell: Shell):
    done = shell.exec("a", r"printf '\303\251\377\0'", timeout_s=LONG_S)
    assert (done.stdout, done.lossy) == ("é\ufffd\0", True)


def test_an_operation_sent_twice_runs_twice(shell: Shell):
    assert shell.recall("a").state == "absent"
    for run in (1, 2):
        done = shell.exec("a", "echo x >> log; wc -l < log", timeout_s=LONG_S)
        assert (done.stdout, done.runs, done.repeated) == (f"{run}\n", run, False)
    assert (shell.recall("a").state, shell.recall("a").runs) == ("done", 2)


def test_an_idempotent_operation_sent_twice_runs_once(shell: Shell):
    first, second = (
        shell.exec("a", "echo x >> log; wc -l < log", idempotent=True, timeout_s=LONG_S)
        for _ in range(2)
    )
    assert (first.stdout, first.runs, first.repeated) == ("1\n", 1, False)
    assert (second.stdout, second.runs, second.repeated) == ("1\n", 1, True)
    assert second.wall_us == first.wall_us


def test_a_key_is_not_taken_for_another_command(shell: Shell):
    shell.exec("a", "true", idempotent=True, timeout_s=LONG_S)
    with pytest.raises(HostRefusedError, match="key_reused"):
        shell.exec("a", "false", idempotent=True, timeout_s=LONG_S)


def test_a_lost_answer_can_be_asked_for(host: ToolHost):
    shell = Shell(Deaf(host))
    with pytest.raises(HostTimeoutError):
        shell.exec("a", "echo x >> log; cat log; exit 4", timeout_s=LONG_S)
    recalled = shell.recall("a")
    assert (recalled.state, recalled.runs) == ("done", 1)
    assert recalled.executed is not None
    assert (recalled.executed.exit_code, recalled.executed.stdout) == (4, "x\n")


def test_of_a_run_that_died_with_its_host_only_the_start_is_known(start: Start, tmp_path: Path):
    env = {"HFR_SHELL_MARKERS": str(tmp_path / "markers")}
    request = {"operation_id": "a", "argv": ["sleep", "60"], "timeout_s": 60}
    host = start(**env)
    Shell(host).hello()  # it is there; what it is asked next it begins at once
    with pytest.raises(HostTimeoutError):
        host.request("exec", request, 1)
    shell = Shell(start(**env))
    assert (shell.recall("a").state, shell.recall("a").runs) == ("started", 1)
    with pytest.raises(HostRefusedError, match="in_doubt"):
        shell.exec("a", ["sleep", "60"], timeout_s=60, idempotent=True)


def test_a_host_that_starts_anew_knows_what_had_ended_before(start: Start, tmp_path: Path):
    env = {"HFR_SHELL_MARKERS": str(tmp_path / "markers"), "HFR_SHELL_SCRATCH": str(tmp_path)}
    first = start(**env)
    Shell(first).exec("a", "echo x >> log; exit 3", timeout_s=LONG_S)
    first.close()
    shell = Shell(start(**env))
    recalled = shell.recall("a")
    assert recalled.executed is not None
    assert (recalled.state, recalled.runs, recalled.executed.exit_code) == ("done", 1, 3)
    assert shell.exec("a", "cat log", timeout_s=LONG_S).runs == 2


def test_no_stale_bytecode_is_run(shell: Shell):
    """An edit in the same second that leaves the length would run as what was there before."""
    run = f"{sys.executable} -c 'import mine; print(mine.X)'"
    done = shell.exec(
        "a", f"echo X=1 > mine.py; {run}; echo X=2 > mine.py; {run}", timeout_s=LONG_S
    )
    assert done.stdout == "1\n2\n"
    assert shell.exec("b", "ls", timeout_s=LONG_S).stdout == "mine.py\n"


def test_a_killed_shell_leaves_nobody(shell: Shell):
    done = shell.exec("a", "sleep 60 & sleep 60 & kill -KILL $$", timeout_s=LONG_S)
    assert (done.exit_code, done.left) == (137, 0)
    assert shell.processes() == ()


def test_nothing_runs_that_cannot_be_written_down(start: Start, tmp_path: Path):
    markers = tmp_path / "markers"
    shell = Shell(start(HFR_SHELL_MARKERS=str(markers)))
    shell.hello()
    markers.rmdir()
    with pytest.raises(HostRefusedError, match=r"marker: run 1 cannot be written down as started"):
        shell.exec("a", f"touch {tmp_path}/ran", timeout_s=LONG_S)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"operation_id": "a", "timeout_s": 1},
        {"operation_id": "a", "timeout_s": 1, "argv": ["true"], "script": "true"},
        {"operation_id": "a", "timeout_s": 1, "argv": []},
        {"operation_id": "a", "timeout_s": 1, "argv": [1]},
        {"operation_id": "a", "timeout_s": 1, "script": "true", "env": {"X": 1}},
        {"operation_id": "a", "timeout_s": 1, "script": "true", "cwd": 1},
        {"operation_id": "a", "timeout_s": 0, "script": "true"},
        {"operation_id": "a", "timeout_s": True, "script": "true"},
        {"operation_id": 1, "timeout_s": 1, "script": "true"},
    ],
)
def test_a_bad_request_is_refused_and_survived(host: ToolHost, request_: dict[str, Any]):
    with pytest.raises(HostRefusedError, match="bad_request"):
        host.request("exec", request_, LONG_S)
    assert host.request("recall", {"operation_id": "a"}, LONG_S)["state"] == "absent"


def test_an_unknown_op_is_told_what_there_is(host: ToolHost):
    with pytest.raises(HostRefusedError, match=r"unknown_op: .*'fly'.*exec, recall"):
        host.request("fly", {}, LONG_S)


def test_files_are_written_and_read(shell: Shell):
    shell.write("deep/down/file", b"\0\xff" * 1000, mode=0o755)
    assert shell.read("deep/down/file") == b"\0\xff" * 1000
    assert len(shell.read("deep/down/file", max_kib=1)) == 1024
    shell.write("deep/down/file", b"short")
    assert shell.read("deep/down/file") == b"short"
    assert shell.exec("a", "stat -c %a deep/down/file", timeout_s=LONG_S).stdout == "644\n"


@pytest.mark.parametrize(
    ("path", "kind"),
    [("none", "FileNotFoundError"), ("fifo", "not_a_file"), ("/dev/zero", "not_a_file")],
)
def test_only_plain_files_are_read(shell: Shell, path: str, kind: str):
    shell.exec("a", "mkfifo fifo", timeout_s=LONG_S)
    with pytest.raises(HostRefusedError, match=kind):
        shell.read(path)


def test_a_snapshot_tells_one_state_from_another(shell: Shell):
    shell.exec("a", "mkdir d; echo 1 > d/f; ln -s f d/l; mkfifo d/p", timeout_s=LONG_S)
    states = {shell.snapshot("d")}
    assert states == {shell.snapshot("d")}
    for change in ("echo 2 > d/f", "chmod 600 d/f", "ln -sf g d/l", "mv d/f d/g", "mkdir d/e"):
        shell.exec("a", change, timeout_s=LONG_S)
        states.add(shell.snapshot("d"))
    assert len(states) == 6


def test_a_tree_tells_which_files_changed(shell: Shell):
    shell.exec("a", "mkdir -p d/c; echo 1 > d/f; ln -s f d/l; echo x > d/c/g", timeout_s=LONG_S)
    before = shell.tree("d", "nowhere", leave_out=["c"])
    assert sorted(before) == ["d/f", "d/l"]
    shell.exec("a", "echo 2 > d/f; ln -sf g d/l; echo y > d/c/g; touch d/n", timeout_s=LONG_S)
    after = shell.tree("d", "nowhere", leave_out=["c"])
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert changed == {"d/f", "d/l", "d/n"}
    assert sorted(shell.tree("d/f")) == ["d/f"]
    elsewhere = str(Path(__file__).resolve())
    assert sorted(shell.tree(elsewhere)) == [elsewhere]
    with pytest.raises(HostRefusedError, match="leave_out"):
        shell.tree("d", leave_out=[1])  # type: ignore[list-item]


def test_a_reset_leaves_nothing_and_says_so(shell: Shell):
    clean = shell.reset()
    script = (
        "mkdir -p a/b; chmod 0 a; touch .x; ln -s / root; mkfifo p; setsid sleep 60 & chmod 0 ."
    )
    shell.exec("a", script, timeout_s=LONG_S)
    assert shell.reset() == clean
    assert shell.processes() == ()
    assert shell.recall("a").state == "absent"
    assert shell.exec("b", "ls -A", timeout_s=LONG_S).stdout == ""
    assert Path("/usr").exists()


def test_a_host_that_cannot_start_says_why(start: Start):
    with pytest.raises(HostDiedError, match="HFR_SHELL_USER=me"):
        start(HFR_SHELL_USER="me").request("hello", {}, LONG_S)


def test_an_answer_without_a_result_is_a_broken_host():
    shell = Shell(ScriptedHost(lambda _op, _fields: {"exit_code": 0}))
    with pytest.raises(HostDiedError, match="without 'timed_out'"):
        shell.exec("a", "true", timeout_s=1)


def test_closing_a_dead_host_is_no_error(host: ToolHost):
    shell = Shell(host)
    host.close()
    shell.close()


def test_our_patience_is_longer_than_the_timeout_inside():
    asked: list[float] = []

    class Host(ScriptedHost):
        def request(self, op: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
            asked.append(timeout_s)
            raise HostDiedError

    with suppress(HostDiedError):
        Shell(Host(lambda _op, _fields: {})).exec("a", "true", timeout_s=7)
    assert asked[0] > 7 + 10  # ending a family takes up to 10 s


def test_its_source_is_seen_by_no_command(shell: Shell):
    made = command(None)
    assert "def " not in " ".join(made.argv)
    assert max(map(len, made.env.values())) < 100 * 1024  # one variable may have 128 KiB
    assert shell.exec("a", "env | grep HFR_SHELL", timeout_s=LONG_S).stdout == ""


@pytest.mark.parametrize("source", sorted(HOST.glob("*.py")), ids=lambda path: path.name)
def test_it_is_written_for_old_pythons(source: Path):
    tree = ast.parse(source.read_text(encoding="utf-8"), feature_version=(3, 8))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert imported <= sys.stdlib_module_names


def test_a_command_is_cheap(shell: Shell):
    """2.4 ms on a quiet machine; here only that nothing waits for a clock."""
    best = min(_timed(lambda: shell.exec("a", ["true"], timeout_s=LONG_S)) for _ in range(20))
    assert best < 0.05


def _timed(do: Callable[[], object]) -> float:
    began = time.monotonic()
    do()
    return time.monotonic() - began
