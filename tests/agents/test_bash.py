"""The shell agent over a fake runtime: what it shows the model, and when it leaves."""

import json

import pytest

from hfr_bench.agents.bash import MOST_UNUSABLE, REMINDER, BashAgent, elided, submitted
from hfr_bench.lab.runtime import failed_content
from hfr_bench.model.task import TaskSpec, ToolSpec
from hfr_bench.model.terms import SideEffect
from hfr_bench.ports.agent import ModelReply, Oracle, ToolReply, ToolRequest
from hfr_bench.testing.fakes import FakeRuntime, lost

TASK = TaskSpec(
    task_id="t",
    suite="s",
    prompt="Mend it.",
    tools=(
        ToolSpec(name="bash", description="runs", level=SideEffect.QUERYABLE),
        ToolSpec(name="command_status", level=SideEffect.READ),
    ),
)
DONE = "<returncode>0</returncode>\n<output>\nCOMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n</output>"


def runs(*commands: str) -> ModelReply:
    asked = tuple(ToolRequest(f"c{n}", "bash", {"command": c}) for n, c in enumerate(commands))
    return ModelReply({"role": "assistant", "content": None}, "", asked)


SAYS = ModelReply({"role": "assistant", "content": "hm"}, "hm")


def test_it_runs_commands_until_one_hands_the_work_in() -> None:
    runtime = FakeRuntime([runs("ls"), runs("submit", "never")], [ToolReply("a"), ToolReply(DONE)])
    BashAgent().run(TASK, runtime, Oracle())
    assert [r.arguments["command"] for r in runtime.tools.asked] == ["ls", "submit"]
    assert [tool["function"]["name"] for tool in runtime.offered] == ["bash"]
    assert [m["role"] for m in runtime.models.asked[-1]] == ["system", "user", "assistant", "tool"]


def test_it_asks_again_for_a_command_a_few_times_only() -> None:
    runtime = FakeRuntime([SAYS, runs("ls"), *[SAYS] * MOST_UNUSABLE], [ToolReply("a")])
    BashAgent().run(TASK, runtime, Oracle())
    assert runtime.models.asked[1][-1] == {"role": "user", "content": REMINDER}
    assert len(runtime.models.asked) == 2 + MOST_UNUSABLE


def test_what_broke_is_shown_as_an_exception() -> None:
    broke = ToolReply(failed_content(lost()), failed=True)
    runtime = FakeRuntime([runs("ls"), runs("submit")], [broke, ToolReply(DONE)])
    BashAgent().run(TASK, runtime, Oracle())
    shown = json.loads(runtime.models.asked[-1][-1]["content"])
    assert shown["returncode"] == -1
    assert "Timeout" in shown["error"]["message"]


def test_a_long_output_keeps_its_ends() -> None:
    assert elided("x" * 10_000) == "x" * 10_000
    assert elided("a" * 6_000 + "b" * 6_000) == (
        "a" * 5_000 + "\n[... 2000 characters left out ...]\n" + "b" * 5_000
    )


@pytest.mark.parametrize(
    ("answer", "over"),
    [
        (DONE, True),
        (json.dumps({"status": "committed", "read_back": json.dumps({"last": DONE})}), True),
        (DONE.replace("<returncode>0", "<returncode>1"), False),
        (DONE.replace("COMPLETE", "said\nCOMPLETE"), False),
        ("{}", False),
        ('{"read_back": 1}', False),
    ],
)
def test_what_hands_the_work_in(answer: str, *, over: bool) -> None:
    assert submitted(answer) is over


def test_it_goes_on_from_where_it_was() -> None:
    first = BashAgent()
    runtime = FakeRuntime([runs("ls")], [])
    with pytest.raises(AssertionError):
        first.run(TASK, runtime, Oracle())
    second = BashAgent()
    second.resume(json.loads(json.dumps(first.state())))
    again = FakeRuntime([], [ToolReply(DONE)])
    second.run(TASK, again, Oracle())
    assert [r.arguments["command"] for r in again.tools.asked] == ["ls"]


def test_a_task_without_a_shell_is_refused() -> None:
    with pytest.raises(ValueError, match="offers no bash; there are: none"):
        BashAgent().run(TASK.model_copy(update={"tools": ()}), FakeRuntime(), Oracle())
