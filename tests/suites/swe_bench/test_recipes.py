"""Recipes are whole and unique; a classic row is run by one, or refused by name."""

from pathlib import Path

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.swe_bench.grade import END, START
from hfr_bench.suites.swe_bench.load import load
from hfr_bench.suites.swe_bench.parsers import PARSER_OF_REPO
from hfr_bench.suites.swe_bench.recipes import baked, find_recipe, recipes
from hfr_bench.suites.swe_bench.rows import read_row
from hfr_bench.suites.swe_bench.scripts import CONDA, VENV, with_exit_code

NAMED = (
    *("pallets__flask-4045", "pallets__flask-5014"),
    *("pytest-dev__pytest-7982", "sympy__sympy-20590"),
)
ONE = "recipes:\n  - {repo: a/b, versions: ['1', '2'], python: '3.9', install: pip, test: pytest}\n"


@pytest.fixture
def flask(row):
    return read_row(row(repo="pallets/flask", version="2.3"), "a.jsonl:1")


def test_what_is_shipped(flask):
    found = recipes()
    assert {recipe.repo for recipe in found} <= PARSER_OF_REPO.keys()
    recipe = find_recipe(flask, found)
    assert recipe is not None
    assert recipe.python == "3.11"


def test_a_classic_row_by_a_recipe(flask):
    made = baked(flask, recipes())
    assert made.image.startswith("swebench/sweb.eval.x86_64.")
    assert made.log_parser == "parse_log_flask"
    assert CONDA.activate[1] in made.eval_script
    own = baked(flask, recipes(), "own:1", VENV)
    assert own.image == "own:1"
    assert VENV.activate[0] in own.eval_script


def test_a_baked_row_is_as_it_says(row):
    more = {"image": "i", "eval_script": "s", "log_parser": "p", "eval_type": "fail_only"}
    instance = read_row(row(**more), "x")
    assert baked(instance, ()) == instance.baked


def test_a_baked_script_also_tells_how_its_tests_ended(row):
    script = f"#!/bin/bash\n: '{START}'\npytest\n: '{END}'\ngit checkout x\n"
    more = {"image": "i", "eval_script": script, "log_parser": "p", "eval_type": "fail_only"}
    made = baked(read_row(row(**more), "x"), ()).eval_script
    assert made.splitlines()[3:6] == [
        "HFR_TEST_EXIT_CODE=$?",
        f": '{END}'",
        'echo ">>>>> Test Exit Code: $HFR_TEST_EXIT_CODE"',
    ]
    assert with_exit_code(made) == made
    assert with_exit_code("pytest\n") == "pytest\n"


def test_without_a_recipe_it_is_said_what_is_missing(row):
    instance = read_row(row(repo="astropy/astropy", version="4.3"), "a.jsonl:7")
    with pytest.raises(BadInputError) as error:
        baked(instance, recipes())
    said = str(error.value)
    assert said.startswith("a.jsonl:7 (hfr__slug-1): a classic row, without image, eval_script,")
    assert "no recipe for astropy/astropy 4.3" in said
    assert "sympy/sympy 1.7" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ONE.replace("'3.9'", "'3'"), "recipes.0.python: .*a version such as '3.9', not '3'"),
        (ONE.replace("'3.9'", "3.9"), "recipes.0.python: .*valid string"),
        (ONE.replace("test:", "tests:"), "recipes.0.test.*: Field required.*tests: unknown key"),
        (ONE.replace("'2'", "'1'"), "two recipes for a/b 1"),
    ],
)
def test_a_wrong_file_is_explained(tmp_path: Path, text, said):
    path = tmp_path / "recipes.yaml"
    path.write_text(text)
    with pytest.raises(BadInputError, match=said):
        recipes(path)


def test_the_named_instances_have_recipes(real_rows):
    instances = load(real_rows / "lite.jsonl") + load(real_rows / "verified_50.jsonl")
    wanted = {i.id: i for i in instances if i.id in NAMED}
    assert wanted.keys() == set(NAMED)
    assert all(baked(instance, recipes()) for instance in wanted.values())
