"""Records as tasks: what may be used, what is left out and why, what a record tells of itself."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.suites.webarena.load import PYTHON
from hfr_bench.suites.webarena.official.catalog import Catalog
from hfr_bench.suites.webarena.official.content import offer
from hfr_bench.suites.webarena.official.solutions import gold_answer
from hfr_bench.suites.webarena.places import places_in

ALL = {
    site: f"http://h/{site}"
    for site in ("SHOPPING", "SHOPPING_ADMIN", "REDDIT", "GITLAB", "MAP", "WIKIPEDIA")
}


def catalog(folder: Path | None, named: Mapping[str, str] = ALL, **settings: Any) -> Catalog:
    return Catalog(places_in(named), offer({}), folder, **settings)


def row(task_id: int, **evaluation: Any) -> dict[str, Any]:
    known = {"reference_answers": None, "reference_url": "", "program_html": []}
    return {
        "sites": ["reddit"], "task_id": task_id, "intent": "Who?", "intent_template_id": 1,
        "start_url": "__REDDIT__", "storage_state": "./.auth/reddit_state.json",
        "eval": {**known, **evaluation},
    }  # fmt: skip


WORDS = row(1, eval_types=["string_match"], reference_answers={"must_include": ["Ann", "Bea"]})
JUDGED = row(2, eval_types=["string_match"], reference_answers={"fuzzy_match": ["a week"]})
URL = row(3, eval_types=["url_match"], reference_url="__REDDIT__/f/books |OR| __REDDIT__/b")
PAGE = row(
    4,
    eval_types=["program_html"],
    program_html=[{"url": "last", "locator": "", "required_contents": {"must_include": ["x"]}}],
)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    rows = json.dumps([WORDS, JUDGED, URL, PAGE])
    (tmp_path / "test.raw.json").write_text(rows)
    return tmp_path


def ids(found: Any) -> list[str]:
    return [one.public.task_id for one in found]


def test_words_that_nobody_judges_are_left_out_and_with_accepted_answers_are_for_exploring(
    records: Path,
) -> None:
    plain = catalog(records)
    assert ids(plain.pool("original")) == ["original-1", "original-3", "original-4"]
    assert plain.choice("original").left_out == ((2, "words that nobody judges"),)
    (records / "accepted.yaml").write_text("2: [seven days, one week]\n")
    assert ids(plain.pool("original")) == ["original-1", "original-3", "original-4"]
    with pytest.raises(BadInputError, match="rests on judged words; register `exploratory: true`"):
        plain.chosen(["original-2"])
    open_ = catalog(records, exploratory=True)
    found = open_.pool("original")
    assert ids(found) == ["original-1", "original-3", "original-4", "original-2"]
    assert [one.public.stratum for one in found] == ["reddit"] * 3 + ["reddit, exploratory"]


def test_the_pool_of_words_needs_no_site(records: Path) -> None:
    assert ids(catalog(records, {}).pool("words")) == ["original-1"]
    with pytest.raises(BadInputError, match="set REDDIT=http://HOST:9999"):
        catalog(records, {}).pool("original")


def test_a_record_tells_its_own_solution_where_answer_or_address_is_all(records: Path) -> None:
    found = {
        one.public.task_id: [(s.tool, s.arguments) for s in one.sealed.oracle]
        for one in catalog(records).pool("original")
    }
    assert found == {
        "original-1": [("stop", {"answer": "Ann, Bea"})],
        "original-3": [
            ("goto", {"url": "http://forum.example/f/books"}),
            ("stop", {"answer": "done"}),
        ],
        "original-4": [],
    }


def test_a_solution_that_somebody_wrote_counts_first(records: Path) -> None:
    (records / "solutions.yaml").write_text("4: [\"click link 'A'\"]\n1: [stop Cleo]\n")
    tasks = catalog(records)
    assert [s.tool for s in tasks.task("original-4").sealed.oracle] == ["click", "stop"]
    assert tasks.task("original-1").sealed.oracle[0].arguments == {"answer": "Cleo"}


@pytest.mark.parametrize("text", ["x: [stop]", "1: stop", "1: [[stop]]"])
def test_a_file_of_solutions_that_cannot_be_read_is_named(records: Path, text: str) -> None:
    (records / "solutions.yaml").write_text(text)
    with pytest.raises(BadInputError, match=r"solutions.yaml: .*a number, and a list of texts"):
        catalog(records).task("original-1")


def test_the_answer_is_asked_for_in_the_form_that_is_graded(records: Path, folder: Path) -> None:
    words = catalog(records).task("original-1").public.tool("stop")
    strict = catalog(folder).task("verified-900001").public.tool("stop")
    assert words is not None
    assert strict is not None
    assert "in words" in words.description
    assert "task_type" in strict.description
    told = json.loads(gold_answer(catalog(folder).task("verified-900001").record))
    assert told["task_type"] == "MUTATE"


def test_sites_are_chosen_by_name(records: Path) -> None:
    with pytest.raises(BadInputError, match="no task may be used here: 4 on reddit"):
        catalog(records, only=("map",)).pool("original")


# -- the public records, where they are installed --------------------------------------------------


def test_pools_of_the_public_records_and_what_they_tell_of_themselves(packages: Path) -> None:
    """Tasks that may be used without a judge, and those whose solution the record tells."""
    public = catalog(packages)

    def counted(name: str) -> tuple[int, int]:
        found = public.pool(name)
        return len(found), sum(bool(one.sealed.oracle) for one in found)

    pools = ("base", "words", "original", "verified", "verified-hard", "map", "reddit")
    assert {name: counted(name) for name in pools} == {
        "base": (694, 283),
        "words": (212, 212),
        "original": (694, 283),
        "verified": (794, 395),
        "verified-hard": (252, 89),
        "map": (64, 49),
        "reddit": (104, 9),
    }


def test_what_is_installed_is_found_without_a_folder(
    packages: Path, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PYTHON, python)
    assert len(catalog(None).pool("words")) == 212


def test_a_suite_of_the_public_records_grades_words_without_a_site(
    make: Any, packages: Path, nowhere: None
) -> None:
    suite = make(packages)
    tasks = suite.select(SuiteSelection(suite="webarena", pool="words"))
    world = suite.open()
    try:
        for task in tasks[::20]:
            gold = suite.sealed(task.task_id).oracle[0].arguments["answer"]
            for answer, right in ((gold, True), ("", False)):
                world.reset(task.task_id)
                world.execute("stop", {"answer": answer}, actor="agent", operation_id="o")
                grade = world.grade(())
                assert (grade.official, grade.goal_met) == (float(right), right)
    finally:
        world.close()
        suite.close()
