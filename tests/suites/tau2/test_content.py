"""suites/tau2/*.yaml against the catalog: nothing missing, nothing invented, nothing copied."""

import pytest

from hfr_bench.suites.tau2.contracts import PREDICATES

pytestmark = pytest.mark.tau2

DOMAINS = ("airline", "retail", "telecom")
KEYS = {
    "level",
    "identity_args",
    "idempotency_key_param",
    "reconcile",
    "equivalents",
    "compensate_by",
    "irreversible",
}


def parameters(catalog, name):
    (tool,) = (t for t in catalog["tools"] if t["name"] == name)
    return set(tool["parameters"].get("properties", {}))


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_tool_has_a_level(catalogs, content, domain):
    offered = {t["name"]: t["kind"] for t in catalogs[domain]["tools"]}
    ours = content["tools"][domain]["assistant"]
    assert ours.keys() == offered.keys()
    for name, row in ours.items():
        writes = offered[name] == "write"
        assert (row["level"] in ("R1", "R2")) is writes, name
        assert (row["level"] == "R3") is (name == "transfer_to_human_agents")
    user_tools = {t["name"] for t in catalogs[domain]["user_tools"]}
    assert content["tools"][domain].get("user", {}).keys() == user_tools


@pytest.mark.parametrize("domain", DOMAINS)
def test_contracts_name_what_exists(catalogs, content, domain):
    ours = content["tools"][domain]["assistant"]
    for name, row in ours.items():
        if row["level"] == "R0":
            continue
        assert row.keys() - {"why"} == KEYS, name
        offered = parameters(catalogs[domain], name)
        assert set(row["identity_args"]) <= offered, name
        assert row["compensate_by"] is None or row["compensate_by"] in ours
        contract = row["reconcile"]
        if contract is None:
            assert row["level"] == "R3"
            assert row["why"]
            continue
        assert contract["landed"] in PREDICATES
        assert ours[contract["read"]]["level"] == "R0"
        assert contract["arguments"].keys() <= parameters(catalogs[domain], contract["read"])
        assert {value.removeprefix("$") for value in contract["arguments"].values()} <= offered


def test_every_predicate_is_used(content):
    sources = [{d: content["tools"][d]["assistant"] for d in DOMAINS}]
    sources += [over["tools"] for over in content["checkouts"].values()]
    used = {
        row["reconcile"]["landed"]
        for tools in sources
        for rows in tools.values()
        for row in rows.values()
        if row.get("reconcile")
    }
    assert used == PREDICATES.keys()


def test_what_checkouts_lay_over_is_whole(content):
    for source, over in content["checkouts"].items():
        assert over.keys() <= {"tools", "pools", "probes"}
        for domain, rows in over["tools"].items():
            for name, row in rows.items():
                assert row == {"level": "R0"} or row.keys() - {"why"} == KEYS, (source, name)
                assert row["level"] == "R0" or name in content["tools"][domain]["assistant"]
        assert over["pools"].keys() <= content["pools"]["pools"].keys()


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_manifest_pins_what_the_host_reads(catalogs, content, domain):
    row = content["suite"]["domains"][domain]
    assert row["digests"] == catalogs[domain]["digests"]
    assert row["tasks"] == len(catalogs[domain]["tasks"])
    basis = {b for task in catalogs[domain]["tasks"] for b in task["basis"]}
    assert basis == set(row["oracle"])


def test_the_pool_of_duplicates_is_what_the_world_says(host, catalogs, content):
    """Exactly the tasks with an agent's write whose immediate repeat loses the reward."""
    pool = content["pools"]["pools"]["duplicates"]
    for domain in DOMAINS:
        losing = set()
        for task in catalogs[domain]["tasks"]:
            for index, action in enumerate(task["gold"]):
                if action["kind"] != "write" or action["requestor"] != "assistant":
                    continue
                host.ok("open", domain=domain, task_id=task["task_id"])
                for other in (*task["gold"][: index + 1], *task["gold"][index:]):
                    host.play(other)
                if host.ok("grade", said=task["communicate"])["official"] == 0.0:
                    losing.add(task["task_id"])
        assert losing == set(pool.get(domain, []))
