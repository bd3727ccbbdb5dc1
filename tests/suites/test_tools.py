"""A tools.yaml as our suites read it, and where faults may strike its tools."""

from pathlib import Path

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.model.task import ToolSpec
from hfr_bench.suites._tools import fault_points, read_tools, short_tool

LONG = """\
look: {description: Looks., level: R0, parameters: {type: object}}
"""
WRITE = {
    "description": "Writes.",
    "level": "R2",
    "identity_args": ["what"],
    "reconcile": {"read": "look", "arguments": {}, "landed": "there"},
    "parameters": {"what": {"type": "string"}},
}


def write(**contract: bool) -> ToolSpec:
    reconcile = {"read": "look", "arguments": {}, "landed": "there"} | contract
    return short_tool(Path("t"), "write", WRITE | {"reconcile": reconcile})


@pytest.fixture
def look(tmp_path: Path) -> ToolSpec:
    (tmp_path / "tools.yaml").write_text(LONG)
    (only,) = read_tools(tmp_path / "tools.yaml")
    return only


def test_a_long_tool_is_read_as_it_stands(look: ToolSpec) -> None:
    assert (look.name, look.level.value, look.parameters) == ("look", "R0", {"type": "object"})


def test_a_short_tool_takes_no_other_parameters() -> None:
    made = short_tool(Path("t"), "write", WRITE | {"required": ["what"]})
    assert made.parameters == {
        "type": "object",
        "properties": {"what": {"type": "string"}},
        "required": ["what"],
        "additionalProperties": False,
    }
    assert write().parameters["required"] == []


def test_a_wrong_key_is_named_with_its_file_and_tool(tmp_path: Path) -> None:
    path = tmp_path / "tools.yaml"
    path.write_text(LONG + "odd: {description: Odd., level: R9, parameters: {}}\n")
    with pytest.raises(BadInputError, match=r"tools.yaml: odd: .*level"):
        read_tools(path)
    with pytest.raises(BadInputError, match=r"t: write: .*colour"):
        short_tool(Path("t"), "write", WRITE | {"colour": "red"})


def test_points_are_roles_tools_and_the_reads_of_contracts(look: ToolSpec) -> None:
    points = {one.point: one.target for one in fault_points([look, write(needs_before=True)])}
    assert points == {
        "model:agent": "agent",
        "model:compress": "agent",
        "tool:look": "look",
        "tool:write": "write",
        "prepare:write": "look",
        "reconcile:write": "look",
        "verify:write": "look",
    }


def test_a_read_that_nobody_makes_has_no_point() -> None:
    points = [one.point for one in fault_points([write(needs_before=False)], checked=False)]
    assert points == ["model:agent", "model:compress", "tool:write", "reconcile:write"]


def test_a_tool_carries_its_level(look: ToolSpec) -> None:
    levels = {one.point: one.level for one in fault_points([look, write()])}
    assert levels["tool:look"] is look.level
    assert levels["tool:write"] is write().level
    assert levels["reconcile:write"].value == "R0"
