"""The room that suites share for checks: three levels by a suite's rules, and the second look."""

from dataclasses import replace

import pytest

from hfr_bench.model.task import ReconcileContract, TaskSpec, ToolSpec
from hfr_bench.model.terms import CheckLevel, Landed, SideEffect
from hfr_bench.ports.verifier import Check
from hfr_bench.suites._verifying import ByRules, Rules, judged, second_look
from hfr_bench.testing.fakes import fine, lost

V0, V1, V2 = CheckLevel.TRANSPORT, CheckLevel.DETERMINISTIC, CheckLevel.SEMANTIC
CONTRACT = ReconcileContract(read="look", arguments={"n": "$n"}, landed="there")
PUT = ToolSpec(name="put", level=SideEffect.QUERYABLE, reconcile=CONTRACT)
BLIND = ToolSpec(name="blind", level=SideEffect.QUERYABLE)
LOOK = ToolSpec(name="look", level=SideEffect.READ)
TASK = TaskSpec(
    task_id="t", suite="s", domain="d", prompt="p", deadline_s=1.0, tools=(PUT, BLIND, LOOK)
)
RULES = Rules(
    whole=lambda tool, seen: "" if seen.body else f"{tool} said nothing",
    sound=lambda check: "" if check.arguments.get("n") else "n is missing",
    level_of=lambda _tool, given: SideEffect.READ if given.get("n") == "only look" else None,
    landed=lambda predicate, before, after, given: Landed(f"{after}"),
    called=lambda check: f"put {check.arguments['n']}",
)
VERIFIER = ByRules(TASK, RULES)


def check(tool="put", seen=None, now=None, **arguments):
    """`now`: what the second look is told; None = nobody may look."""

    def look(read, given):
        assert now is not None, "it looked"
        assert (read, given) == ("look", {"n": arguments.get("n")})
        return now

    return Check(tool, arguments, seen, (), look)


def test_each_level_asks_its_own_rule():
    assert VERIFIER.verify(V0, check()).passed  # not made yet: nothing to say
    assert VERIFIER.verify(V0, check(seen=fine("a"))).passed
    assert VERIFIER.verify(V0, check(seen=fine(""))).reasons == ("put said nothing",)
    assert VERIFIER.verify(V0, check(seen=lost())).reasons[0].startswith("no answer")
    assert VERIFIER.verify(V1, check(n=1)).passed
    assert VERIFIER.verify(V1, check()).reasons == ("n is missing",)


@pytest.mark.parametrize(
    ("said", "passed", "undecided"),
    [("committed", True, False), ("absent", False, False), ("unknown", True, True)],
)
def test_a_write_is_looked_for(said, passed, undecided):
    found = VERIFIER.verify(V2, check(n=1, now=fine(said)))
    assert (found.passed, found.undecided) == (passed, undecided)
    assert found.reasons == (f"look shows put 1 as {said}",)


@pytest.mark.parametrize("now", [lost(), replace(fine("absent"), domain_error=True)])
def test_a_look_that_failed_decides_nothing(now):
    found = VERIFIER.verify(V2, check(n=1, now=now))
    assert (found.passed, found.undecided, found.quality) == (True, True, 0.5)


def test_nobody_looks_for_a_read_or_without_a_contract():
    assert not VERIFIER.verify(V2, check("look", n=1)).undecided
    assert not VERIFIER.verify(V2, check("put", n="only look")).undecided
    assert VERIFIER.verify(V2, check("blind", n=1)).undecided
    assert second_look(BLIND, check("blind"), RULES.landed, "it").undecided


def test_what_it_cannot_judge_is_said():
    assert VERIFIER.verify(V0, check("mail")).reasons == ("no tool mail",)
    with pytest.raises(ValueError, match="level V3: there are V0, V1, V2"):
        VERIFIER.verify(CheckLevel.AUTHORITY, check())


def test_an_empty_reason_is_none():
    assert judged(V1, "", "").passed
    assert judged(V1, "", "because").reasons == ("because",)
