"""The desk as a suite: fit to be registered, pinned, chosen by pool, committed to by digest."""

import hashlib
from collections import Counter
from collections.abc import Callable

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.validate import validate
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.terms import SideEffect
from hfr_bench.suites.shopdesk import ShopdeskSuite
from hfr_bench.suites.shopdesk.adapter import SEED
from hfr_bench.testing.conformance import check_suite

MakeSuite = Callable[..., ShopdeskSuite]

BASE = SuiteSelection(suite="shopdesk", pool="base")
DEMO = SuiteSelection(suite="shopdesk", pool="demo")


@pytest.mark.parametrize("seed", [None, 7, "another"])
def test_it_is_a_suite(make_suite: MakeSuite, seed: int | str | None) -> None:
    check_suite(make_suite(seed=seed), BASE)


@pytest.mark.parametrize("seed", [None, 8])
def test_it_is_fit_to_be_registered(make_suite: MakeSuite, seed: int | None) -> None:
    found = validate(make_suite(seed=seed, tasks=48), BASE)
    assert found.problems == ()
    assert {row.oracle for row in found.tasks} == {1.0}
    assert {row.nop for row in found.tasks} == {0.0}


def test_the_level_of_every_tool_is_tried_and_the_world_agrees(make_suite: MakeSuite) -> None:
    rows = {row.tool: row for row in validate(make_suite(tasks=48), BASE).tools}
    assert {t for t, row in rows.items() if row.verdict != "tested"} == {"send_email"}
    repeated = {
        tool: {what for what in ("changed", "error", "nothing") if getattr(row, what)}
        for tool, row in rows.items()
        if row.level.writes and row.level is not SideEffect.IRREVERSIBLE
    }
    assert repeated == {
        "set_address": {"nothing"},
        "set_shipping": {"nothing"},
        "toggle_gift_wrap": {"changed"},
        "place_order": {"changed"},
        "refund": {"changed", "error"},  # an error where the whole rest was paid back
        "create_ticket": {"changed"},
        "cancel_order": {"error"},
        "close_ticket": {"error"},
        "request_approval": {"error"},
    }


def test_every_contract_is_sure_with_its_reads(make_suite: MakeSuite) -> None:
    for row in validate(make_suite(tasks=48), BASE).tools:
        assert set(row.reconciled) <= {"landed:committed", "not landed:absent"}


def test_the_demo_is_balanced(make_suite: MakeSuite) -> None:
    suite = make_suite()
    tasks = suite.select(DEMO)
    assert len(tasks) == 12
    assert Counter(task.criticality for task in tasks) == {"low": 4, "medium": 4, "high": 4}
    for task in tasks:
        writes = sum(effect.count for effect in suite.sealed(task.task_id).expected)
        assert task.task_id.endswith(f"-{task.criticality}-{writes}")
    assert len({len(task.tools) for task in tasks}) > 2


def test_pools_by_criticality_make_up_the_whole(make_suite: MakeSuite) -> None:
    suite = make_suite()
    parts = [
        suite.select(SuiteSelection(suite="shopdesk", pool=p)) for p in ("low", "medium", "high")
    ]
    assert {t.task_id for part in parts for t in part} == {t.task_id for t in suite.select(BASE)}


def test_what_the_world_looks_like_is_pinned(make_suite: MakeSuite) -> None:
    pins = [make_suite(seed=seed).pin(DEMO) for seed in (1, 1, 2)]
    assert pins[0] == pins[1]
    assert not set(pins[0].task_digests.values()) & set(pins[2].task_digests.values())
    assert not set(pins[0].tasks) & set(pins[2].tasks)


def test_the_pin_does_not_tell_the_seed(make_suite: MakeSuite) -> None:
    assert "very secret" not in make_suite(seed="very secret").pin(DEMO).dumps()


def test_a_seed_can_be_committed_to_and_revealed_in_the_registration(
    make_suite: MakeSuite,
) -> None:
    promised = hashlib.sha256(b"4711").hexdigest()
    revealed = make_suite(seed=4711, seed_digest=promised)
    assert revealed.pin(DEMO) == make_suite(seed="4711").pin(DEMO)


def test_or_revealed_without_touching_the_registration(
    make_suite: MakeSuite, monkeypatch: pytest.MonkeyPatch
) -> None:
    promised = hashlib.sha256(b"long and drawn").hexdigest()
    hidden = make_suite(seed_digest=promised)
    with pytest.raises(BadInputError, match=f"reveal the seed in {SEED}"):
        hidden.select(DEMO)
    monkeypatch.setenv(SEED, "long and drawn")
    assert len(make_suite(seed_digest=promised).select(DEMO)) == 12


def test_without_a_commitment_the_environment_does_not_count(
    make_suite: MakeSuite, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = make_suite().pin(DEMO)
    monkeypatch.setenv(SEED, "another")
    assert make_suite().pin(DEMO) == usual


def test_another_seed_than_was_promised_is_refused(make_suite: MakeSuite) -> None:
    with pytest.raises(BadInputError, match="not the seed that seed_digest commits to"):
        make_suite(seed=2, seed_digest=hashlib.sha256(b"1").hexdigest())


@pytest.mark.parametrize(
    "config",
    [
        {"seed_digest": "abc"},
        {"seed_digest": 5},
        {"seed": ""},
        {"seed": True},
        {"seed": 1.5},
        {"tasks": 0},
        {"tasks": "many"},
        {"tasks": True},
    ],
)
def test_settings_that_mean_nothing_are_refused(
    make_suite: MakeSuite, config: dict[str, object]
) -> None:
    with pytest.raises(BadInputError, match="suite shopdesk: "):
        make_suite(**config)


def test_what_is_not_there_is_named_with_what_is(make_suite: MakeSuite) -> None:
    suite = make_suite()
    with pytest.raises(BadInputError, match="there are: base, demo, low, medium, high"):
        suite.select(SuiteSelection(suite="shopdesk", pool="x"))
    with pytest.raises(BadInputError, match="has no task 'x'; with this seed there are 24"):
        suite.select(SuiteSelection(suite="shopdesk", tasks=("x",)))
    with pytest.raises(BadInputError, match="one of the two"):
        suite.select(SuiteSelection(suite="shopdesk"))
    with pytest.raises(BadInputError, match="demo needs 12 tasks"):
        make_suite(tasks=11).select(DEMO)


def test_doctor_finds_nothing_missing() -> None:
    assert ShopdeskSuite.diagnose().ok
