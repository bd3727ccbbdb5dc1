"""OSWorld's tasks from a checkout (here: four of our own making) through the episode of desks."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import Sandbox, SandboxContext
from hfr_bench.ports.suite import Declinable, Levelled
from hfr_bench.ports.verifier import Checked
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.osworld.adapter import OsworldSuite
from hfr_bench.suites.osworld.load import ROOT as ROOT_NAME
from hfr_bench.testing.conformance import check_suite

RENAME: dict[str, Any] = {
    "id": "rename",
    "snapshot": "os",
    "instruction": "Rename the folder todo to done.",
    "related_apps": ["os"],
    "config": [
        {"type": "execute", "parameters": {"command": "mkdir -p ~/todo", "shell": True}},
    ],
    "evaluator": {
        "func": "exact_match",
        "result": {"type": "vm_command_line", "command": "ls -d ~/done", "shell": True},
        "expected": {"type": "rule", "rules": {"expected": "/home/user/done\n"}},
    },
}
NEVER = {**RENAME, "id": "never", "evaluator": {"func": "infeasible"}}
WEB = {
    **RENAME,
    "id": "web",
    "related_apps": ["chrome"],
    "config": [
        {"type": "chrome_open_tabs", "parameters": {"urls_to_open": ["https://live.example/"]}}
    ],
}


ROOT = {
    **RENAME,
    "id": "root",
    "config": [
        {"type": "execute", "parameters": {"command": "echo x | sudo -S mkdir ~/a", "shell": True}}
    ],
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with four tasks."""
    root = tmp_path_factory.mktemp("osworld")
    examples = root / "evaluation_examples"
    listed: dict[str, list[str]] = {}
    for domain, row in (("os", RENAME), ("os", NEVER), ("os", ROOT), ("chrome", WEB)):
        path = examples / "examples" / domain / f"{row['id']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(row))
        listed.setdefault(domain, []).append(str(row["id"]))
    (examples / "test_all.json").write_text(json.dumps(listed))
    return root


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    made = ProcessSandbox(SandboxContext("osworldsuite", this_process()))
    yield made
    made.close()


@pytest.fixture
def suite(box: Sandbox, root: Path) -> OsworldSuite:
    return OsworldSuite(box, root=str(root), profile="guest")


def chosen(suite: OsworldSuite, pool: str) -> list[str]:
    return [t.task_id for t in suite.select(SuiteSelection(suite="osworld", pool=pool))]


def test_it_is_a_suite_with_levels_and_checks(suite: OsworldSuite) -> None:
    for port in (Levelled, Declinable, Checked):
        assert isinstance(suite, port)


@pytest.mark.slow
def test_it_keeps_the_rules_of_suites(suite: OsworldSuite) -> None:
    check_suite(suite, SuiteSelection(suite="osworld", tasks=("never",)))


def test_what_cannot_be_run_is_said_before_a_run(suite: OsworldSuite) -> None:
    assert chosen(suite, "runnable") == chosen(suite, "base") == ["rename", "never"]
    with pytest.raises(BadInputError, match=r"1 of the 3 chosen tasks lack .*it takes sudo"):
        chosen(suite, "os")
    with pytest.raises(
        BadInputError, match=r"2 of the 4 chosen tasks lack .*live\.example"
    ) as told:
        chosen(suite, "all")
    assert "no program chrome in the guest" in str(told.value)
    assert "the pool runnable" in str(told.value)
    with pytest.raises(BadInputError, match=r"no tasks in pool 'x'; pools: all, runnable, os"):
        chosen(suite, "x")


def test_profiles_and_checkouts_are_named(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ROOT_NAME, raising=False)
    with pytest.raises(BadInputError, match="no profile 'vm'; there are: guest, gui"):
        OsworldSuite(box, profile="vm")
    with pytest.raises(BadInputError, match="profile gui needs containers"):
        OsworldSuite(box)
    with pytest.raises(BadInputError, match=r"holds no evaluation_examples/test_all\.json"):
        chosen(OsworldSuite(box, root=str(tmp_path), profile="guest"), "all")
    with pytest.raises(BadInputError, match=r"none is named: .* --data-dir osworld=DIR"):
        chosen(OsworldSuite(box, profile="guest"), "all")


def test_an_episode_ends_in_upstreams_verdict(suite: OsworldSuite) -> None:
    chosen(suite, "runnable")
    world = suite.open()

    def do(tool: str, **arguments: Any) -> None:
        world.execute(tool, arguments, actor="agent", operation_id="o")

    try:
        world.reset("rename")
        assert world.grade(()).official == 0.0
        do("execute", command="mv todo done")
        do("finish", status="DONE")
        assert world.grade(()).official == 1.0
        do("finish", status="FAIL")
        assert world.grade(()).official == 0.0
        world.reset("never")
        for step in suite.sealed("never").oracle:
            do(step.tool, **step.arguments)
        assert world.grade(()).official == 1.0
    finally:
        world.close()
