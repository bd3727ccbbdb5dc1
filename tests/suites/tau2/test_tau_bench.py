"""The older tau-bench as a source, by a toy checkout of our own (toy_tau_bench)."""

import shutil
import sys
from pathlib import Path

import pytest

TOY = Path(__file__).parent / "toy_tau_bench"
CANCEL = {"name": "cancel_reservation", "arguments": {"reservation_id": "R1"}}


@pytest.fixture(scope="module")
def toy(start_with):
    """A host on the toy. It needs no package at all, so any interpreter will do."""
    return start_with(Path(sys.executable), {"HFR_TAU2_DATA_DIR": str(TOY)})


@pytest.fixture(scope="module")
def airline(toy):
    return toy.ok("catalog", domain="airline")


def replay(host, task, calls):
    host.ok("open", domain="airline", task_id=task["task_id"])
    return [host.play(call) for call in calls]


def test_hello_names_the_checkout(toy):
    hello = toy.ok("hello")
    assert hello["distribution"]["name"] == "tau-bench checkout"
    stated, _, digest = hello["distribution"]["version"].partition("+")
    assert stated == "0.0.7"
    assert len(digest) == 12
    assert hello["domains"] == ["airline", "retail"]
    assert toy.ask("catalog", domain="telecom")["error"]["type"] == "unknown_domain"


def test_the_version_tells_what_was_edited(start_with, toy, tmp_path):
    copy = shutil.copytree(TOY, tmp_path / "copy")

    def version():
        host = start_with(Path(sys.executable), {"HFR_TAU2_DATA_DIR": str(copy)})
        return host.ok("hello")["distribution"]["version"]

    assert version() == toy.ok("hello")["distribution"]["version"]
    (copy / "notes.md").write_text("of no matter")
    assert version() == toy.ok("hello")["distribution"]["version"]
    with (copy / "tau_bench/envs/airline/data/all.json").open("a") as file:
        file.write("\n")
    assert version() != toy.ok("hello")["distribution"]["version"]


def test_the_catalog_has_its_tools_and_tasks(airline):
    assert airline["policy"] == "Be kind."
    assert {tool["name"]: tool["kind"] for tool in airline["tools"]} == {
        "cancel_reservation": "write",
        "get_reservation_details": "read",
        "send_certificate": "write",
        "transfer_to_human_agents": "generic",
        "update_reservation_passengers": "write",
    }
    assert [task["task_id"] for task in airline["tasks"]] == ["0", "1"]
    assert [task["n_writes"] for task in airline["tasks"]] == [1, 1]
    assert airline["tasks"][0]["communicate"] == ["30"]
    assert airline["tasks"][0]["user"]["text"].startswith("You are Ann.")


def test_gold_scores_one_and_upstream_agrees(toy, airline):
    for task in airline["tasks"]:
        replay(toy, task, task["gold"])
        for said, verdict in ((task["communicate"], 1.0), ([], float(not task["communicate"]))):
            grade = toy.ok("grade", said=said)
            assert grade["official"] == verdict
            official = toy.ok("grade_official", said=said)
            assert official["components"] == grade["components"]
        assert toy.ok("state")["state"] == grade["gold_state"]  # grading left the world alone


def test_an_omitted_and_a_doubled_write_lose_and_upstream_agrees(toy, airline):
    task = airline["tasks"][0]
    for calls in ([task["gold"][0]], [*task["gold"], task["gold"][1]]):
        replay(toy, task, calls)
        grade = toy.ok("grade", said=["30"])
        assert grade["components"] == {"COMMUNICATE": 1.0, "DB": 0.0}
        assert toy.ok("grade_official", said=["30"])["components"] == grade["components"]


def test_changed_rows_are_told_and_taken_back(toy, airline):
    task = airline["tasks"][0]
    states = []
    for _ in range(2):
        first = toy.ok("open", domain="airline", task_id="0")["state"]
        done = replay(toy, task, task["gold"])
        assert [answer["changed"] for answer in done] == [[], ["reservations/R1"], []]
        states.append((first, done[-1]["state"], *toy.ok("state", full=True)["upstream"]))
    assert states[0] == states[1]


def test_what_a_tool_keeps_is_not_the_callers(toy, airline):
    """The passengers' list goes into the data as it is, and is sorted there."""
    task = airline["tasks"][1]
    people = [{"first_name": "Di", "last_name": last, "dob": "2001-01-01"} for last in ("Yu", "Ho")]
    arguments = {"reservation_id": "R2", "passengers": people}
    toy.ok("open", domain="airline", task_id=task["task_id"])
    toy.ok("call", name="update_reservation_passengers", arguments=arguments)
    (entry,) = toy.ok("grade")["executed"]
    assert entry["arguments"] == arguments
    assert toy.ok("catalog", domain="airline")["tasks"][1] == task


@pytest.mark.parametrize(
    ("name", "requestor", "arguments", "content"),
    [
        ("fly", "assistant", {}, "Unknown action fly"),
        ("cancel_reservation", "user", {"reservation_id": "R1"}, "Unknown action"),
        ("cancel_reservation", "assistant", {"reservation_id": "R9"}, "Error: 'R9'"),
        ("cancel_reservation", "assistant", {"data": {}}, "Error: "),
        ("get_reservation_details", "assistant", {"reservation_id": "R9"}, "Error: reservation"),
        ("send_certificate", "assistant", {"user_id": "ann", "amount": 5}, "Error: "),
    ],
)
def test_a_wrong_call_is_a_domain_error(toy, name, requestor, arguments, content):
    first = toy.ok("open", domain="airline", task_id="0")["state"]
    answer = toy.ok("call", name=name, arguments=arguments, requestor=requestor)
    assert answer["error"] is True
    assert answer["content"].startswith(content)
    assert answer["state"] == first


def test_hosts_agree_whatever_the_hash_seed(start_with, toy, airline):
    env = {"HFR_TAU2_DATA_DIR": str(TOY), "PYTHONHASHSEED": "7"}
    other = start_with(Path(sys.executable), env)
    assert other.ok("catalog", domain="airline")["digests"] == airline["digests"]
    for host in (toy, other):
        host.ok("open", domain="airline", task_id="0")
    assert toy.ok("call", **CANCEL)["state"] == other.ok("call", **CANCEL)["state"]
