"""Which records may be used: the public counts, and every reason for leaving one out."""

from collections import Counter

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.webarena.choose import UNSCORED, Equipment, choose
from hfr_bench.suites.webarena.rows import read_record


def made(task_id=1, sites=("reddit",), **evaluation):
    return read_record(
        {
            "task_id": task_id,
            "sites": list(sites),
            "intent": "i",
            "intent_template_id": 1,
            "start_url": "__REDDIT__",
            "eval": {"eval_types": ["string_match"], "reference_answers": {}, **evaluation},
        },
        "x",
    )


EXACT = made(1, reference_answers={"exact_match": "a"})
FUZZY = made(2, reference_answers={"fuzzy_match": ["a"]})
SHOP = made(3, ("shopping",), reference_answers={"exact_match": "a"})
PAGE = made(4, eval_types=["program_html"], program_html=[{"url": "last", "locator": ""}])


def ids(records):
    return [record.id for record in records]


@pytest.mark.parametrize(
    ("equipment", "sure", "explored"),
    [
        (Equipment(), [1], []),
        (Equipment(judge=True), [1], [2]),
        (Equipment(accepted=frozenset({2})), [1], [2]),
        (Equipment(state_checked=frozenset({2})), [1, 2], []),
        (Equipment(labelled=frozenset({2})), [1, 2], []),
    ],
)
def test_words_need_somebody(equipment, sure, explored):
    found = choose([EXACT, FUZZY], equipment)
    assert (ids(found.confirmatory), ids(found.exploratory)) == (sure, explored)
    if 2 not in sure + explored:
        assert found.told()["left_out"] == {"words that nobody judges": [2]}


def test_every_record_left_out_has_its_reason():
    equipment = Equipment(sites=frozenset({"reddit"}))
    found = choose([EXACT, SHOP, PAGE], equipment, recorded=True)
    assert found.told() == {
        "confirmatory": [1],
        "exploratory": [],
        "left_out": {"site not there: shopping": [3], "needs a living page": [4]},
    }
    found = choose([EXACT, PAGE], Equipment(), checks=["program_html"])
    assert found.left_out == ((1, "graded by string_match"),)
    assert choose([SHOP], Equipment(), only_sites=["reddit"]).left_out == ((3, "on shopping"),)


def test_a_name_that_is_none_is_refused():
    with pytest.raises(BadInputError, match="no intranet: there are shopping"):
        choose([], Equipment(), only_sites=["intranet"])
    with pytest.raises(BadInputError, match="no guess: there are string_match"):
        choose([], Equipment(), checks=["guess"])


def test_the_public_records_are_counted(records):
    original, verified = records("original"), records("verified")
    assert (len(original), len(verified), len(records("verified-hard"))) == (812, 812, 258)
    judge = Counter(record.needs.judge for record in original)
    assert judge == {"never": 694, "always": 82, "unless_na": 36}
    words = [r for r in original if r.checks == ("string_match",) and r.needs.judge == "never"]
    assert len(words) == 212
    assert Counter("+".join(record.checks) for record in original) == {
        "string_match": 325,
        "program_html": 282,
        "url_match+program_html": 129,
        "url_match": 66,
        "string_match+url_match": 10,
    }
    sites = Counter(r.problem.sites[0] if len(r.problem.sites) == 1 else "" for r in original)
    assert sites == {
        "shopping": 187,
        "shopping_admin": 182,
        "gitlab": 180,
        "map": 109,
        "reddit": 106,
        "": 48,
    }
    assert Counter(r.work for r in verified) == {"mutate": 374, "retrieve": 325, "navigate": 113}
    assert sum("rest" in record.needs.reads for record in original) == 15
    assert Counter(record.needs.living for record in verified) == {False: 812}
    checks = [e for r in verified for e in r.grading if e["evaluator"] == "NetworkEventEvaluator"]
    assert len(checks) == 663
    assert sum(bool(check.get("should_not_exist")) for check in checks) == 8


def test_the_public_records_are_parted(records):
    original = choose(records("original"), Equipment())
    assert (len(original.confirmatory), len(original.left_out)) == (694, 118)
    recorded = choose(records("original"), Equipment(), recorded=True, checks=["string_match"])
    assert len(recorded.confirmatory) == 212
    verified = choose(records("verified"), Equipment(), recorded=True)
    assert len(verified.confirmatory) == 812 - len(UNSCORED)
    assert set(verified.told()["left_out"]["its own grader gives 1.0 to nobody"]) == UNSCORED
