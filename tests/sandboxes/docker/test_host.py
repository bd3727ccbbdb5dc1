"""Attached stdio against hosts that misbehave, each in its own way."""

import time
from typing import Any

import pytest

from hfr_bench.ports.sandbox import HostDiedError, HostTimeoutError

pytestmark = pytest.mark.docker

PATIENCE_S = 0.3
SOON_S = 30
"""A busy machine takes its time; what hangs here hangs for longer."""
HEAD = "import json, os, sys, time\n"


def test_a_dead_host_is_told_with_its_exit_code_and_the_end_of_what_it_said(
    sandbox: Any, probe: Any
) -> None:
    host = sandbox.start(probe(HEAD + "sys.exit('the last words ' + 'x' * 9000 + ' of a host')"))
    with pytest.raises(HostDiedError, match=r"ended \(at 'open'\): exit code 1;.*\nx+ of a host$"):
        host.request("open", {}, 10)
    with pytest.raises(HostDiedError, match="it was closed"):
        host.request("open", {}, 10)


def test_a_host_that_babbles_is_ended(sandbox: Any, probe: Any) -> None:
    host = sandbox.start(probe(HEAD + "print('hello', flush=True); time.sleep(60)"))
    with pytest.raises(HostDiedError, match="not JSON"):
        host.request("open", {}, 10)


@pytest.mark.parametrize(
    "program",
    [
        "time.sleep(60)",
        "while True: print('x', end='', flush=True); time.sleep(0.001)",
        "while True: sys.stderr.write('x' * 65536)",
    ],
    ids=["deaf", "endless", "endless on stderr"],
)
def test_no_host_outlives_its_timeout(sandbox: Any, probe: Any, left: Any, program: str) -> None:
    host = sandbox.start(probe(HEAD + program))
    began = time.monotonic()
    with pytest.raises(HostTimeoutError, match=r"'open' in 0\.3 s"):
        host.request("open", {"text": "x" * 1_000_000}, PATIENCE_S)
    assert time.monotonic() - began < SOON_S
    assert left() == []


def test_long_requests_and_answers_arrive_whole(sandbox: Any, echo: Any) -> None:
    host = sandbox.start(echo())
    text = "ü" * 1_000_000
    assert host.request("echo", {"text": text}, 30)["said"] == text


def test_a_host_that_talks_while_it_should_listen_is_heard_out(sandbox: Any, probe: Any) -> None:
    """Neither side may wait for the other to read: it fills stderr before it reads on."""
    program = HEAD + (
        "sys.stderr.write('x' * 4_000_000); sys.stderr.flush()\n"
        "n = len(json.loads(sys.stdin.readline())['text'])\n"
        "print(json.dumps({'id': 1, 'ok': True, 'n': n}), flush=True)\n"
        "time.sleep(60)"
    )
    host = sandbox.start(probe(program))
    assert host.request("open", {"text": "x" * 4_000_000}, 30)["n"] == 4_000_000


def test_stdout_and_stderr_are_told_apart(sandbox: Any, probe: Any, do: Any) -> None:
    host = sandbox.start(probe())
    for n in range(50):
        code = f"print('noise' * {n}, file=sys.stderr, flush=True); said = {n}"
        assert do(host, code) == n
    with pytest.raises(HostDiedError, match=r"it said:\n[noise\n]+$"):
        do(host, "os._exit(0)")
