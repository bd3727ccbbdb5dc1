"""Rows as tasks: what is public, what is sealed, which cannot be run."""

import json

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.ports.suite import Controlled, Imaged, Levelled
from hfr_bench.ports.verifier import Checked
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.swe_bench.adapter import SweBenchSuite
from hfr_bench.suites.swe_bench.catalog import Catalog

BAKED = {
    "image": "example.com/slug:1",
    "eval_script": "echo",
    "log_parser": "parse_log_pytest",
    "eval_type": "pass_and_fail",
}


@pytest.fixture
def rows(tmp_path, row):
    def write(*more):
        path = tmp_path / "rows.jsonl"
        made = [row(), row(instance_id="pallets__flask-1", repo="pallets/flask", version="2.0")]
        path.write_text("".join(json.dumps(one) + "\n" for one in (*made, *more)))
        return path

    return write


@pytest.fixture
def catalog(rows, row):
    return Catalog(lambda: rows(row(instance_id="hfr__slug-2", **BAKED)))


def test_pools_are_all_and_a_repository(catalog):
    def ids(name):
        return [task.task_id for task in catalog.pool(name)]

    assert ids("all") == ids("base") == ["hfr__slug-1", "pallets__flask-1", "hfr__slug-2"]
    assert ids("flask") == ["pallets__flask-1"]
    with pytest.raises(BadInputError, match=r"no pool 'x'; there are: all, base, flask, slug"):
        catalog.pool("x")


def test_chosen_tasks_come_in_their_order_and_others_may_be_broken(rows, row):
    catalog = Catalog(lambda: rows(row(instance_id="broken", patch=7)))
    chosen = catalog.chosen(["pallets__flask-1", "hfr__slug-1"])
    assert [task.task_id for task in chosen] == ["pallets__flask-1", "hfr__slug-1"]
    with pytest.raises(BadInputError, match=r"no task nobody__1 among 3"):
        catalog.chosen(["nobody__1"])
    with pytest.raises(BadInputError, match=r"broken\): patch must be text"):
        catalog.pool("all")


def test_the_fix_and_the_hidden_tests_are_sealed(catalog):
    (task,) = catalog.chosen(["pallets__flask-1"])
    public = task.model_dump_json()
    assert "Slugs keep capital letters." in public
    assert "test_slug" not in public
    assert "+b" not in public
    sealed = catalog.sealed("pallets__flask-1")
    writes = [step.arguments["command"] for step in sealed.oracle]
    assert [command.split(" ")[0] for command in writes] == ["sed", "patch", "git", "echo"]
    assert [effect.count for effect in sealed.expected] == [1]


def test_a_task_that_cannot_be_run_says_why(rows, row):
    odd = row(instance_id="hfr__slug-3", **BAKED | {"log_parser": "parse_log_lisp"})
    pictures = json.dumps({"test_patch": [{"path": "a.png", "url": "x"}]})
    seen = row(instance_id="hfr__slug-4", image_assets=pictures, **BAKED)
    catalog = Catalog(lambda: rows(odd, seen))
    assert catalog.task("pallets__flask-1").baked.log_parser == "parse_log_flask"
    with pytest.raises(BadInputError, match=r"rows.jsonl:1 \(hfr__slug-1\): a classic row"):
        catalog.task("hfr__slug-1")
    with pytest.raises(BadInputError, match=r"no parser 'parse_log_lisp' here; there are: "):
        catalog.task("hfr__slug-3")
    with pytest.raises(BadInputError, match=r"its tests need files that the test patch cannot"):
        catalog.task("hfr__slug-4")


def test_another_hidden_test_is_another_task(rows, row):
    def digest(**over):
        made = rows(row(instance_id="hfr__slug-2", **BAKED | over))
        return Catalog(lambda: made).chosen(["hfr__slug-2"])[0].source_digest

    assert digest() == digest()
    assert len({digest(), digest(test_patch="other"), digest(eval_script="other")}) == 3


@pytest.fixture
def suite(rows):
    made = SweBenchSuite(ProcessSandbox(SandboxContext("swe", this_process())), rows())
    yield made
    made.close()


def test_it_is_a_suite_with_images_levels_controls_and_checks(suite):
    for port in (Levelled, Controlled, Imaged, Checked):
        assert isinstance(suite, port)


def test_outside_containers_it_says_so_before_anything_runs(suite):
    chosen = SuiteSelection(suite="swe_bench", tasks=("pallets__flask-1",))
    assert [task.task_id for task in suite.select(chosen)] == ["pallets__flask-1"]
    for refused in (lambda: suite.pin(chosen), suite.open):
        with pytest.raises(BadInputError, match=r"in containers of its images alone"):
            refused()
    with pytest.raises(BadInputError, match=r"either a `pool` or `tasks`"):
        suite.select(SuiteSelection(suite="swe_bench"))
