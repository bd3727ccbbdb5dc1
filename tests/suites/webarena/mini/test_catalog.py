"""The content: tasks in both schemas, oracles, buttons, and nothing sealed in the public half."""

import json

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.model.terms import SideEffect
from hfr_bench.suites.webarena.acting.steps import read_step
from hfr_bench.suites.webarena.mini.catalog import tasks, tool_specs
from hfr_bench.suites.webarena.mini.content import SUITE, filled, offer, seed, settings
from hfr_bench.suites.webarena.mini.records import plain_answer, said


def test_at_least_half_of_the_tasks_change_something_and_some_are_impossible() -> None:
    rows = [task.row for task in tasks().values()]
    assert len(rows) == 36
    assert sum("state" in row for row in rows) == 23
    assert sum("status" in row for row in rows) == 4
    assert len({row["id"] for row in rows}) == 36


def test_each_task_is_a_record_in_both_schemas() -> None:
    for task in tasks().values():
        assert task.original.problem.shape == "original"
        assert task.verified.problem.shape == "verified"
        assert task.original.id == task.verified.id == task.row["id"]
        assert task.original.problem.start_urls == task.verified.problem.start_urls
        assert task.verified.work == task.row["type"]


def test_every_button_of_an_oracle_is_known_and_named_with_its_page() -> None:
    for task in tasks().values():
        for one in task.sealed.oracle:
            if one.arguments.get("role") == "button":
                assert offer().button(one.arguments["name"]) is not None, one.arguments
                assert one.arguments["on"].startswith("/")


def test_only_what_a_page_shows_is_queryable() -> None:
    for label in ("Place Order", "Create issue", "Submit Comment"):
        found = offer().button(label)
        assert found is not None
        assert (found.level, bool(found.read)) == (SideEffect.QUERYABLE, True)
    assert offer().button("Send Email").read == ""  # type: ignore[union-attr]
    assert offer().button("Detonate") is None


def test_the_public_half_tells_nothing_of_the_grading() -> None:
    for task in tasks().values():
        public = task.public.model_dump_json()
        assert "__" not in task.public.prompt
        for check in task.row["original"].get("program_html", ()):
            assert check["locator"] not in public


def test_tools_name_what_they_take() -> None:
    for tool in tool_specs():
        named = set(tool.parameters["properties"])
        assert set(tool.identity_args) <= named
        assert set(tool.parameters["required"]) <= named


@pytest.mark.parametrize(
    ("line", "tool", "arguments"),
    [
        ("goto __GITLAB__/x", "goto", {"url": "http://tracker.example/x"}),
        ("click link 'A b'", "click", {"role": "link", "name": "A b"}),
        (
            'type textbox "It\'s" = a = b',
            "type",
            {"role": "textbox", "name": "It's", "text": "a = b"},
        ),
        ("select combobox 'S' = Two", "select", {"role": "combobox", "name": "S", "option": "Two"}),
        ("click button 'B' @ /p/q", "click", {"role": "button", "name": "B", "on": "/p/q"}),
    ],
)
def test_a_line_of_an_oracle_is_an_action(line: str, tool: str, arguments: object) -> None:
    read = read_step(line, "here", offer().shown)
    assert (read.tool, read.arguments) == (tool, arguments)


def test_a_line_that_is_no_action_is_named() -> None:
    with pytest.raises(BadInputError, match=r"here: no step 'click it'"):
        read_step("click it", "here", offer().shown)


def test_addresses_are_shown_without_the_ports_of_the_day() -> None:
    assert offer().shown("__SHOPPING_ADMIN__/sales") == "http://office.example/admin/sales"


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        ('{"status": "SUCCESS", "retrieved_data": ["a", 3]}', "a, 3"),
        ('{"status": "SUCCESS", "retrieved_data": null}', ""),
        ('{"status": "NOT_FOUND_ERROR", "retrieved_data": null}', "N/A"),
        ("three", "three"),
        ("[1]", "[1]"),
        (None, ""),
    ],
)
def test_one_answer_serves_both_rules(answer: str | None, plain: str) -> None:
    assert plain_answer(answer) == plain


def test_the_right_answer_is_verifieds_json() -> None:
    told = json.loads(said(tasks()["tracker-star-missing"].row))
    assert (told["task_type"], told["status"]) == ("mutate", "NOT_FOUND_ERROR")


def test_pools_name_tasks_and_the_seed_its_own_columns() -> None:
    assert settings()["name"] == SUITE
    assert set(settings()["pools"]["demo"]) <= set(tasks())
    assert filled(seed()["columns"])["shop_orders"][0]["items"] == "1 x LT-01"
    with pytest.raises(BadInputError, match=r"seed.yaml: the host has other columns of: \['x'\]"):
        filled({"x": ["id"]})
