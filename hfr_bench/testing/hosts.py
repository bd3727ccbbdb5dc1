"""Tool hosts without a suite: scripted ones in memory, and a small real one to be started."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from hfr_bench.ports.sandbox import HostCommand, HostDiedError, HostRefusedError, ToolHost

ECHO_HOST = """\
import json, os, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"id": asked["id"], "ok": True}
    op = asked["op"]
    if op == "echo":
        answer["said"] = asked["text"]
    elif op == "env":
        answer["names"] = sorted(os.environ)
    elif op == "hang":
        time.sleep(60)
    elif op == "die":
        sys.exit("told to die")
    else:
        answer.update(ok=False, error={"type": "UnknownOp", "message": op})
    print(json.dumps(answer), flush=True)
"""
"""A Python program that speaks the tool host protocol: echo, env, hang, die; refuses the rest."""


def echo_command(
    program: str = ECHO_HOST, python: str = sys.executable, **fields: Any
) -> HostCommand:
    """How to start a host written in one string of Python; `fields`: more of its HostCommand."""
    return HostCommand(argv=(python, "-I", "-S", "-c", program), **fields)


class ScriptedHost:
    """A ToolHost that answers with a function of (op, fields). `asked`: all requests.

    The function may raise HostRefusedError; any other exception is a host that died.
    """

    def __init__(self, answer: Callable[[str, Mapping[str, Any]], Mapping[str, Any]]) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.closed = False
        self._answer = answer

    def request(self, op: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        if self.closed:
            raise HostDiedError("the tool host is closed")
        self.asked.append((op, dict(fields)))
        try:
            return {"ok": True, **self._answer(op, fields)}
        except HostRefusedError:
            raise
        except Exception as error:
            self.closed = True
            raise HostDiedError(f"the tool host ended (at {op!r}): {error}") from error

    def close(self) -> None:
        self.closed = True


class FakeSandbox:
    """A Sandbox whose hosts are made by a function of the command. `hosts`: all it started."""

    name = "fake"
    contained = False
    image_id = None

    def __init__(self, host: Callable[[HostCommand], ToolHost] | None = None) -> None:
        self.hosts: list[ToolHost] = []
        self._closed = False
        self._host = host or (lambda _: ScriptedHost(lambda _op, _fields: {}))

    def start(self, command: HostCommand) -> ToolHost:
        if self._closed:
            raise HostDiedError("the sandbox is closed")
        host = self._host(command)
        self.hosts.append(host)
        return host

    def reap(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        self._closed = True
        for host in self.hosts:
            host.close()
