"""Every reconcile contract against the real world, at every gold write of every base task."""

from collections import Counter

import pytest

pytestmark = pytest.mark.tau2

ALL = pytest.param(1, marks=pytest.mark.slow, id="all")
HALF = pytest.param(2, id="every second")
FOURTH = pytest.param(4, id="every fourth")

# Where the call changes nothing: the state it asks for already holds, so "committed" is the truth
# before the call as well as after it.
ALREADY_SO = {("retail", "110", "modify_user_address")}

# Reconciled late, after all other gold calls, a contract can be deceived: by another effect of the
# same kind since the before-read, or by a newer write over ours. Known and counted; a runtime that
# reconciles within the step meets none of them.
DECEIVED_LATE = {
    ("airline", "23", 1, "omitted", "committed"),  # two bookings for one user
    ("airline", "23", 2, "omitted", "committed"),
    ("airline", "32", 3, "done", "absent"),  # its flights were changed again
    ("retail", "22", 1, "done", "absent"),  # the address was changed again
    ("retail", "110", 1, "omitted", "committed"),  # the address was so already
}


def advance(host, site):
    """Open the site's task and play up to the write, which is not played."""
    host.ok("open", domain=site.domain, task_id=site.task["task_id"])
    for earlier in site.task["gold"][: site.index]:
        host.play(earlier)


@pytest.mark.parametrize("nth", [ALL, HALF])
def test_contracts_tell_landed_from_lost(host, sites, contract_of, nth):
    seen = Counter()
    for site in sites[::nth]:
        label = (site.domain, site.task["task_id"], site.action["name"])
        contract = contract_of(site)
        advance(host, site)
        before = contract.read()
        without = contract.verdict(before, contract.read())
        call = host.play(site.action)
        after = contract.verdict(before, contract.read())
        if call["error"]:
            assert (without, after) == ("absent", "absent"), label
        elif not call["changed"]:
            assert label in ALREADY_SO
            assert (without, after) == ("committed", "committed")
        else:
            assert (without, after) == ("absent", "committed"), label
        seen["error" if call["error"] else "changed" if call["changed"] else "already so"] += 1
    assert seen["changed"] > 150
    assert nth > 1 or seen == {"changed": 331, "error": 4, "already so": 1}


ACCUMULATED = {
    "book_reservation": 1,
    "cancel_reservation": 13,
    "send_certificate": 3,
    "refuel_data": 50,
}


@pytest.mark.parametrize("nth", [ALL, FOURTH])
def test_contracts_still_say_committed_after_a_duplicate(host, sites, contract_of, content, nth):
    accumulated = Counter()
    for site in sites[::nth]:
        row = content["tools"][site.domain]["assistant"][site.action["name"]]
        contract = contract_of(site)
        advance(host, site)
        before = contract.read()
        if host.play(site.action)["error"]:
            continue
        if host.play(site.action)["changed"]:
            assert row["reconcile"]["needs_before"], site.action["name"]
            accumulated[site.action["name"]] += 1
        assert contract.verdict(before, contract.read()) == "committed"
    assert set(accumulated) <= set(ACCUMULATED)
    assert len(accumulated) > 1
    assert nth > 1 or accumulated == ACCUMULATED


def test_a_second_attempt_is_told_from_the_first(host, sites, contract_of, content):
    """What accumulates, begun anew: with a before-read of its own, a lost repeat reads absent."""
    for site in sites:
        name = site.action["name"]
        if name not in ("cancel_reservation", "send_certificate", "refuel_data"):
            continue
        contract = contract_of(site)
        advance(host, site)
        host.play(site.action)
        before = contract.read()
        assert contract.verdict(before, contract.read()) == "absent", name
        host.play(site.action)
        assert contract.verdict(before, contract.read()) == "committed", name


@pytest.mark.parametrize("nth", [ALL, FOURTH])
def test_late_reconciliation_is_deceived_only_where_known(host, sites, contract_of, nth):
    known = {key[:3] for key in DECEIVED_LATE}
    deceived = set()
    for n, site in enumerate(sites):
        if n % nth and (site.domain, site.task["task_id"], site.index) not in known:
            continue
        contract = contract_of(site)
        for what in ("done", "omitted"):
            advance(host, site)
            before = contract.read()
            landed = what == "done" and not host.play(site.action)["error"]
            for later in site.task["gold"][site.index + 1 :]:
                host.play(later)
            verdict = contract.verdict(before, contract.read())
            if verdict != ("committed" if landed else "absent"):
                key = (site.domain, site.task["task_id"], site.index, what, verdict)
                deceived.add(key)
    assert deceived == DECEIVED_LATE


def test_an_unreadable_world_is_unknown(host, sites, contract_of):
    for site in sites[::7]:
        contract = contract_of(site)
        advance(host, site)
        before = contract.read()
        for damaged in ("Error: row not found", "", "null", "[]", "{}", before[: len(before) // 2]):
            assert contract.verdict(before, damaged) == "unknown"
