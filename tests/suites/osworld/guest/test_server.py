"""The server as a program of its own: its two ways, its end, and that nothing outlives it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hfr_bench.ports.sandbox import HostRefusedError, Sandbox
from hfr_bench.suites.osworld.client import Guest, GuestError, GuestTimeoutError
from hfr_bench.suites.osworld.desktop import Desktop, command
from hfr_bench.suites.osworld.guest.commands import _living
from hfr_bench.suites.osworld.image import GUEST, Profile

PATIENCE_S = 60


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def served(home: Path) -> Iterator[tuple[Guest, "subprocess.Popen[bytes]"]]:
    argv = [sys.executable, "-E", "-S", str(GUEST / "server.py"), "--port", "0"]
    with subprocess.Popen(
        [*argv, "--home", str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        assert child.stdout is not None
        try:
            port = json.loads(child.stdout.readline())["port"]
            yield Guest.at(f"http://127.0.0.1:{port}"), child
        finally:
            child.kill()


def test_over_http_as_over_stdio(tmp_path):
    with served(tmp_path / "user") as (guest, child):
        assert guest.execute(["sh", "-c", "pwd"], operation_id="a").output == "/home/user\n"
        assert guest.recall("a") == ("done", 1, 0)
        guest.upload("/home/user/f", b"\0\r\n")
        assert guest.file("/home/user/f") == b"\0\r\n"
        assert guest.file("/home/user/g") is None
        with pytest.raises(GuestTimeoutError):
            guest.execute("sleep 600", shell=True, timeout_s=0.1, operation_id="b")
        until(lambda: guest.recall("b").state == "started")
        # It serves until stdin ends, and ends what it has started.
        guest.launch(["sleep", "600"])
        group = os.getpgid(child.pid)
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(PATIENCE_S) == 0
        assert not [pid for pid, _, of in _living() if of == group]
        with pytest.raises(GuestError) as gone:
            guest.platform()
        assert not gone.value.sent


def test_the_log_outlives_the_guest(tmp_path):
    with served(tmp_path / "user") as (guest, child):
        guest.execute(["true"], operation_id="before")
        with pytest.raises(GuestTimeoutError):
            guest.execute(["sleep", "600"], timeout_s=0.1, operation_id="midst")
        until(lambda: guest.recall("midst").state == "started")  # it was sent, that is all
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    with served(tmp_path / "user") as (guest, _):
        assert guest.recall("before").state == "done"
        assert guest.recall("midst") == ("started", 1, None)


def test_as_a_tool_host_it_survives_what_is_no_request(here: Sandbox):
    host = here.start(command(Profile.SHELL, contained=False))
    try:
        hello = host.request("hello", {}, 10)
        assert (hello["protocol"], hello["profile"]) == ("hfr.toolhost/1", "shell")
        for op, fields in (("nothing", {}), ("http", {}), ("more", {"call": 9, "wait_s": 0})):
            with pytest.raises(HostRefusedError, match="bad_request"):
                host.request(op, fields, 10)
        assert Guest.over(host).platform() == "Linux"
    finally:
        host.close()


def test_one_that_is_given_up_is_not_asked_after_again_and_holds_up_nobody(here: Sandbox):
    desktop = Desktop.start(here, Profile.SHELL)
    try:
        with pytest.raises(GuestTimeoutError):
            desktop.guest.execute(["sleep", "600"], timeout_s=0.05)
        began = time.monotonic()
        assert desktop.guest.platform() == "Linux"
        assert time.monotonic() - began < PATIENCE_S
    finally:
        desktop.close()
