"""Grading: gold scores 1, the quick verdict is upstream's, digests are as sharp as upstream's."""

import random

import pytest

pytestmark = pytest.mark.tau2

DOMAINS = ("airline", "retail", "telecom")
NOP_SCORES_ONE = {"airline": 19, "retail": 7, "telecom": 0}
UNCHANGED_BY_GOLD = {"airline": 20, "retail": 11, "telecom": 20}
OFFICIAL_SAMPLE = {"airline": 1, "retail": 3, "telecom": 12}


def replay(host, domain, task, calls):
    host.ok("open", domain=domain, task_id=task["task_id"])
    for action in calls:
        host.play(action)


@pytest.mark.parametrize("domain", DOMAINS)
def test_gold_scores_one_on_every_base_task(host, catalogs, domain):
    for task in catalogs[domain]["tasks"]:
        replay(host, domain, task, task["gold"])
        grade = host.ok("grade", said=task["communicate"])
        assert grade["official"] == 1.0, task["task_id"]
        assert sorted(grade["components"]) == task["basis"]
        assert grade["state"] == grade["gold_state"]


@pytest.mark.parametrize("domain", DOMAINS)
def test_doing_nothing_scores_as_counted(host, catalogs, domain):
    ones = unchanged = 0
    for task in catalogs[domain]["tasks"]:
        replay(host, domain, task, [])
        grade = host.ok("grade")
        same = grade["state"] == grade["gold_state"]
        unchanged += same
        ones += int(grade["official"])
        if grade["official"]:
            assert same, task["task_id"]
    assert ones == NOP_SCORES_ONE[domain]
    assert unchanged == UNCHANGED_BY_GOLD[domain]


def test_what_was_not_said_is_missed(host, catalogs):
    task = next(t for t in catalogs["retail"]["tasks"] if t["communicate"])
    replay(host, "retail", task, task["gold"])
    assert host.ok("grade", said=["", "  "])["components"]["COMMUNICATE"] == 0.0
    said = [f"It is {info.upper()}, as you say." for info in task["communicate"]]
    assert host.ok("grade", said=said)["official"] == 1.0
    assert host.ok("grade_official", said=said)["official"] == 1.0


@pytest.mark.parametrize("domain", DOMAINS)
def test_grading_leaves_the_world_alone(host, catalogs, domain):
    for task in catalogs[domain]["tasks"]:
        replay(host, domain, task, task["gold"][:-1])
        state = host.ok("state")["state"]
        assert host.ok("grade")["state"] == state
        assert host.ok("state")["state"] == state


def variants(task, count, seed):
    """Gold with some calls doubled, left out or moved to the end."""
    rng = random.Random(f"{seed}/{task['task_id']}")
    yield task["gold"]
    for _ in range(count):
        calls = list(task["gold"])
        for _ in range(rng.randint(1, 2)):
            if calls:
                at = rng.randrange(len(calls))
                kind = rng.choice(("double", "late", "omit"))
                if kind == "double":
                    calls.insert(at, calls[at])
                elif kind == "late":
                    calls.append(calls[at])
                else:
                    del calls[at]
        yield calls


def sample(catalogs, domain, count):
    tasks = [t for t in catalogs[domain]["tasks"] if t["n_writes"]]
    return random.Random(f"sample/{domain}").sample(tasks, count)


@pytest.mark.parametrize(
    "domain", [pytest.param(d, marks=pytest.mark.slow if d == "airline" else ()) for d in DOMAINS]
)
def test_digests_are_equal_exactly_when_upstreams_are(host, catalogs, domain):
    """Over all the states met in a domain, one digest is one upstream hash, both ways."""
    pairs = set()
    for task in sample(catalogs, domain, 6):
        for calls in variants(task, 3, "digest"):
            host.ok("open", domain=domain, task_id=task["task_id"])
            for action in calls:
                state = host.play(action)["state"]
            answer = host.ok("state", full=True)
            if calls:
                assert answer["state"] == state
            pairs.add((answer["state"], tuple(answer["upstream"])))
    assert len(pairs) > 6
    assert len({ours for ours, _ in pairs}) == len(pairs)
    assert len({theirs for _, theirs in pairs}) == len(pairs)


def assert_official_agrees(host, domain, task, calls):
    replay(host, domain, task, calls)
    quick = host.ok("grade", said=task["communicate"])
    official = host.ok("grade_official", said=task["communicate"])
    assert quick["official"] == official["official"], task["task_id"]
    assert quick["components"] == official["components"]
    if domain != "telecom":
        assert official["db_match"] == (quick["state"] == quick["gold_state"])
    return quick["official"]


@pytest.mark.parametrize(
    "domain", [pytest.param(d, marks=pytest.mark.slow if d == "retail" else ()) for d in DOMAINS]
)
def test_the_quick_verdict_is_upstreams(host, catalogs, domain):
    verdicts = set()
    for task in sample(catalogs, domain, OFFICIAL_SAMPLE[domain]):
        for calls in variants(task, 2, "verdict"):
            verdicts.add(assert_official_agrees(host, domain, task, calls))
    assert verdicts == {0.0, 1.0}


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_quick_verdict_is_upstreams_on_every_task(host, catalogs, domain):
    for task in catalogs[domain]["tasks"]:
        assert assert_official_agrees(host, domain, task, task["gold"]) == 1.0
        assert_official_agrees(host, domain, task, task["gold"][:-1])


@pytest.mark.parametrize(("nth", "wrong"), [pytest.param(1, 71, marks=pytest.mark.slow), (6, None)])
def test_upstreams_database_check_is_not_valid_in_telecom(host, catalogs, nth, wrong):
    """Why telecom is not graded by its database: perfect trajectories fail it."""
    mismatches = 0
    for task in catalogs["telecom"]["tasks"][::nth]:
        replay(host, "telecom", task, task["gold"])
        mismatches += not host.ok("grade_official", said=task["communicate"])["db_match"]
    assert mismatches == wrong if wrong is not None else mismatches > 3


@pytest.mark.slow
def test_worlds_are_taken_back_in_place(host, catalogs):
    """Tasks of all domains, interleaved, each spoilt: every opening is as the first."""
    order = [
        (domain, task)
        for domain in DOMAINS
        for task in random.Random("order").sample(catalogs[domain]["tasks"], 5)
    ]
    random.Random("mix").shuffle(order)
    firsts = {}
    for _ in range(2):
        for domain, task in order:
            state = host.ok("open", domain=domain, task_id=task["task_id"])["state"]
            assert host.ok("state")["state"] == state
            full = (state, host.ok("state", full=True)["upstream"])
            assert firsts.setdefault((domain, task["task_id"]), full) == full
            for action in task["gold"] * 2:
                host.play(action)


def test_bill_numbers_repeat(host, catalogs):
    """Refuelling without a draft bill invents a bill number: the same one in every world."""
    task = catalogs["telecom"]["tasks"][0]["task_id"]
    customers = ("C1001", "C1002", "C1003")

    def refuel_all():
        host.ok("open", domain="telecom", task_id=task)
        changed = []
        for customer in customers:
            read = host.ok("call", name="get_customer_by_id", arguments={"customer_id": customer})
            if read["error"]:
                continue
            line = read["content"].split('"line_ids": ["')[1].split('"')[0]
            arguments = {"customer_id": customer, "line_id": line, "gb_amount": 1}
            changed += host.ok("call", name="refuel_data", arguments=arguments)["changed"]
        official = host.ok("grade_official")  # replays strictly: raises if answers differ
        return changed, host.ok("state")["state"], official["ok"]

    first = refuel_all()
    assert any(name.startswith("bills/") for name in first[0])
    assert refuel_all() == first
