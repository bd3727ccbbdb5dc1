"""Levels against the world: what a repeat does, for every tool and every gold site."""

import pytest

pytestmark = pytest.mark.tau2

DOMAINS = ("airline", "retail", "telecom")


def levels(content, domain, requestor):
    return {n: r["level"] for n, r in content["tools"][domain].get(requestor, {}).items()}


def assert_level(level, first, second):
    """The rule of the levels, on a call that changed the world and its immediate repeat."""
    if level == "R1":
        assert not second["error"]
        assert second["changed"] == []
        assert second["state"] == first["state"]
    elif level == "R2":
        assert second["error"] or second["changed"]
    else:
        pytest.fail(f"a write of level {level}")


@pytest.mark.parametrize(
    "domain",
    [pytest.param(d, marks=pytest.mark.slow if d == "telecom" else ()) for d in DOMAINS],
)
def test_gold_calls_behave_as_their_level_says(host, catalogs, content, domain):
    seen = set()
    for task in catalogs[domain]["tasks"]:
        for index, action in enumerate(task["gold"]):
            level = levels(content, domain, action["requestor"])[action["name"]]
            before = host.ok("open", domain=domain, task_id=task["task_id"])["state"]
            for earlier in task["gold"][:index]:
                before = host.play(earlier)["state"]
            first = host.play(action)
            if level in ("R0", "R3"):
                assert first["state"] == before
                assert first["changed"] == []
            elif first["changed"]:
                assert_level(level, first, host.play(action))
                seen.add((action["requestor"], action["name"]))
    writes = {
        (action["requestor"], action["name"])
        for task in catalogs[domain]["tasks"]
        for action in task["gold"]
        if action["kind"] == "write"
    }
    assert seen == writes


LINE = {"customer_id": "C1001", "line_id": "L1001"}


@pytest.mark.parametrize(
    ("requestor", "name", "arguments"),
    [
        ("assistant", "suspend_line", {**LINE, "reason": "lost"}),
        ("assistant", "disable_roaming", LINE),
        ("user", "connect_vpn", {}),
        ("user", "set_apn_settings", {"apn_settings": {"mms_apn": "other"}}),
        ("user", "toggle_wifi", {}),
    ],
)
def test_writes_that_no_gold_uses(host, catalogs, content, requestor, name, arguments):
    tasks = catalogs["telecom"]["tasks"]
    task = next(t for t in tasks if "airplane" not in t["task_id"])  # there nothing switches on
    host.ok("open", domain="telecom", task_id=task["task_id"])
    if name == "disable_roaming":
        host.ok("call", name="enable_roaming", arguments=arguments)
    call = {"name": name, "arguments": arguments, "requestor": requestor}
    first = host.ok("call", **call)
    assert first["changed"]
    assert_level(levels(content, "telecom", requestor)[name], first, host.ok("call", **call))


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_hand_over_leaves_no_trace(host, catalogs, domain):
    task = catalogs[domain]["tasks"][0]["task_id"]
    state = host.ok("open", domain=domain, task_id=task)["state"]
    call = {"name": "transfer_to_human_agents", "arguments": {"summary": "stuck"}}
    answer = host.ok("call", **call)
    assert not answer["error"]
    assert answer["state"] == state


def test_reads_never_change_the_telecom_phone(host, catalogs, content):
    for task in catalogs["telecom"]["tasks"][::10]:
        state = host.ok("open", domain="telecom", task_id=task["task_id"])["state"]
        for name, level in levels(content, "telecom", "user").items():
            if level == "R0":
                arguments = {"app_name": "messaging"} if name.startswith("check_app_") else {}
                answer = host.ok("call", name=name, arguments=arguments, requestor="user")
                assert answer["state"] == state, name
