"""The tool host: a program of its own that survives whatever it is asked, and learns no secrets."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.errors import InfrastructureError
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.ports.sandbox import HostCommand, HostRefusedError, SandboxContext, ToolHost
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.shopdesk import ShopdeskSuite
from hfr_bench.suites.shopdesk.generate import generate
from hfr_bench.suites.shopdesk.image import host_command, image_spec
from hfr_bench.testing.hosts import FakeSandbox, ScriptedHost

HOST = Path("hfr_bench/suites/shopdesk/host/main.py").resolve()
TASK = generate("host", 4)
OPEN = {"op": "open", "task_id": "t", "tables": TASK.tables}


def asked(*requests: Any) -> list[dict[str, Any]]:
    """A fresh host's answers; it must end well when its input does."""
    lines = [r if isinstance(r, str) else json.dumps({"id": 1, **r}) for r in requests]
    ran = subprocess.run(
        [sys.executable, "-B", "-E", "-S", str(HOST)],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_it_says_what_it_is() -> None:
    hello = asked({"op": "hello"})[0]
    assert (hello["protocol"], hello["suite"]) == ("hfr.toolhost/1", "shopdesk")


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        ("{", "bad_json"),
        ("[" * 100_000, "bad_json"),
        ("[]", "bad_request"),
        ({"op": 1}, "bad_request"),
        ({"op": "x"}, "unknown_op"),
        ({"op": "state"}, "no_task"),
        ({"op": "call", "name": "get_order", "arguments": {}}, "no_task"),
        ({"op": "call", "name": "get_order"}, "bad_request"),
        ({"op": "call", "name": "x", "arguments": {}, "requestor": "root"}, "bad_request"),
        ({"op": "grade", "wanted": {}, "said": [1]}, "bad_request"),
        ({"op": "open", "task_id": "t", "tables": {"orders": [{}]}}, "bad_request"),
        ({"op": "open", "task_id": "t", "tables": {"orders": 3}}, "bad_request"),
    ],
)
def test_a_bad_request_is_refused_and_survived(request_: Any, kind: str) -> None:
    refused, hello = asked(request_, {"op": "hello"})
    assert (refused["ok"], refused["error"]["type"]) == (False, kind)
    assert hello["ok"]


def test_a_world_that_is_not_as_before_is_refused() -> None:
    other = {**TASK.tables, "tickets": []}
    wanted = [dict(row, name="x") for row in TASK.tables["customers"]]
    answers = asked(OPEN, OPEN, {**OPEN, "tables": {**other, "customers": wanted}})
    assert answers[0]["state"] == answers[1]["state"]
    assert answers[2]["error"]["type"] == "reset_failed"


def test_reads_change_nothing_and_writes_name_their_rows() -> None:
    read = {"op": "call", "name": "get_order", "arguments": {"order_id": "O-1001"}}
    arguments = {"customer_id": "C-1002", "street": "a", "city": "b", "zip": "c"}
    write = {"op": "call", "name": "set_address", "arguments": arguments}
    opened, looked, wrote, again = asked(OPEN, read, write, write)
    assert (looked["changed"], looked["state"]) == ([], opened["state"])
    assert wrote["changed"] == ["customers/C-1002"]
    assert again["changed"] == []
    assert again["state"] == wrote["state"] != opened["state"]


class Listening:
    """A host that notes what it is asked."""

    def __init__(self, inner: ToolHost, heard: list[str]) -> None:
        self._inner, self._heard = inner, heard

    def request(self, op: str, fields: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        if op != "grade":
            self._heard.append(json.dumps(fields))
        return self._inner.request(op, fields, timeout_s)

    def close(self) -> None:
        self._inner.close()


def test_what_is_wanted_reaches_the_host_with_the_grading_alone(context: SandboxContext) -> None:
    real, heard = ProcessSandbox(context), list[str]()

    def start(command: HostCommand) -> ToolHost:
        return Listening(real.start(command), heard)

    suite = ShopdeskSuite(FakeSandbox(start))
    world = suite.open()
    for task in suite.select(SuiteSelection(suite="shopdesk", pool="demo")):
        world.reset(task.task_id)
        sealed = suite.sealed(task.task_id)
        assert world.grade(sealed.say).components == {"STATE": 0.0, "SAID": 1.0}
        assert json.loads(heard[-1]) == {
            "task_id": task.task_id,
            "tables": suite._instances[task.task_id].tables,
        }
    real.close()


def test_the_image_holds_the_host_and_nothing_else() -> None:
    spec = image_spec()
    assert (spec.role, set(spec.files), spec.requirements) == ("shopdesk", {"host"}, None)
    assert "RUN" not in spec.dockerfile


def test_it_needs_no_environment_of_its_own() -> None:
    assert host_command().argv[0] == sys.executable
    assert host_command().env == {}


def played(suite: ShopdeskSuite) -> list[Any]:
    """Everything a world says while two tasks are played."""
    said: list[Any] = []
    world = suite.open()
    for task in suite.select(SuiteSelection(suite="shopdesk", pool="demo"))[-2:]:
        sealed = suite.sealed(task.task_id)
        said.append(world.reset(task.task_id))
        for step in sealed.oracle:
            done = world.execute(step.tool, step.arguments, actor=step.actor, operation_id="")
            said.append((done.observation.body, done.changed, done.state))
        said.append(world.grade(sealed.say))
    world.close()
    return said


@pytest.mark.docker
def test_the_host_in_the_image_says_what_the_host_outside_says(context: SandboxContext) -> None:
    said = []
    for sandbox in (ProcessSandbox(context), DockerSandbox(context)):
        suite = ShopdeskSuite(sandbox)
        said.append(played(suite))
        suite.close()
    assert said[0] == said[1]


def test_a_refusal_leaves_the_host_alive(context: SandboxContext) -> None:
    sandbox = ProcessSandbox(context)
    host = sandbox.start(host_command())
    with pytest.raises(HostRefusedError):
        host.request("state", {}, 10)
    assert host.request("hello", {}, 10)["ok"]
    sandbox.close()


def test_a_host_with_other_tools_than_the_catalog_is_not_used() -> None:
    host = ScriptedHost(lambda _op, _fields: {"tools": {"agent": ["get_order", "get_rich"]}})
    suite = ShopdeskSuite(FakeSandbox(lambda _command: host))
    with pytest.raises(InfrastructureError, match=r"do not agree on: .*get_rich"):
        suite.select(SuiteSelection(suite="shopdesk", pool="demo"))
    assert host.closed
