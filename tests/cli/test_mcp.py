"""`hfr-bench mcp`: what it is told, what it refuses, what it draws, and auditing a log again."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="needs the MCP SDK: pip install 'hfr-bench[mcp]'")

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from hfr_bench import content
from hfr_bench.cli.main import run
from hfr_bench.cli.mcp import _drawn, _keep
from hfr_bench.errors import BadInputError
from hfr_bench.faults.generate import Draw
from hfr_bench.injectors.mcp.proxy import McpProxy, level_of
from hfr_bench.model.schedule import FaultSchedule
from hfr_bench.model.task import FaultPoint
from hfr_bench.model.terms import Layer, SideEffect

REPO = Path(__file__).parents[2]
SERVER = REPO / "tests" / "injectors" / "mcp" / "server.py"
EMPTY = FaultSchedule(
    schedule_id="a",
    suite="mcp",
    task_id="t",
    seed=1,
    profile="p",
    rate=0,
    generator="g",
    horizon=1,
)


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.jsonl"
    path.write_text(EMPTY.dumps() + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("args", "part"),
    [
        ([], "say which server"),
        (["--upstream", "http://127.0.0.1:1/mcp", "--", "server"], "and not both"),
        (["--upstream", "ftp://x"], "is the URL of an MCP server"),
        (["--upstream", "http://example.org/mcp", "--schedule", "{plan}"], "not ours"),
        (["--listen", "0.0.0.0:0", "--schedule", "{plan}", "--", "server"], "not ours"),
        (["--listen", "8080", "--schedule", "{plan}", "--", "server"], "HOST:PORT"),
        (["--", "server"], "say which faults"),
        (["--matrix", "tools", "--", "server"], "say which faults"),
        (["--matrix", "tools", "--rate", "0.1", "--", "server"], "--matrix needs --log"),
        (["--schedule", "{plan}", "--rate", "0.1", "--", "server"], "drawn already"),
        (["--schedule", "{plan}", "--schedule-id", "b", "--", "server"], "no schedule 'b'"),
        (["--schedule", "{tmp}/none", "--", "server"], "No such file"),
        (["--schedule", "{tmp}/bad", "--", "server"], "bad:1: no schedule"),
        (["--schedule", "{tmp}/foreign", "--", "server"], "MCP cannot express runtime_crash"),
        (["--schedule", "{plan}", "--listen", "127.0.0.1:0", "--", "{tmp}/no"], ""),
        (["--audit"], "--audit takes a log and its schedule"),
        (["--audit", "--schedule", "{plan}", "--log", "{tmp}/bad"], "bad:1"),
    ],
)
def test_bad_input(args, part, plan, tmp_path, capsys):
    (tmp_path / "bad").write_text("{}\n", encoding="utf-8")
    crash = {"injection_id": "x", "layer": "environment", "kind": "runtime_crash"}
    foreign = json.loads(EMPTY.dumps()) | {
        "events": [crash | {"point": "tool:buy", "occurrence": 1}]
    }
    (tmp_path / "foreign").write_text(json.dumps(foreign), encoding="utf-8")
    filled = [one.format(plan=plan, tmp=tmp_path) for one in args]
    if part:
        assert run(["mcp", *filled]) == 2
        assert part in capsys.readouterr().err


def test_levels_follow_from_the_hints():
    assert level_of(True, None, True) is SideEffect.READ
    assert level_of(None, True, True) is SideEffect.IDEMPOTENT
    assert level_of(False, False, True) is SideEffect.IRREVERSIBLE
    assert level_of(None, None, None) is SideEffect.QUERYABLE
    assert level_of(None, None, False) is SideEffect.QUERYABLE


@pytest.mark.slow
def test_drawn_played_and_audited_again(tmp_path, capsys):
    """The whole way, as an agent's configuration has it; then its log is audited once more."""
    log, plan = tmp_path / "log.jsonl", tmp_path / "log.schedule.jsonl"
    options = ["--matrix", "semantic", "--rate", "1", "--seed", "3", "--log", str(log)]
    server = [sys.executable, str(SERVER), str(tmp_path / "world")]
    errors = (tmp_path / "stderr").open("w+", encoding="utf-8")
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "hfr_bench", "mcp", *options, "--", *server]
    )
    seen = call_motto(parameters, errors)
    assert seen != "48 hours to your door"
    schedule = FaultSchedule.loads(plan.read_text(encoding="utf-8"))
    assert (schedule.suite, schedule.task_id, schedule.seed) == ("mcp", "shop", 3)
    assert {event.point for event in schedule.events} == {"tool:order", "tool:motto"}  # reads
    audit = ["mcp", "--audit", "--schedule", str(plan), "--log", str(log)]
    assert run(audit) == 0
    said = capsys.readouterr().err
    assert "1 calls of tools" in said
    text = log.read_text(encoding="utf-8")
    log.write_text(text.replace('"answered":true', '"answered":false'), encoding="utf-8")
    assert run(audit) == (1 if "delivered 1 of 1" in said else 0)


def call_motto(parameters, errors) -> str:
    async def scenario() -> str:
        async with Client(stdio_client(parameters, errlog=errors)) as client:
            result = await client.call_tool("motto", {})
            return result.content[0].text

    try:
        return asyncio.run(scenario())
    finally:
        errors.close()


POINTS = [
    FaultPoint(point=f"tool:{tool}", layer=Layer.TOOL, target=tool, level=level)
    for tool, level in {"look": SideEffect.READ, "buy": SideEffect.QUERYABLE}.items()
]


def drawn(matrix: str, points: list[FaultPoint] = POINTS) -> FaultSchedule:
    draw = Draw("mcp", "shop", 1, f"{matrix}-0.5", 0.5)
    return _drawn(draw, points, content.matrix(matrix), 20, McpProxy().kinds())


def test_a_schedule_is_drawn_for_the_servers_tools():
    schedule = drawn("tools")
    assert schedule == drawn("tools")
    assert {event.point for event in schedule.events} == {"tool:look", "tool:buy"}
    late = {e.point for e in schedule.events if e.kind == "tool_delayed_duplicate"}
    assert late == {"tool:buy"}  # a read has nothing to land


def test_a_matrix_that_mcp_cannot_express():
    with pytest.raises(BadInputError, match=r"cannot express: ledger_key_expired, .*runtime_crash"):
        drawn("full")
    with pytest.raises(BadInputError, match="no fault for any of 1 tools"):
        drawn("semantic", POINTS[1:])


def test_what_was_drawn_is_never_written_over(tmp_path, capsys):
    log = tmp_path / "log.jsonl"
    _keep(EMPTY, log)
    _keep(EMPTY, log)  # the same again: a client that starts its servers anew
    with pytest.raises(BadInputError, match="another schedule was drawn"):
        _keep(EMPTY.model_copy(update={"seed": 2}), log)
    assert "again: --schedule" in capsys.readouterr().err
